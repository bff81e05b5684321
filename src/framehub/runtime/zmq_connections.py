"""The connections of a listening ZeroMQ socket: who has been heard, and how much each has sent.

A router gives messages only. Two things need the connections behind them:

- A router ignores a connection for good whose identity belongs to another one when it is made, even if that
  one ends a moment later: after a long stall, or when a machine vanished, a peer that connects again can be
  deaf for ever. So when a connection ends, those that were never heard are ended too: ZeroMQ connects them
  again, and by then the identity is free.
- How many bytes of each connection wait in ZeroMQ: what came (TCP_INFO) less what was taken.
"""

import os
import socket
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

MOST_ENDED: Final = 32
"""Connections ended at a time for being unheard. Those that only listen connect again: that costs little."""
_RECEIVED: Final = struct.Struct("Q")
_RECEIVED_AT: Final = 128
"""Where tcp_info has tcpi_bytes_received."""
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: whoever closes it does not wait for the other end."""


class Connection:
    """One connection, from when it is accepted."""

    __slots__ = (
        "address",
        "counted_from",
        "inode",
        "is_cut",
        "is_heard",
        "number",
        "since",
        "taken",
        "unexplained",
    )

    def __init__(self, number: int, inode: int, now: float) -> None:
        self.number = number
        """Its file descriptor, which is another's once it has ended."""
        self.inode = inode
        """Which socket it is: no other one has this number at the same time."""
        self.address: object = None
        """Of the other end, once we ended it."""
        self.since = now
        """When it was accepted."""
        self.is_heard = False
        """Whether a message of it was taken."""
        self.is_cut = False
        """Whether we ended it."""
        self.taken = 0
        """Bytes of its messages taken, since whoever counts them looked."""
        self.counted_from: int | None = None
        """Bytes it had received when counting began; for ``Watchdog``, like the next."""
        self.unexplained = 0

    def received(self) -> int | None:
        """Bytes that came so far; None if it has ended, or nobody can say."""
        with suppress(OSError, struct.error):
            # Whatever has this number by now is only looked at. To name the family spares asking for it.
            here = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, self.number)
            try:
                info = here.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            finally:
                here.detach()
            received: int = _RECEIVED.unpack_from(info, _RECEIVED_AT)[0]
            return received
        return None

    def cut(self) -> bool:
        """End it; whether it was there to be ended."""
        with suppress(OSError):
            other = os.dup(self.number)  # so that nobody closes it under us
            found = os.fstat(other)
            if stat.S_ISSOCK(found.st_mode) and found.st_ino == self.inode:
                with socket.socket(fileno=other) as here:
                    self.address = here.getpeername()
                    here.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    here.shutdown(socket.SHUT_RDWR)
                self.is_cut = True
                return True
            os.close(other)
        return False


class Connections:
    """All of one socket. Events come in the order in which they happened."""

    def __init__(self, handshake: float) -> None:
        """``handshake`` is how many seconds it may take: a connection that is older has an identity."""
        self._handshake = handshake
        self.is_behind = False
        """Whether messages may wait to be taken."""
        self.was_empty = True
        """Whether none waited at some time since somebody set this to false."""
        self._open: dict[int, Connection] = {}
        self._ended: set[int] = set()  # descriptors of which messages may still come that were another's
        self._just_ended: set[int] = set()  # those that ended since messages were taken last

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def accepted(self, number: int, now: float) -> None:
        """A connection was made."""
        with suppress(OSError):  # it has ended already
            self._open[number] = Connection(number, os.fstat(number).st_ino, now)

    def ended(self, number: int, now: float) -> bool:
        """It is gone; whether another one may have been ignored for its identity."""
        connection = self._open.pop(number, None)
        self._just_ended.add(number)
        if connection is None or connection.is_cut:
            return False
        return connection.is_heard or now - connection.since > self._handshake

    def took(self, sizes: Mapping[int, int], *, is_empty: bool) -> None:
        """So many bytes were taken of each, and perhaps there are no more."""
        for number, size in sizes.items():
            connection = self._open.get(number)
            if connection is not None and number not in self._ended and number not in self._just_ended:
                connection.is_heard = True
                connection.taken += size
        self.is_behind = not is_empty
        if is_empty:
            self.was_empty = True
            self._ended.clear()
        if self._just_ended:
            self._ended |= self._just_ended
            self._just_ended.clear()

    def end_unheard(self, before: float) -> bool:
        """End some of those that were accepted by then and never heard; whether more are to be ended."""
        due = [
            each
            for each in self._open.values()
            if each.since <= before and not each.is_heard and not each.is_cut
        ]
        due.sort(key=lambda each: -(each.received() or 0))  # those first that said something
        for each in due[:MOST_ENDED]:
            each.cut()
        return len(due) > MOST_ENDED
