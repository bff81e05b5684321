"""What a worker's process and its children say to each other. Pure: bytes in, values out.

A query is one packet of a chute (runtime/chute.py), so that it is taken whole or not at all:

    number:8 | function:2 | apart:1 | argument        apart = 1: the argument comes on the line

All else is frames on a byte stream, the line:

    size:4 | kind:1 | number:8 | body:size

Little-endian: both ends are on one machine.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import msgspec

QUERY: Final = struct.Struct("<QHB")
FRAME: Final = struct.Struct("<IBQ")
INLINE_BYTES: Final = 96 * 1024
"""The longest argument that goes in a packet; longer ones go on the line."""
PACKET_BYTES: Final = QUERY.size + INLINE_BYTES
LEAVE: Final = 0xFFFF
"""In the place of a function: end, there is nothing more to do."""
READ_BYTES: Final = 64 * 1024
READ_MORE_BYTES: Final = 256 * 1024


class Kind(IntEnum):
    """What a frame on the line says."""

    SETUP = 0
    """To the child, first of all: where the functions are, as JSON."""
    PAYLOAD = 1
    """To the child: the argument of a query whose packet has none."""
    FORGET = 2
    """To the child: that argument is not needed; its query was taken back."""
    CANCEL = 3
    """To the child: cancel this coroutine."""
    READY = 4
    """From the child: the functions are there."""
    BROKEN = 5
    """From the child: they are not, and why."""
    RESULT = 6
    EXCEPTION = 7
    CANCELLED = 8
    """From the child: the coroutine ended by being cancelled."""
    TOLD = 9
    """From the child: the coroutine was told to end, so its event loop runs."""


class Setup(msgspec.Struct, frozen=True):
    """All that a child is told before it imports anything of the user's."""

    source: str
    names: list[tuple[str, bool]]
    """The functions by number, and whether each is a coroutine function."""
    path: list[str]
    argv: list[str]
    max_bytes: int
    """The longest result."""


class Inbox:
    """Cuts what comes on a line into frames."""

    def __init__(self) -> None:
        self._rest = b""  # less than a head
        self._head = (0, 0)
        self._pieces: list[bytes] = []
        self._missing = 0  # of the body whose pieces these are

    @property
    def read_bytes(self) -> int:
        """How much to read at once."""
        return READ_BYTES if self._missing <= READ_BYTES else READ_MORE_BYTES

    def feed(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """The kind, number and body of each frame that is whole now."""
        if self._missing:
            self._pieces.append(data[: self._missing])
            if len(data) < self._missing:
                self._missing -= len(data)
                return
            data = data[self._missing :]
            self._missing = 0
            yield *self._head, b"".join(self._pieces)
            self._pieces.clear()
        elif self._rest:
            data = self._rest + data
        at, end = 0, len(data)
        while end - at >= FRAME.size:
            size, kind, number = FRAME.unpack_from(data, at)
            at += FRAME.size
            if end - at < size:
                self._head = kind, number
                self._pieces.append(data[at:])
                self._missing = size - (end - at)
                at = end
                break
            at += size
            yield kind, number, data[at - size : at]
        self._rest = data[at:]
