"""``envelope``: data and files in one block (spec/rpc.md, section 6). Pure.

    size(payload):u32 size(map):u32 payload map files        map = (key:u32 size:u32)*

The payload is ``{"endpoint": ..., "data": ..., "filemap": [[key, name, type], ...]}``. Byte for byte this is
what follows head and id of an MFP request with files, so that a gateway can pass it on unread. Without files
the map has size 0. Reading is strict and total, and decided before memory is taken by a declared size.
"""

import struct
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from framehub.errors import DecodingError, EncodingError
from framehub.rpc.strict_json import MAX_DEPTH, cut, fault
from framehub.rpc.typed_coders import JsonCoder, explained

MAX_FILES: Final = 1024
_MAX_U32: Final = 2**32 - 1
_TWO_U32: Final = struct.Struct(">II")
_NULL: Final = b"null"


class Attached(Struct, frozen=True):
    """A file inside a block."""

    key: int
    data: bytes
    name: str = ""
    type: str = ""


class Block(Struct, frozen=True):
    """What an ``envelope`` carries."""

    endpoint: str
    """The function's name; so that the payload is an MFP envelope."""
    data: Any = None
    files: tuple[Attached, ...] = ()


class RawBlock(Struct, frozen=True):
    """The same with its data still JSON."""

    endpoint: str
    data: bytes
    files: tuple[Attached, ...]


class _Payload(Struct):
    endpoint: Annotated[str, Meta(min_length=1)]
    data: Raw | UnsetType = UNSET
    filemap: list[tuple[int, str, str]] | UnsetType = UNSET


_json: Final = JsonCoder()
_read: Final = msgspec.json.Decoder(_Payload).decode
_write: Final = msgspec.json.Encoder().encode


class EnvelopeCoder:
    """Blocks."""

    identity: Final = "envelope"

    def encode(self, value: Any) -> bytes:
        """Write a ``Block``.

        Raises:
            EncodingError: it is none, its data is no JSON, or its files are too many or share a key.
        """
        if not isinstance(value, Block):
            raise EncodingError("", f"expected a Block, got {type(value).__name__}")
        return join(value.endpoint, _json.encode(value.data), value.files)

    def decode(self, data: bytes) -> Block:
        """Read a ``Block``; raise ``DecodingError`` for anything else."""
        raw = split(data)
        return Block(raw.endpoint, msgspec.json.decode(raw.data), raw.files)


def join(endpoint: str, data: bytes, files: tuple[Attached, ...] = ()) -> bytes:
    """A block around ``data``, which is JSON already.

    Raises:
        EncodingError: no endpoint, too many files, two with one key, or sizes that no block can have.
    """
    if not endpoint:
        raise EncodingError("", "a block has an endpoint: the function's name")
    if len(files) > MAX_FILES:
        raise EncodingError("", f"{len(files)} files are more than {MAX_FILES}")
    if len({file.key for file in files}) != len(files):
        raise EncodingError("", "two files have one key")
    filemap = [(file.key, file.name, file.type) for file in files] or UNSET
    try:
        payload = _write(_Payload(endpoint, Raw(data), filemap))
        table = b"".join([_TWO_U32.pack(file.key, len(file.data)) for file in files])
        sizes = _TWO_U32.pack(len(payload), len(table))
    except (struct.error, ValueError) as exc:
        raise EncodingError("", f"no block can carry this: {cut(str(exc))}") from exc
    return b"".join((sizes, payload, table, *(file.data for file in files)))


def split(data: bytes) -> RawBlock:
    """Read a block, but not its data.

    Raises:
        DecodingError: anything but exactly one whole block.
    """
    if len(data) < 8:
        raise DecodingError("", f"a block has at least 8 bytes, this one {len(data)}")
    payload_size, table_size = _TWO_U32.unpack_from(data)
    table_at = 8 + payload_size
    files_at = table_at + table_size
    if files_at > len(data):
        raise DecodingError("", "payload and map are longer than the block")
    if table_size % 8 or table_size > 8 * MAX_FILES:
        raise DecodingError("", f"a map of {table_size} bytes: want 8 for each of at most {MAX_FILES} files")
    table = tuple(_TWO_U32.iter_unpack(data[table_at:files_at]))
    if files_at + sum(size for _, size in table) != len(data):
        raise DecodingError("", "the files do not fill the block exactly")
    payload = _payload(data[8:table_at])
    filemap = payload.filemap or []
    names = {key: names for key, *names in filemap}
    if not len(names) == len(table) == len(filemap) or names.keys() != {key for key, _ in table}:
        raise DecodingError("", "map and filemap do not name the same files, each once")
    files, at = [], files_at
    for key, size in table:
        files.append(Attached(key, data[at : at + size], *names[key]))
        at += size
    return RawBlock(payload.endpoint, bytes(payload.data or _NULL), tuple(files))


def _payload(payload: bytes) -> _Payload:
    try:
        read = _read(payload)
        if read.data is not UNSET:
            msgspec.json.decode(read.data)  # a Raw is only skimmed
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        raise DecodingError("", f"the payload is no envelope: {explained(exc)}") from exc
    if (why := fault(payload, MAX_DEPTH + 1)) is not None:
        raise DecodingError("", f"the payload is no envelope: {why}")
    return read
