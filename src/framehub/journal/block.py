"""Blocks: what a segment is made of (spec/journal.md, section 2). Pure: bytes in, values out.

    magic "FHJ1":4 | length:4 | first seq:8 | rows:4 | sum:4 | body:length        big-endian

The body is one encapsulated Arrow IPC record batch of ``record.SCHEMA``; in the opening block of a segment,
which has no rows, it is the schema message with who wrote the segment in its metadata. The sum is CRC-32
over the header before it and the body, started from the node's salt: a payload that holds a whole block of
this format was made by somebody who does not know the salt, so it can never be taken for one of ours.
"""

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

import pyarrow as pa

from framehub.errors import JournalError
from framehub.journal.message import Body
from framehub.journal.record import SCHEMA, VERSION
from framehub.mfp.checksum import crc32_number

MAGIC: Final = b"FHJ1"
HEADER: Final = struct.Struct(">4sIQII")
HEADER_BYTES: Final = HEADER.size
FRAME_LIMIT: Final = 16 << 20
"""Bytes of the largest frame recorded by default."""
ROOM: Final = 1 << 20
"""Bytes a block may hold beyond one frame: columns, padding, and the other rows of a group."""
BLOCK_LIMIT: Final = FRAME_LIMIT + ROOM

_SUMMED: Final = struct.Struct(">4sIQI")
_SUM: Final = struct.Struct(">I")


class Header(NamedTuple):
    """The first bytes of a block, before its body is known to be sound."""

    length: int
    first_seq: int
    rows: int
    sum: int

    @property
    def last_seq(self) -> int:
        """The sequence number of the last row; of the row before the first, if there are none."""
        return self.first_seq + self.rows - 1


class Opening(NamedTuple):
    """What the opening block of a segment says about it."""

    node: str
    version: int
    created_ns: int
    salt: int
    block_limit: int


def pack(body: bytes | pa.Buffer, *, first_seq: int, rows: int, salt: int) -> bytes:
    """One block: its header, its sum, its body."""
    head = _SUMMED.pack(MAGIC, len(body), first_seq, rows)
    return b"".join((head, _SUM.pack(checksum(head, body, salt)), body))


def checksum(head: bytes, body: bytes | memoryview | pa.Buffer, salt: int) -> int:
    """CRC-32 over the header before the sum, and the body."""
    return crc32_number(body, crc32_number(head, salt))


def read_header(data: bytes | memoryview, *, limit: int = BLOCK_LIMIT) -> Header | None:
    """The header, or None if these bytes begin no block; a length over the limit is none."""
    if len(data) < HEADER_BYTES:
        return None
    magic, length, first_seq, rows, total = HEADER.unpack_from(data)
    if magic != MAGIC or length > limit or first_seq >= 1 << 63:
        return None
    return Header(length, first_seq, rows, total)


def is_sound(head: bytes, body: bytes | memoryview, *, salt: int) -> bool:
    """Whether the sum of a header (as bytes) and its body is right; an opening is summed without salt."""
    rows, total = struct.unpack_from(">II", head, 16)
    return checksum(head[: _SUMMED.size], body, salt if rows else 0) == int(total)


def encode_rows(batch: pa.RecordBatch, *, first_seq: int, salt: int) -> bytes:
    """A batch of ``record.SCHEMA`` as one block."""
    return pack(batch.serialize(), first_seq=first_seq, rows=batch.num_rows, salt=salt)


def head_of(body: Body, *, first_seq: int, salt: int) -> bytes:
    """The header of a block with this body, its sum included."""
    head = _SUMMED.pack(MAGIC, body.length, first_seq, body.rows)
    return head + _SUM.pack(crc32_number(body.back, checksum(head, body.front, salt)))


def decode_rows(body: bytes | memoryview, *, rows: int) -> pa.RecordBatch:
    """The batch in a body whose sum was right.

    Raises:
        JournalError: the sum was right, yet this is no batch of our columns: another version wrote it.
    """
    try:
        batch = pa.ipc.read_record_batch(pa.py_buffer(body), SCHEMA)
        batch.validate()
    except (pa.ArrowException, OSError) as exc:
        raise JournalError(f"a block's body is no record batch: {exc}") from exc
    if batch.num_rows != rows:
        raise JournalError(f"a block announces {rows} rows and holds {batch.num_rows}")
    return batch


def encode_opening(opening: Opening, *, first_seq: int) -> bytes:
    """The opening block of the segment whose first row will be ``first_seq``."""
    told = {
        "node": opening.node,
        "version": str(opening.version),
        "created_ns": str(opening.created_ns),
        "salt": f"{opening.salt:08x}",
        "block_limit": str(opening.block_limit),
    }
    body = SCHEMA.with_metadata(told).serialize()
    return pack(body, first_seq=first_seq, rows=0, salt=0)


def decode_opening(body: bytes | memoryview) -> Opening:
    """What an opening block says.

    Raises:
        JournalError: not ours, or a version this program does not know.
    """
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(body))
        told: Mapping[bytes, bytes] = schema.metadata or {}
        opening = Opening(
            node=told[b"node"].decode(),
            version=int(told[b"version"]),
            created_ns=int(told[b"created_ns"]),
            salt=int(told[b"salt"], 16),
            block_limit=int(told[b"block_limit"]),
        )
    except (pa.ArrowException, OSError, KeyError, ValueError) as exc:
        raise JournalError(f"an opening block cannot be read: {exc!r}") from exc
    if opening.version != VERSION:
        raise JournalError(f"journal version {opening.version}; this program reads version {VERSION}")
    if not schema.equals(SCHEMA):
        raise JournalError("an opening block names other columns than version 1 has")
    return opening
