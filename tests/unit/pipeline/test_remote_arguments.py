"""Which columns a function takes, and what is sent of them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T  # noqa: N812

from framehub.errors import PipelineError
from framehub.pipeline.remote_arguments import Parameter, argument_converter, kind_of, kinds_taken

DATE, TEXT = {"type": "string", "format": "date"}, {"type": "string"}
BASE64 = {"type": "string", "contentEncoding": "base64"}
POINT = {"type": "object", "properties": {"at": DATE, "days": {"type": "array", "items": DATE}, "id": TEXT}}
DEFS = {"A": {"type": "boolean"}, "Loop": {"$ref": "#/$defs/Loop"}, "Point": POINT}


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (pa.int16(), "integer"),
        (pa.float32(), "number"),
        (pa.decimal128(9, 2), "decimal"),
        (pa.string(), "string"),
        (pa.large_string(), "string"),
        (pa.date32(), "date"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.time64("us"), "time"),
        (pa.duration("us"), "interval"),
        (pa.bool_(), "boolean"),
        (pa.list_(pa.int64()), "array"),
        (pa.struct([("a", pa.int64())]), "object"),
        (pa.map_(pa.string(), pa.int64()), "object"),
        (pa.binary(), "bytes"),
        (pa.null(), "null"),
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
        (DATE, {"string", "date"}),
        ({"type": "string", "format": "date-time"}, {"string", "timestamp"}),
        ({"type": "string", "format": "decimal"}, {"string", "decimal"}),
        ({"type": "string", "format": "uuid"}, {"string"}),
        (BASE64, {"string"}),
        ({}, None),
        (None, None),
    ],
)
def test_parameters_take_kinds(schema: Any, kinds: set[str] | None) -> None:
    assert kinds_taken(schema, DEFS) == kinds


def test_bytes_go_with_coders_that_have_some() -> None:
    assert kinds_taken(BASE64, {}, "msgpack") == kinds_taken(BASE64, {}, "bytes") == {"bytes"}


@pytest.mark.parametrize(
    ("coder", "schema", "type_", "why"),
    [
        ("json", TEXT, pa.int64(), "x: it takes string, and the column has bigint: cast it"),
        ("json", {"type": "number"}, pa.int64(), None),
        (
            "ULong",
            {"type": "integer"},
            pa.decimal128(20, 0),
            "x: it takes integer, and the column has decimal(20,0): cast it",
        ),
        ("msgpack", BASE64, pa.string(), "x: it takes bytes, and the column has string: cast it"),
        (
            "json",
            {"type": "array", "prefixItems": [TEXT]},
            pa.struct([("_1", pa.string())]),
            "x: it takes array",
        ),
        ("json", TEXT, pa.null(), None),
        ("json", None, pa.list_(pa.struct([("a", pa.map_(pa.string(), pa.float64()))])), None),
        ("json", None, pa.binary(), "x: binary would not arrive as it is: give base64"),
        ("msgpack", None, pa.binary(), None),
        ("msgpack", None, pa.date32(), "x: date would not arrive as it is: cast it to string"),
        ("arrow", None, pa.duration("us"), None),
        ("json", TEXT, pa.date32(), "x: it takes string, and the column has date: cast it to string"),
        ("json", DATE, pa.date32(), None),
        ("json", {"type": "array", "items": DATE}, pa.list_(pa.date32()), None),
        ("json", {"type": "array", "items": TEXT}, pa.list_(pa.date32()), "x[]: it takes string, and the"),
        ("json", {"type": "array"}, pa.list_(pa.date32()), "x[]: date would not arrive as it is"),
        ("json", {"type": "object", "additionalProperties": DATE}, pa.map_(pa.string(), pa.date32()), None),
        (
            "json",
            {"type": "object", "additionalProperties": TEXT},
            pa.map_(pa.int32(), pa.string()),
            "x: map<int,string> would not arrive as it is: cast its keys to string",
        ),
        (
            "json",
            {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]},
            pa.struct([("at", pa.date32()), ("days", pa.list_(pa.date32()))]),
            None,
        ),
        (
            "json",
            {"$ref": "#/$defs/Point"},
            pa.struct([("id", pa.struct([("a", pa.string())]))]),
            "x.id: it takes string, and the column has struct<a:string>: cast it",
        ),
        (
            "json",
            {"anyOf": [{"type": "array", "items": DATE}, {"type": "array", "items": TEXT}]},
            pa.list_(pa.date32()),
            "x[]: date would not arrive as it is",
        ),
    ],
)
def test_a_column_is_taken_or_refused_with_its_place(
    coder: str, schema: Any, type_: Any, why: str | None
) -> None:
    parameter = Parameter(name="x", coder=coder, schema=schema, defs=DEFS)
    if why is None:
        parameter.check("f", type_)
        return
    with pytest.raises(PipelineError) as caught:
        parameter.check("f", type_)
    assert str(caught.value).startswith(f"f: {why}")


def test_a_spark_type_that_arrow_does_not_have_is_refused() -> None:
    parameter = Parameter(name="x", coder="arrow")
    parameter.check_spark("f", T.TimestampType())
    for type_ in (T.YearMonthIntervalType(), T.ArrayType(T.CalendarIntervalType())):
        with pytest.raises(PipelineError, match=r"^f: x: Arrow has no .*interval.*: cast it to string"):
            parameter.check_spark("f", type_)


def test_null_is_a_value_where_anything_is() -> None:
    assert Parameter(name="x", coder="json").takes_null
    assert Parameter(name="x", coder="json", schema={"type": ["string", "null"]}).takes_null
    assert not Parameter(name="x", coder="json", schema=TEXT).takes_null


def test_values_of_columns_become_json() -> None:
    day, moment = date(2026, 1, 2), datetime(2026, 1, 2, 3, tzinfo=UTC)
    row = pa.struct([("day", pa.date32()), ("n", pa.int64())])
    columns: list[tuple[Any, Any, Any]] = [
        (pa.date32(), day, "2026-01-02"),
        (pa.timestamp("us", "UTC"), moment, "2026-01-02T03:00:00+00:00"),
        (pa.decimal128(9, 2), Decimal("1.50"), "1.50"),
        (pa.decimal128(38, 18), Decimal("1E-18"), "0.000000000000000001"),
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
