"""The bytes that a recorded binary frame of MFP carries (spec/mfp.md, sections 3 and 6). Pure.

    head:1 id:4 ref:4 key:4 data [sum]

There is no size field: data runs to the end of the frame, or to its checksum. Whether there is one, the head
says; CRC-32 or XOR8 was agreed on when the connection opened, and is written nowhere. The message that opened
the exchange tells it, if it has a checksum too: all its other parts have sizes. Else the frame itself does.
"""

from typing import Final

from framehub.mfp.checksum import ALGORITHMS, Buffer, crc32_number
from framehub.mfp.layout import CHECKSUM, MAP, PAYLOAD, SET

HEAD_BYTES: Final = 13
_CRC32, _XOR8 = ALGORITHMS["crc32"][0], ALGORITHMS["xor8"][0]


def sum_of_opening(head: int, size: int, payload_bytes: int | None, files: int | None) -> int | None:
    """Bytes of the checksum of a message that announces files or opens a stream; None if it has none."""
    if not head & CHECKSUM:
        return None
    table = 4 + 4 * (files or 0) if head & MAP == SET else 0
    left = size - (5 + (4 if head & PAYLOAD else 0) + (payload_bytes or 0) + table)
    return left if left in (_CRC32, _XOR8) else None


def data_end(head: int, size: int, raw: Buffer | None, opening: int | None) -> int:
    """Where the data ends in a binary frame of this size.

    ``opening`` is what ``sum_of_opening`` gave. Without it, and without the frame, CRC-32 is taken for
    granted: it is the default.
    """
    if not head & CHECKSUM:
        return size
    if opening is None:
        opening = _CRC32 if raw is None or _ends_with_crc32(memoryview(raw)) else _XOR8
    return max(HEAD_BYTES, size - opening)


def _ends_with_crc32(raw: memoryview) -> bool:
    return crc32_number(raw[:-_CRC32]) == int.from_bytes(raw[-_CRC32:], "big")
