"""The columns of the journal, and a row on its way there (spec/journal.md, section 3). Pure.

A row is made on the hot path, so it costs one ``struct`` pack and one append: its fixed-size fields become
one byte string, its texts and the raw frame stay as they are. ``columns`` makes a block of many at once.
"""

import struct
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from framehub import ids

VERSION: Final = 1
NO_ID: Final = ids.NO_ID
NO_LINK: Final = b"\0" * 8

SCHEMA: Final = pa.schema(
    [
        # when
        pa.field("time_ns", pa.int64(), nullable=False),
        pa.field("mono_ns", pa.int64(), nullable=False),
        # where
        pa.field("link", pa.binary(), nullable=False),
        pa.field("protocol", pa.string(), nullable=False),
        pa.field("version", pa.int16(), nullable=False),
        pa.field("direction", pa.string(), nullable=False),
        # who and what
        pa.field("user", pa.int32(), nullable=False),
        pa.field("service", pa.int32()),
        pa.field("function", pa.int32()),
        pa.field("endpoint", pa.string()),
        # the decoded head
        pa.field("kind", pa.string(), nullable=False),
        pa.field("head", pa.int16()),
        pa.field("id", pa.int64()),
        pa.field("ref", pa.int64()),
        pa.field("key", pa.int64()),
        pa.field("code", pa.int16()),
        pa.field("query", pa.binary()),
        pa.field("coder", pa.string()),
        # the body
        pa.field("bytes", pa.int32(), nullable=False),
        pa.field("payload_at", pa.int32()),
        pa.field("payload_bytes", pa.int32()),
        pa.field("files", pa.int32()),
        pa.field("error", pa.string()),
        pa.field("refused", pa.string()),
        # the story
        pa.field("exchange", pa.binary()),
        pa.field("parent", pa.binary()),
        # the frame itself: whole, its head, or nothing
        pa.field("recorded", pa.string(), nullable=False),
        pa.field("raw", pa.binary()),
    ]
)
"""Columns of a row as written; a reader adds ``node`` and ``seq`` (``ROW_SCHEMA``)."""

ROW_SCHEMA: Final = pa.schema(
    [
        pa.field("node", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        *SCHEMA,
    ]
)
"""Columns of a row as read, and as sealed into Parquet: known by (node, seq)."""

PROTOCOLS: Final = ("mfp", "hub", "rpc")
DIRECTIONS: Final = ("in", "out")
RECORDED: Final = ("full", "head", "off", "redacted")
MODES: Final = RECORDED[:3]
"""What can be asked for; ``redacted`` is what fields that are replaced make of ``full``."""
WHOLE: Final = ("full", "redacted")
"""Where ``raw`` is a whole frame, as long as it was."""
KINDS: Final = (
    "service",
    "message",
    "request",
    "binary",
    "response",
    "refused",
    "link_opened",
    "link_closed",
    "query",
    "query_received",
    "result",
    "exception",
    "unknown_function",
    "response_received",
    "coders_query",
    "coders_found",
    "coders_not_found",
    "heart_beat",
    "register",
    "incompatible",
    "describe",
    "functions_query",
    "functions_list",
    "cancel",
    "query_returned",
    "query_confirmed",
    "first",
    "last",
    "command",
    "stream_error",
    "service_error",
)
"""Every ``kind``; the position is what a packed row holds. Append only."""

KIND_NUMBER: Final = {name: number for number, name in enumerate(KINDS)}

_LAYOUT: Final = (
    ("time_ns", "q", "<i8"),
    ("mono_ns", "q", "<i8"),
    ("link", "8s", "V8"),
    ("protocol", "B", "u1"),
    ("version", "H", "<u2"),
    ("direction", "B", "u1"),
    ("user", "i", "<i4"),
    ("service", "i", "<i4"),
    ("function", "i", "<i4"),
    ("kind", "B", "u1"),
    ("head", "h", "<i2"),
    ("id", "q", "<i8"),
    ("ref", "q", "<i8"),
    ("key", "q", "<i8"),
    ("code", "h", "<i2"),
    ("bytes", "i", "<i4"),
    ("payload_at", "i", "<i4"),
    ("payload_bytes", "i", "<i4"),
    ("files", "i", "<i4"),
    ("exchange", "16s", "V16"),
    ("parent", "16s", "V16"),
    ("recorded", "B", "u1"),
)
FIXED: Final = struct.Struct("<" + "".join(code for _, code, _ in _LAYOUT))
"""``FIXED.pack(time_ns, mono_ns, link, protocol, ... recorded)``: -1 and zero ids stand for null."""

DTYPE: Final = np.dtype([(name, dtype) for name, _, dtype in _LAYOUT])
"""The same for numpy."""
assert DTYPE.itemsize == FIXED.size
_NUMBERS: Final = {name: struct.Struct("<" + code) for name, code, _ in _LAYOUT}


def place(name: str) -> slice:
    """Where a field lies in ``Row.fixed``."""
    kind, start = DTYPE.fields[name][:2]  # type: ignore[index]
    return slice(start, start + kind.itemsize)


def read_number(fixed: bytes, name: str) -> int:
    """A number in ``Row.fixed``; -1 stands for null."""
    number: int = _NUMBERS[name].unpack_from(fixed, place(name).start)[0]
    return number


class Row(NamedTuple):
    """One row of the journal on its way to disk; ``fixed`` is made by ``FIXED.pack``."""

    fixed: bytes
    endpoint: str | None = None
    query: bytes | None = None
    error: str | None = None
    refused: str | None = None
    raw: bytes | None = None
    coder: str | None = None

    @property
    def size(self) -> int:
        """Bytes this row holds in memory and, nearly, on disk."""
        raw = self.raw
        return FIXED.size + 64 + (len(raw) if raw is not None else 0)


def with_position(batch: pa.RecordBatch, *, node: str, first_seq: int) -> pa.RecordBatch:
    """Add ``node`` and ``seq``: what a reader hands out (``ROW_SCHEMA``)."""
    count = batch.num_rows
    nodes = pa.repeat(pa.scalar(node), count)
    seqs = pa.array(np.arange(first_seq, first_seq + count, dtype=np.int64))
    return pa.RecordBatch.from_arrays([nodes, seqs, *batch.columns], schema=ROW_SCHEMA)
