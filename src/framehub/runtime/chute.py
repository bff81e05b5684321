"""A chute: queries on their way to one child process, that can be taken back until the child takes them.

A pair of sockets that keep packets apart. The child takes one packet, runs it, takes the next. We keep the
child's end open too, so that what it has not taken can be read back by us: the kernel gives each packet to
one of the two. That needs nothing of the child: it may be stuck, stopped, hold its GIL, or be dead.
"""

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from framehub.runtime.workframes import INLINE_BYTES, LEAVE, PACKET_BYTES, QUERY

_ROOM_BYTES: Final = 512 * 1024


class Chute:
    """Our side of it. Never waits."""

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._near.setblocking(False)
        self._near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM_BYTES)
        self._send = self._near.send

    @property
    def far(self) -> int:
        """The descriptor of the child's end."""
        return self._far.fileno()

    def put(self, number: int, function: int, argument: bytes) -> bool:
        """Whether there was room for it."""
        try:
            if len(argument) > INLINE_BYTES:
                self._send(QUERY.pack(number, function, 1))
            else:
                self._send(QUERY.pack(number, function, 0) + argument)
        except OSError:
            return False
        return True

    def take_back(self) -> Iterator[int]:
        """The numbers of the queries that the child has not taken, and now never will, in their order."""
        with suppress(OSError):
            while packet := self._far.recv(PACKET_BYTES, socket.MSG_DONTWAIT):
                yield QUERY.unpack_from(packet)[0]

    def say_leave(self) -> None:
        """After what is in here, the child ends."""
        with suppress(OSError):
            self._send(QUERY.pack(0, LEAVE, 0))

    def close(self) -> None:
        """What is still in here is lost."""
        self._near.close()
        self._far.close()
