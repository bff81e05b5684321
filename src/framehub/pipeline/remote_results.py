"""What a remote function gave, as the type that its column has: the same value, or an error of its row."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from struct import pack
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from framehub.errors import PipelineError
from framehub.pipeline.remote_arguments import BINARY_CODERS, Convert, arrow_type, kind_of, kinds_taken

_EXACT: Final = (
    T.BooleanType,
    T.IntegralType,
    T.FloatType,
    T.DoubleType,
    T.StringType,
    T.CharType,
    T.VarcharType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
    T.DecimalType,
)
_FINER: Final = re.compile(r"[.,]\d{6}\d*[1-9]")
"""A fraction of a second that microseconds do not have."""


def check_result(name: str, type_: T.DataType, identity: str, schema: Any) -> None:
    """Refuse a Spark type that results of a function cannot have exactly.

    Raises:
        PipelineError: so it is.
    """
    wrong = f"{name}: returns={type_.simpleString()!r} cannot be: "
    if _contains(type_, (T.VariantType, T.GeometryType, T.GeographyType)):
        raise PipelineError(f"{wrong}no coder has that: give JSON or WKB, returns='string' or 'binary'")
    if arrow_type(type_) is None:
        raise PipelineError(f"{wrong}Arrow has no such type; returns='string', and cast that")
    if identity == "arrow":
        return
    if (why := _inexact(type_, identity)) is not None:
        raise PipelineError(wrong + why)
    defs = schema.get("$defs", {}) if isinstance(schema, Mapping) else {}
    if isinstance(type_, T.DecimalType) and "number" in (kinds_taken(schema, defs) or ()):
        raise PipelineError(f"{wrong}it gives a float, which is no exact decimal; returns='double'")


def _contains(type_: T.DataType, wanted: tuple[type[T.DataType], ...]) -> bool:
    return isinstance(type_, wanted) or any(_contains(each, wanted) for each in _inside(type_))


def _inside(type_: T.DataType) -> list[T.DataType]:
    if isinstance(type_, T.ArrayType):
        return [type_.elementType]
    if isinstance(type_, T.MapType):
        return [type_.keyType, type_.valueType]
    return [each.dataType for each in type_] if isinstance(type_, T.StructType) else []


def _inexact(type_: T.DataType, identity: str) -> str | None:
    """Why a coder has no values of a type."""
    if isinstance(type_, T.MapType) and not isinstance(type_.keyType, T.StringType):
        return f"keys are texts: returns='map<string,{type_.valueType.simpleString()}>'"
    if inside := _inside(type_):
        return next((why for each in inside if (why := _inexact(each, identity)) is not None), None)
    if isinstance(type_, T.BinaryType) and identity not in BINARY_CODERS:
        return f"{identity} has no bytes; returns='string', or offer it with the coders bytes or msgpack"
    if not isinstance(type_, (*_EXACT, T.BinaryType)):
        return f"{identity} has no {type_.simpleString()}; returns='string', and cast that"
    return None


# --- rows --------------------------------------------------------------------------------------------------


def result_converter(type_: Any) -> Convert:
    """What makes a value for an Arrow column of what a function gave.

    It raises ValueError for what the type cannot carry as it is; what is too large, Arrow refuses.
    """
    convert = _converter(type_)
    return lambda value: None if value is None else convert(value)


def _converter(type_: Any) -> Convert:
    if pa.types.is_map(type_):
        item = result_converter(type_.item_type)
        return lambda value: [(key, item(each)) for key, each in _as(Mapping, value).items()]
    if pa.types.is_struct(type_):
        own = [(each.name, result_converter(each.type)) for each in type_]
        return lambda value: _struct(value, own)
    if pa.types.is_list(type_):
        item = result_converter(type_.value_type)
        return lambda value: [item(each) for each in _as(list | tuple, value)]
    if pa.types.is_float32(type_):
        return _single
    return _SIMPLE[kind_of(type_)]


def _as(wanted: Any, value: Any) -> Any:
    if isinstance(value, wanted) and (type(value) is not bool or wanted is bool):
        return value
    raise ValueError(f"got {_shown(value)}")


def _shown(value: Any) -> str:
    return "bytes" if isinstance(value, bytes) else f"{value!r:.100}"


def _boolean(value: Any) -> Any:
    return _as(bool, value)


def _integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _as(int, value)


def _number(value: Any) -> Any:
    return _as(int | float, value)


def _single(value: Any) -> Any:
    """A number that 32 bits have, rounded."""
    try:
        pack("<f", float(_number(value)))
    except OverflowError:
        raise ValueError(f"got {_shown(value)}, which is too large for a float") from None
    return value


def _string(value: Any) -> str:
    """A text, or JSON text of anything else."""
    return value if isinstance(value, str) else json.dumps(value, allow_nan=False)


def _bytes(value: Any) -> Any:
    return _as(bytes, value)


def _decimal(value: Any) -> Decimal:
    try:
        return Decimal(_as(int | str, value))
    except InvalidOperation:
        raise ValueError(f"got {_shown(value)}") from None


def _date(value: Any) -> Any:
    if isinstance(value, str):
        return date.fromisoformat(value)
    if isinstance(value, datetime):
        raise ValueError(f"got {_shown(value)}")
    return _as(date, value)


def _moment(value: Any) -> datetime:
    if (found := _time(value)).tzinfo is None:
        raise ValueError(f"got {_shown(value)}, which has no time zone")
    return found


def _local(value: Any) -> datetime:
    if (found := _time(value)).tzinfo is not None:
        raise ValueError(f"got {_shown(value)}, which has a time zone")
    return found


def _time(value: Any) -> datetime:
    if not isinstance(value, str):
        found: datetime = _as(datetime, value)
        return found
    if _FINER.search(value):
        raise ValueError(f"got {_shown(value)}, which is finer than microseconds")
    return datetime.fromisoformat(value)


_SIMPLE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "string": _string,
    "bytes": _bytes,
    "decimal": _decimal,
    "date": _date,
    "timestamp": _moment,
    "timestamp_ntz": _local,
}


def _struct(value: Any, own: list[tuple[str, Convert]]) -> dict[str, Any]:
    if isinstance(value, Mapping):
        if others := sorted(map(str, value.keys() - {name for name, _ in own})):
            raise ValueError(f"got fields that the struct has not: {', '.join(others):.100}")
        return {name: convert(value.get(name)) for name, convert in own}
    items = _as(list | tuple, value)
    return {name: convert(each) for (name, convert), each in zip(own, items, strict=True)}


# --- whole columns -----------------------------------------------------------------------------------------


def one_column(table: Any, type_: Any) -> Any:
    """A table as one column of a type: its only one, or all of them as a struct.

    Raises:
        ValueError: it has others, or values that the type does not have. So does Arrow.
    """
    if pa.types.is_struct(type_):
        fields = list(type_)
        if others := sorted(set(table.column_names) - {each.name for each in fields}):
            raise ValueError(f"it has columns that the struct has not: {', '.join(others)}")
        columns = [_cast(table.column(each.name).combine_chunks(), each.type) for each in fields]
        return pa.StructArray.from_arrays(columns, fields=fields)
    if table.num_columns != 1:
        raise ValueError(f"it has {table.num_columns} columns: {', '.join(table.column_names)}")
    return _cast(table.column(0).combine_chunks(), type_)


def _cast(column: Any, type_: Any) -> Any:
    if column.type == type_:
        return column
    if not _is_like(column.type, type_):
        raise ValueError(f"got {column.type}")
    cast = column.cast(type_)
    if _infinities(cast) != _infinities(column):
        raise ValueError(f"got {column.type} that is too large for {type_}")
    return cast


def _infinities(column: Any) -> int:
    """How many there are, at any depth: a cast to fewer bits makes them of what is too large."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        return pc.sum(pc.is_inf(column)).as_py() or 0
    if pa.types.is_map(column.type):
        pair = pa.struct([column.type.key_field, column.type.item_field])
        column = column.cast(pa.list_(pair))
    if pa.types.is_nested(column.type):
        inner = column.flatten()
        return sum(map(_infinities, inner if isinstance(inner, list) else [inner]))
    return 0


def _is_like(found: Any, wanted: Any) -> bool:
    """Whether a cast that fails for what is too large changes nothing else."""
    if pa.types.is_dictionary(found):
        return _is_like(found.value_type, wanted)
    if pa.types.is_null(found):
        return True
    kind, other = kind_of(found), kind_of(wanted)
    if pa.types.is_map(found) or pa.types.is_map(wanted):
        both = pa.types.is_map(found) and pa.types.is_map(wanted)
        pairs = ((found.key_type, wanted.key_type), (found.item_type, wanted.item_type)) if both else ()
        return both and all(_is_like(*pair) for pair in pairs)
    if kind == other == "array":
        return _is_like(found.value_type, wanted.value_type)
    if kind == other == "object":
        inner = {each.name: each.type for each in found}
        return inner.keys() == {each.name for each in wanted} and all(
            _is_like(inner[each.name], each.type) for each in wanted
        )
    numbers = ("integer", "number", "decimal")
    return kind == other or (kind == "integer" and other in numbers) or (kind, other) == ("number", "integer")
