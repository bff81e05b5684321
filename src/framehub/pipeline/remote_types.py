"""What a remote function gives, as a Spark type.

A function describes itself by coders and JSON schemas (spec/rpc.md, sections 6 and 7); a column has a type.
"""

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import types as T

from framehub.errors import PipelineError
from framehub.rpc.binary_coders import ListOf, Tuple
from framehub.rpc.coders import coder

_BY_CODER: Final[Mapping[str, T.DataType]] = {
    "Int": T.IntegerType(),
    "Long": T.LongType(),
    "ULong": T.DecimalType(20, 0),
    "Double": T.DoubleType(),
    "String": T.StringType(),
    "bytes": T.BinaryType(),
}
_BY_SCHEMA: Final[Mapping[str, T.DataType]] = {
    "integer": T.LongType(),
    "number": T.DoubleType(),
    "string": T.StringType(),
    "boolean": T.BooleanType(),
}
_BY_FORMAT: Final[Mapping[str, T.DataType]] = {"date": T.DateType(), "date-time": T.TimestampType()}
_HINT: Final = "say its Spark type with returns=, such as returns='double' or returns='string' for JSON text"


def result_type(name: str, identity: str, schema: Any) -> T.DataType:
    """The Spark type of what a function gives, by its result's coder and schema.

    Raises:
        PipelineError: they do not say.
    """
    if identity in ("json", "msgpack"):
        if schema is None:
            raise PipelineError(f"{name}: its worker does not say what it gives: {_HINT}")
        defs = schema.get("$defs", {}) if isinstance(schema, Mapping) else {}
        try:
            return _of_schema(schema, defs, ())
        except _Unclear as exc:
            raise PipelineError(f"{name}: its result is {exc}, which is no column type: {_HINT}") from None
    if identity == "arrow":
        raise PipelineError(f"{name}: it gives Arrow columns; {_HINT}, or returns='a int, b double'")
    if identity == "envelope":
        raise PipelineError(f"{name}: it takes or gives files, which are no columns: call it from a program")
    return _of_coder(coder(identity))


def _of_coder(own: Any) -> T.DataType:
    if isinstance(own, ListOf):
        return T.ArrayType(_of_coder(own.item), containsNull=False)
    if isinstance(own, Tuple):
        return _tuple([_of_coder(item) for item in own.items])
    return _BY_CODER[own.identity]


def _tuple(types: list[T.DataType]) -> T.StructType:
    return T.StructType([T.StructField(f"_{place}", type_) for place, type_ in enumerate(types, 1)])


class _Unclear(Exception):
    """A schema that is no column type."""


def _of_schema(schema: Any, defs: Mapping[str, Any], inside: tuple[str, ...]) -> T.DataType:
    if not isinstance(schema, Mapping):
        raise _Unclear("anything")
    if isinstance(ref := schema.get("$ref"), str):
        name = ref.removeprefix("#/$defs/")
        if name in inside or name not in defs:
            raise _Unclear(f"{name}, which contains itself" if name in inside else f"an unknown {name}")
        return _of_schema(defs[name], defs, (*inside, name))
    if isinstance(options := schema.get("anyOf"), list):
        types = [_of_schema(each, defs, inside) for each in options if each != {"type": "null"}]
        return _widest(types)
    if isinstance(values := schema.get("enum"), list):
        return _widest([_of_value(value) for value in values if value is not None])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _widest(
            [_of_schema({**schema, "type": each}, defs, inside) for each in kind if each != "null"]
        )
    if kind == "array":
        if isinstance(schema.get("prefixItems"), list):
            return _tuple([_of_schema(each, defs, inside) for each in schema["prefixItems"]])
        return T.ArrayType(_of_schema(schema.get("items"), defs, inside))
    if kind == "object":
        return _of_object(schema, defs, inside)
    if kind == "string" and schema.get("contentEncoding") == "base64":
        return T.BinaryType()
    if kind == "string" and schema.get("format") in _BY_FORMAT:
        return _BY_FORMAT[schema["format"]]
    if not isinstance(kind, str) or kind not in _BY_SCHEMA:
        raise _Unclear("nothing" if kind == "null" else "any value")
    return _BY_SCHEMA[kind]


def _of_object(schema: Mapping[str, Any], defs: Mapping[str, Any], inside: tuple[str, ...]) -> T.DataType:
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and properties:
        return T.StructType(
            [T.StructField(name, _of_schema(each, defs, inside)) for name, each in properties.items()]
        )
    if isinstance(schema.get("additionalProperties"), Mapping):
        return T.MapType(T.StringType(), _of_schema(schema["additionalProperties"], defs, inside))
    raise _Unclear("an object of unknown keys")


def _of_value(value: Any) -> T.DataType:
    for kind, type_ in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string")):
        if isinstance(value, kind):
            return _BY_SCHEMA[type_]
    raise _Unclear("one of several values")


def _widest(types: list[T.DataType]) -> T.DataType:
    if types and all(each == types[0] for each in types):
        return types[0]
    if types and all(isinstance(each, T.LongType | T.DoubleType) for each in types):
        return T.DoubleType()
    raise _Unclear("of several types" if types else "nothing")
