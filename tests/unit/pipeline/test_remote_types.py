"""Coders and schemas as Spark types."""

from typing import Any

import pytest

from framehub.errors import PipelineError
from framehub.pipeline.remote_types import result_type

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
        ("json", {"type": "string", "format": "decimal"}, "string"),
        ("msgpack", {"type": "string", "contentEncoding": "base64"}, "binary"),
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
