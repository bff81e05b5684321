"""One batch of ``record.SCHEMA`` as an Arrow IPC message, put together by hand (spec/journal.md, 2.3). Pure.

    FFFFFFFF | size:4 | head: a flatbuffer of so many bytes | body: buffers, each padded to 8 bytes

The columns are always the same, so the head is too, but for its numbers: rows, nulls, and where each buffer
lies. Arrow is asked once what it looks like; for each block only the numbers are filled in. Making arrays and
a batch of them for Arrow to take apart again costs more than all the rows of a small block.
"""

import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from framehub.journal.record import SCHEMA

Buffer: TypeAlias = bytes | memoryview | np.ndarray[Any, Any]

_U16: Final = struct.Struct("<H")
_I32: Final = struct.Struct("<i")
_I64: Final = struct.Struct("<q")
_PADDING: Final = tuple(bytes(-size % 8) for size in range(8))
_PREFIX: Final = 8


class Column(NamedTuple):
    """The buffers of one column, in Arrow's order: which are null, where each begins, what they are."""

    nulls: int
    buffers: tuple[Buffer, ...]


class Body(NamedTuple):
    """The body of a block in two pieces: everything but the frames, and the frames, which are long."""

    rows: int
    frames_bytes: int
    front: bytes
    back: memoryview

    @property
    def length(self) -> int:
        """Bytes of both."""
        return len(self.front) + len(self.back)

    def batch(self) -> pa.RecordBatch:
        """The rows, in memory of their own."""
        return pa.ipc.read_record_batch(pa.py_buffer(b"".join((self.front, self.back))), SCHEMA)


class Head(NamedTuple):
    """Arrow's head, and where its numbers stand."""

    data: bytes
    body_length: int
    rows: int
    nodes: int
    buffers: int
    buffer_count: int


def assemble(rows: int, columns: Sequence[Column], frames: memoryview) -> Body:
    """The message of these columns, in the order of ``SCHEMA``.

    The last buffer of the last one is ``frames`` without what follows there, which is eight zeros or more.
    """
    nodes: list[int] = []
    places: list[int] = []
    pieces: list[Buffer] = []
    at = 0
    for column in columns:
        nodes += (rows, column.nulls)
        for buffer in column.buffers:
            size = buffer.nbytes if isinstance(buffer, np.ndarray) else len(buffer)
            places += (at, size)
            at += size + -size % 8
            pieces += (buffer, _PADDING[size % 8])
    assert len(places) == 2 * HEAD.buffer_count, "other columns than the schema has"
    head = bytearray(HEAD.data)
    _I64.pack_into(head, HEAD.body_length, at)
    _I64.pack_into(head, HEAD.rows, rows)
    struct.pack_into(f"<{len(nodes)}q", head, HEAD.nodes, *nodes)
    struct.pack_into(f"<{len(places)}q", head, HEAD.buffers, *places)
    size = places[-1]
    front: list[Any] = [head, *pieces[:-2]]
    return Body(rows, size, b"".join(front), frames[: size + -size % 8])


def _learn() -> Head:
    """What Arrow makes of one row; the numbers are where the flatbuffer's tables say (Message.fbs)."""
    arrays = [pa.nulls(1, field.type) for field in SCHEMA]
    data = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA).serialize().to_pybytes()
    message = _PREFIX + _I32.unpack_from(data, _PREFIX)[0]
    batch = _follow(data, _field(data, message, 2))
    nodes = _follow(data, _field(data, batch, 1))
    buffers = _follow(data, _field(data, batch, 2))
    (count,) = _I32.unpack_from(data, buffers)
    (size,) = _I32.unpack_from(data, 4)
    # A vector is its length in 4 bytes, then, here, pairs of two 64-bit numbers.
    return Head(
        data[: _PREFIX + size],
        _field(data, message, 3),
        _field(data, batch, 0),
        nodes + 4,
        buffers + 4,
        count,
    )


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer's table stands."""
    vtable = table - _I32.unpack_from(data, table)[0]
    offset: int = _U16.unpack_from(data, vtable + 4 + 2 * number)[0]
    assert offset, "Arrow leaves a field out"
    return table + offset


def _follow(data: bytes, at: int) -> int:
    offset: int = _I32.unpack_from(data, at)[0]
    return at + offset


HEAD: Final = _learn()
