"""What of a column can be the argument of a remote function, exactly as it is.

JSON has booleans, numbers, texts, lists and objects; other types go only where the function says that it
takes them (``datetime.date``, ``decimal.Decimal``, or bytes with a coder that has some). What would arrive as
something else is refused. A function of tables takes all that Arrow has.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type, is_geography, is_geometry, is_variant, to_arrow_type

from framehub.errors import PipelineError

Convert: TypeAlias = Callable[[Any], Any]

BINARY_CODERS: Final = ("bytes", "msgpack")
"""Coders whose values may be bytes."""
_JSON: Final = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))
_BY_FORMAT: Final[Mapping[Any, str]] = {"date": "date", "date-time": "timestamp", "decimal": "decimal"}
"""What a text with a format may also be given."""
_HINTS: Final[Mapping[str, str]] = {
    "decimal": "cast it to string, or to double if it may be rounded",
    "bytes": "give base64(...), or offer the function with the coders bytes or msgpack",
    "timestamp": "give unix_micros(...), or cast it to string",
    "variant": "give to_json(...)",
    "geometry": "give st_asbinary(...)",
    "geography": "give st_asbinary(...)",
}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One column as the function takes it."""

    name: str
    coder: str
    """The function's coder of arguments."""
    schema: Any = None
    """What its worker says of it; None if nothing."""
    defs: Mapping[str, Any] = field(default_factory=dict)
    """What the schema refers to."""

    @property
    def kinds(self) -> set[str] | None:
        """What JSON calls its values, and what else it takes; None for any."""
        return kinds_taken(self.schema, self.defs, self.coder)

    @property
    def takes_null(self) -> bool:
        """Whether null is a value; if not, a row with null is not asked and its result is null."""
        kinds = self.kinds
        return kinds is None or "null" in kinds

    def check(self, function: str, type_: Any) -> None:
        """Refuse an Arrow type that ``function`` does not take here, or that it would not get as it is.

        Raises:
            PipelineError: so it is.
        """
        if self.coder != "arrow" and (why := self._unfit(type_, self.schema, self.name)):
            raise PipelineError(f"{function}: {why}")

    def check_spark(self, function: str, type_: T.DataType) -> None:
        """Refuse a Spark type.

        Raises:
            PipelineError: ``function`` does not take it here, or Arrow does not have it.
        """
        if (arrow := arrow_type(type_)) is None:
            name = type_.simpleString()
            raise PipelineError(
                f"{function}: {self.name}: Arrow has no {name}, and so it goes nowhere: cast it to string"
            )
        self.check(function, arrow)

    def _unfit(self, type_: Any, schema: Any, place: str) -> str | None:
        """Why values of an Arrow type are not what a schema takes, or would not arrive as they are."""
        kind, kinds = kind_of(type_), kinds_taken(schema, self.defs, self.coder)
        lost = f"{place}: {spark_name(type_)} would not arrive as it is: "
        if kind == "null":
            return None
        if kinds is None and kind not in _JSON and (kind != "bytes" or self.coder not in BINARY_CODERS):
            return lost + _HINTS.get(kind, "cast it to string")
        if kinds is not None and kind not in kinds:
            wanted = " or ".join(sorted(kinds - {"null"}))
            as_text = "string" in kinds and kind not in _JSON
            hint = _HINTS.get(kind, "cast it to string") if as_text else "cast it"
            return f"{place}: it takes {wanted}, and the column has {spark_name(type_)}: {hint}"
        if kind == "array":
            return self._unfit(type_.value_type, self._part(schema, "array", "items"), f"{place}[]")
        if pa.types.is_map(type_):
            if kind_of(type_.key_type) != "string":
                return lost + "cast its keys to string"
            items = self._part(schema, "object", "additionalProperties")
            return self._unfit(type_.item_type, items, f"{place}{{}}")
        if kind == "object":
            own = self._part(schema, "object", "properties") or {}
            every = (self._unfit(each.type, own.get(each.name), f"{place}.{each.name}") for each in type_)
            return next((why for why in every if why is not None), None)
        return None

    def _part(self, schema: Any, kind: str, key: str, depth: int = 0) -> Any:
        """What a schema says of the inside of its arrays or objects; None if nothing, or several things."""
        if not isinstance(schema, Mapping) or depth > 16:
            return None
        if isinstance(ref := schema.get("$ref"), str):
            return self._part(self.defs.get(ref.removeprefix("#/$defs/")), kind, key, depth + 1)
        if isinstance(options := schema.get("anyOf"), list):
            parts = [self._part(option, kind, key, depth + 1) for option in options]
            found = [part for part in parts if part is not None]
            return found[0] if len(found) == 1 else None
        part = schema.get(key) if schema.get("type") == kind else None
        return part if isinstance(part, Mapping) else None


def arrow_type(type_: T.DataType) -> Any:
    """The Arrow type of a Spark type, instants in UTC; None if there is none."""
    try:
        return to_arrow_type(type_, timezone="UTC")
    except (PySparkException, NotImplementedError):
        return None


def spark_name(type_: Any) -> str:
    """What Spark calls an Arrow type."""
    try:
        return from_arrow_type(type_, prefer_timestamp_ntz=True).simpleString()
    except (PySparkException, NotImplementedError):
        return str(type_)


def kind_of(type_: Any) -> str:
    """What JSON calls the values of an Arrow column, or what they are if JSON has none."""
    text = pa.types
    for is_one, kind in (
        (text.is_boolean, "boolean"),
        (text.is_integer, "integer"),
        (text.is_floating, "number"),
        (text.is_decimal, "decimal"),
        (text.is_date, "date"),
        (text.is_time, "time"),
        (text.is_duration, "interval"),
        (text.is_null, "null"),
        (text.is_map, "object"),
    ):
        if is_one(type_):
            return kind
    if text.is_struct(type_):
        special = ((is_variant, "variant"), (is_geometry, "geometry"), (is_geography, "geography"))
        return next((kind for is_one, kind in special if is_one(type_)), "object")
    if text.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    if text.is_string(type_) or text.is_large_string(type_):
        return "string"
    if text.is_binary(type_) or text.is_large_binary(type_):
        return "bytes"
    return "array" if text.is_list(type_) or text.is_large_list(type_) else str(type_)


def kinds_taken(schema: Any, defs: Mapping[str, Any], coder: str = "json", depth: int = 0) -> set[str] | None:
    """What JSON calls the values that a parameter takes, and what else it takes; None for any."""
    if not isinstance(schema, Mapping) or depth > 16:
        return None
    if isinstance(ref := schema.get("$ref"), str):
        return kinds_taken(defs.get(ref.removeprefix("#/$defs/")), defs, coder, depth + 1)
    if isinstance(options := schema.get("anyOf"), list):
        each = [kinds_taken(option, defs, coder, depth + 1) for option in options]
        return None if None in each else {kind for kinds in each if kinds for kind in kinds}
    if isinstance(values := schema.get("enum"), list):
        names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
        return {names.get(type(value), "object") for value in values}
    kind = schema.get("type")
    if kind == "string" and schema.get("contentEncoding") == "base64" and coder in BINARY_CODERS:
        return {"bytes"}
    if kind == "string" and schema.get("format") in _BY_FORMAT:
        return {"string", _BY_FORMAT[schema["format"]]}
    kinds = {kind} if isinstance(kind, str) else set(kind) if isinstance(kind, list) else None
    return kinds | {"integer"} if kinds and "number" in kinds else kinds


def argument_converter(type_: Any) -> Convert | None:
    """What makes JSON of the values of an Arrow column, if anything has to be done."""
    if pa.types.is_temporal(type_):
        return lambda value: None if value is None else value.isoformat()
    if pa.types.is_decimal(type_):
        return lambda value: None if value is None else f"{value:f}"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _for_items(argument_converter(type_.value_type))
    if pa.types.is_map(type_):
        item = argument_converter(type_.item_type) or _same
        return lambda value: None if value is None else {key: item(each) for key, each in value}
    if pa.types.is_struct(type_):
        own = {each.name: argument_converter(each.type) or _same for each in type_}
        return lambda value: value and {key: own[key](each) for key, each in value.items()}
    return None


def _for_items(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: None if value is None else [convert(each) for each in value]


def _same(value: Any) -> Any:
    return value
