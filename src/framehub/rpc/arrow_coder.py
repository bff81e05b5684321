"""``arrow``: columns, as one Arrow IPC stream (spec/rpc.md, section 6). Pure.

pyarrow is loaded when the first value is written or read. What is read is validated in full, and may not
grow: no compressed batches, no more rows than bits, and no types whose length costs no bytes inside others.
"""

import struct
from typing import Any, Final

from framehub.errors import DecodingError, EncodingError

_U16: Final = struct.Struct("<H")
_I32: Final = struct.Struct("<i")
_U32: Final = struct.Struct("<I")
_HEADER, _DICTIONARY_DATA, _COMPRESSION = 8, 6, 10
"""Fields of Message, DictionaryBatch and RecordBatch, as places in a flatbuffer's table of fields."""


class ArrowCoder:
    """Tables."""

    identity: Final = "arrow"

    def encode(self, value: Any) -> bytes:
        """Write a pyarrow ``Table`` or ``RecordBatch``, or a dict of columns.

        Raises:
            EncodingError: it is none, or no columns can be made of it.
        """
        import pyarrow as pa

        try:
            table = _as_table(pa, value)
            _check_types(table.schema)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            data: bytes = sink.getvalue().to_pybytes()
            _check_rows(table.num_rows, data)
        except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as exc:
            raise EncodingError("", f"no Arrow columns: {exc}") from exc
        return data

    def decode(self, data: bytes) -> Any:
        """Read a pyarrow ``Table``.

        Raises:
            DecodingError: anything but one whole, valid stream.
        """
        import pyarrow as pa

        try:
            _check_batches(pa, data)
            source = pa.BufferReader(data)
            with pa.ipc.open_stream(source) as stream:
                _check_types(stream.schema)
                table = stream.read_all()
            if source.tell() != len(data):
                raise ValueError(f"{len(data) - source.tell()} bytes too many")
            _check_rows(table.num_rows, data)
            table.validate(full=True)
        except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, struct.error) as exc:
            raise DecodingError("", f"no Arrow stream: {exc}") from exc
        return table


def _as_table(pa: Any, value: Any) -> Any:
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if isinstance(value, dict):
        return pa.table(value)
    raise TypeError(f"expected a Table, a RecordBatch or a dict of columns, got {type(value).__name__}")


def _check_rows(rows: int, data: bytes) -> None:
    if rows > 8 * len(data):
        raise ValueError(f"{rows} rows are more than {len(data)} bytes can hold")


def _check_types(schema: Any) -> None:
    for field in schema:
        str(field.name)  # raises if it is not UTF-8
        _check_type(field.type, str(field.type) == "null")


def _check_type(type_: Any, may_be_null: bool) -> None:
    text = str(type_)
    endless = text.startswith(("run_end_encoded", "list_view", "large_list_view"))
    empty = text in ("struct<>", "fixed_size_binary[0]") or (text == "null" and not may_be_null)
    if endless or empty:
        raise TypeError(f"columns of type {text[:60]} are not taken: their length costs no bytes")
    for place in range(type_.num_fields):
        _check_type(type_.field(place).type, may_be_null=False)


def _check_batches(pa: Any, data: bytes) -> None:
    """Refuse a compressed batch before anything is made of it: it says itself how big it will be."""
    with pa.BufferReader(data) as source:
        for message in pa.ipc.MessageReader.open_stream(source):
            head = message.metadata.to_pybytes()
            at = _field(head, _U32.unpack_from(head)[0], _HEADER)
            if at and message.type == "dictionary":
                at = _field(head, at, _DICTIONARY_DATA)
            if at and message.type != "schema" and _field(head, at, _COMPRESSION):
                raise ValueError("compressed batches are not taken")


def _field(head: bytes, table: int, field: int) -> int:
    """Where what a field of a flatbuffer's table points to is, or 0 if the field is absent."""
    fields = table - _I32.unpack_from(head, table)[0]
    size = _U16.unpack_from(head, fields)[0]
    offset = _U16.unpack_from(head, fields + field)[0] if field < size else 0
    place = table + offset
    return place + int(_U32.unpack_from(head, place)[0]) if offset else 0
