"""What a WebSocket client has to do with every byte that it sends: copy it, and mask it (RFC 6455, 5.3)."""

import struct
from random import getrandbits
from typing import Final

MASKED_BYTES: Final = 1024
"""Messages up to this are masked here; beyond it picows does it faster."""
ROOM_FOR_HEAD: Final = 14
"""The longest head of a WebSocket message."""

_SHORT_MASKED_HEAD: Final = struct.Struct("<BBI")
_LONG_MASKED_HEAD: Final = struct.Struct("<BBBBI")
_ONES: Final = tuple(sum(1 << 32 * word for word in range(words)) for words in range(MASKED_BYTES // 4 + 1))


def copied(pieces: tuple[bytes, ...], scratch: bytearray) -> bytearray:
    """All pieces behind the room for a head, in ``scratch`` if that has the size: streams send many alike."""
    size = ROOM_FOR_HEAD + sum(map(len, pieces))
    buffer = scratch if len(scratch) == size else bytearray(size)
    at = ROOM_FOR_HEAD
    with memoryview(buffer) as view:
        for piece in pieces:
            view[at : at + len(piece)] = piece
            at += len(piece)
    return buffer


def masked(data: bytes) -> bytes:
    """A client's binary message of up to ``MASKED_BYTES``, masked: for small ones big numbers are fast."""
    size = len(data)
    words = (size + 3) >> 2
    key = getrandbits(32)
    masked = int.from_bytes(data, "little") ^ key * _ONES[words]
    if size < 126:
        head = _SHORT_MASKED_HEAD.pack(0x82, 0x80 | size, key)
    else:
        head = _LONG_MASKED_HEAD.pack(0x82, 0xFE, size >> 8, size & 0xFF, key)
    return head + masked.to_bytes(words << 2, "little")[:size]
