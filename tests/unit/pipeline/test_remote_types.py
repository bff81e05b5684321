"""Coders and schemas as Spark types, and values on their way."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from framehub.errors import PipelineError
from framehub.pipeline.remote_types import (
    argument_converter,
    kind_of,
    kinds_taken,
    result_converter,
    result_type,
)

POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
}
TREE = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}


@pytest.mark.parametrize(
    ("identity", "schema", "type_"),
    [
        ("Int", None, "int"),
        ("Long", None, "bigint"),
        ("ULong", None, "decimal(20,0)"),
        ("Double", None, "double"),
        ("String", None, "string"),
        ("bytes", None, "binary"),
        ("List<Pair<Int, String>>", None, "array<struct<_1:int,_2:string>>"),
        ("Triple<Int, Long, Double>", None, "struct<_1:int,_2:bigint,_3:double>"),
        ("json", {"type": "integer"}, "bigint"),
        ("msgpack", {"type": "number"}, "double"),
        ("json", {"type": "boolean"}, "boolean"),
        ("json", {"type": "string"}, "string"),
        ("json", {"type": "string", "format": "date"}, "date"),
        ("json", {"type": "string", "format": "date-time"}, "timestamp"),
        ("json", {"type": "string", "format": "uuid"}, "string"),
        ("json", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "bigint"),
        ("json", {"anyOf": [{"type": "integer"}, {"type": "number"}]}, "double"),
        ("json", {"type": ["string", "null"]}, "string"),
        ("json", {"enum": ["a", "b", None]}, "string"),
        ("json", {"enum": [True]}, "boolean"),
        ("json", POINT, "struct<x:bigint,tags:array<string>>"),
        ("json", {"$ref": "#/$defs/Point", "$defs": {"Point": POINT}}, "struct<x:bigint,tags:array<string>>"),
        ("json", {"type": "object", "additionalProperties": {"type": "number"}}, "map<string,double>"),
        (
            "json",
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
            "struct<_1:bigint,_2:string>",
        ),
    ],
)
def test_what_a_function_gives_is_a_type(identity: str, schema: Any, type_: str) -> None:
    assert result_type("f", identity, schema).simpleString() == type_


@pytest.mark.parametrize(
    ("identity", "schema", "why"),
    [
        ("json", None, "does not say"),
        ("json", {}, "any value"),
        ("json", True, "anything"),
        ("json", {"type": "null"}, "nothing"),
        ("json", {"type": "array"}, "anything"),
        ("json", {"type": "object"}, "unknown keys"),
        ("json", {"enum": [[1]]}, "one of several"),
        ("json", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "several types"),
        ("json", {"anyOf": [{"type": "null"}]}, "nothing"),
        ("json", {"$ref": "#/$defs/Tree", "$defs": {"Tree": TREE}}, "contains itself"),
        ("json", {"$ref": "#/$defs/Gone"}, "unknown Gone"),
        ("arrow", None, "a int, b double"),
        ("envelope", None, "files"),
    ],
)
def test_what_is_no_type_is_said_so_with_what_to_do(identity: str, schema: Any, why: str) -> None:
    with pytest.raises(PipelineError, match=rf"^f: .*{why}") as caught:
        result_type("f", identity, schema)
    assert "returns=" in str(caught.value) or identity == "envelope"


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (pa.int16(), "integer"),
        (pa.float32(), "number"),
        (pa.decimal128(9, 2), "number"),
        (pa.string(), "string"),
        (pa.date32(), "string"),
        (pa.timestamp("us", "UTC"), "string"),
        (pa.bool_(), "boolean"),
        (pa.list_(pa.int64()), "array"),
        (pa.struct([("a", pa.int64())]), "object"),
        (pa.map_(pa.string(), pa.int64()), "object"),
        (pa.binary(), "bytes"),
        (pa.null(), "null"),
        (pa.time64("us"), "string"),
        (pa.dictionary(pa.int8(), pa.string()), "dictionary<values=string, indices=int8, ordered=0>"),
    ],
)
def test_columns_have_kinds(type_: Any, kind: str) -> None:
    assert kind_of(type_) == kind


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": "integer"}, {"integer"}),
        ({"type": "number"}, {"integer", "number"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"integer", "null"}),
        ({"anyOf": [{"type": "integer"}, {}]}, None),
        ({"$ref": "#/$defs/A"}, {"boolean"}),
        ({"$ref": "#/$defs/Loop"}, None),
        ({"enum": ["a", 1, None, [2]]}, {"string", "integer", "null", "object"}),
        ({}, None),
        (None, None),
    ],
)
def test_parameters_take_kinds(schema: Any, kinds: set[str] | None) -> None:
    assert kinds_taken(schema, {"A": {"type": "boolean"}, "Loop": {"$ref": "#/$defs/Loop"}}) == kinds


def test_values_of_columns_become_json() -> None:
    day, moment = date(2026, 1, 2), datetime(2026, 1, 2, 3, tzinfo=UTC)
    row = pa.struct([("day", pa.date32()), ("n", pa.int64())])
    columns: list[tuple[Any, Any, Any]] = [
        (pa.date32(), day, "2026-01-02"),
        (pa.timestamp("us", "UTC"), moment, "2026-01-02T03:00:00+00:00"),
        (pa.decimal128(9, 2), Decimal("1.50"), 1.5),
        (pa.decimal128(9, 2), Decimal("2.00"), 2),
        (pa.list_(pa.date32()), [day, None], ["2026-01-02", None]),
        (pa.map_(pa.string(), pa.date32()), [("a", day)], {"a": "2026-01-02"}),
        (pa.map_(pa.string(), pa.int64()), [("a", 1)], {"a": 1}),
        (row, {"day": day, "n": 1}, {"day": "2026-01-02", "n": 1}),
    ]
    for type_, value, json in columns:
        convert = argument_converter(type_)
        assert convert is not None
        assert [convert(value), convert(None)] == [json, None]
    for plain in (pa.int64(), pa.string(), pa.list_(pa.int64())):
        assert argument_converter(plain) is None


def test_json_becomes_values_of_columns() -> None:
    pair = pa.struct([("_1", pa.int64()), ("_2", pa.date32())])
    columns: list[tuple[Any, Any, Any]] = [
        (pa.string(), {"a": 1}, '{"a": 1}'),
        (pa.string(), "plain", "plain"),
        (pa.date32(), "2026-01-02", date(2026, 1, 2)),
        (pa.date32(), date(2026, 1, 2), date(2026, 1, 2)),
        (pa.timestamp("us", "UTC"), "2026-01-02T03:00:00+00:00", datetime(2026, 1, 2, 3, tzinfo=UTC)),
        (pa.decimal128(20, 0), 2**63, Decimal(2**63)),
        (pa.list_(pa.date32()), ["2026-01-02"], [date(2026, 1, 2)]),
        (pa.map_(pa.string(), pa.int64()), {"a": 1}, [("a", 1)]),
        (pair, [1, "2026-01-02"], {"_1": 1, "_2": date(2026, 1, 2)}),
        (pair, {"_1": 1}, {"_1": 1, "_2": None}),
    ]
    for type_, json, value in columns:
        convert = result_converter(type_)
        assert convert is not None
        assert [convert(json), convert(None)] == [value, None]
        pa.array([value], type_)
    for plain in (pa.int64(), pa.list_(pa.float64())):
        assert result_converter(plain) is None
