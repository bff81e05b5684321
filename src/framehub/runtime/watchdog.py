"""Ends connections whose messages never end.

ZeroMQ keeps the parts of a message until its last one is there, however many come, and shows nobody that it
does: a peer that always says "more follows" fills the memory unseen. A part of one byte has three bytes on
the wire and takes 64. What can be seen is how much memory this process has, how many bytes each connection
received (TCP_INFO), and who finished a message (ZMQ_SRCFD). When there is more memory than all that explains,
whoever sent much and finished nothing meanwhile is cut off. That may hit an honest peer in the middle of a
large message; it connects and sends again.
"""

import ctypes
import logging
import os
import socket
import stat
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Final, TypeAlias

from framehub.runtime.zmq_setup import Options

log = logging.getLogger("framehub.rpc")

LOOK: Final = 0.05
"""Seconds between two looks at the memory; a peer can send some MiB in that time."""
ROOM: Final = 64 * 1024 * 1024
"""So far the memory may grow above the least it ever was before anybody is watched."""
_GROWTH: Final = ROOM // 2
"""What it may grow, unexplained, while a peer finishes nothing."""
_PER_BYTE: Final = 64 / 3
_SHARE: Final = 0.05
"""How much of the time may be spent on looking at connections."""
_TRIM_AFTER: Final = (0.1, 0.3, 1.0)
"""Seconds after a cut at which memory is given back: ZeroMQ needs a moment to drop what it had."""
_RECEIVED: Final = struct.Struct("Q")
_RECEIVED_AT: Final = 128
"""Where tcp_info has tcpi_bytes_received."""
_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: whoever closes it does not wait for the other end."""
_MEMORY: Final = Path("/proc/self/statm")
_OPEN: Final = Path("/proc/self/fd")

Place: TypeAlias = tuple[int, object]
"""A connection: its file descriptor, and the address at its other end."""
Mark: TypeAlias = tuple[int, int]
"""When it last finished a message: bytes received, and the least memory since then that nothing explained."""


class Watchdog:
    """``look`` several times a second. ``finishers`` is for whoever takes messages to fill in."""

    def __init__(
        self, addresses: Iterable[str], held: Callable[[], int], options: Options | None = None
    ) -> None:
        """Watches connections of sockets of this process that listen at these TCP addresses.

        ``held`` says how many bytes of messages are kept with good reason.
        """
        self.finishers: set[int] | None = None
        """File descriptors of connections that finished a message since the last scan; None: not wanted."""
        self.cut_off = 0
        """Connections ended."""
        ports = [address.rpartition(":")[2] for address in addresses]
        self._ports = frozenset(int(port) for port in ports if port.isdecimal())
        self._most = 2 * (options or Options()).max_message_bytes
        self._held = held
        self._least = resident() or sys.maxsize
        self._marks: dict[Place, Mark] = {}
        self._unexplained = 0
        self._scan_at = 0.0
        self._trims: list[float] = []

    def look(self, now: float) -> None:
        """See how much memory there is, and who is to blame if it is much."""
        while self._trims and now >= self._trims[0]:
            self._trims.pop(0)
            threading.Thread(target=trim, name="framehub-trim", daemon=True).start()  # it takes a while
        memory = resident()
        if memory is None:  # no descriptor to be had now
            return
        self._least = min(self._least, memory)
        if memory <= self._least + ROOM:
            self.finishers = None
            self._marks.clear()
        elif self.finishers is None or now >= self._scan_at:
            with suppress(OSError):  # no descriptor to be had now
                self._scan(memory, now)

    def _scan(self, memory: int, now: float) -> None:
        """Compare with what was before; at the first time all are taken as they are."""
        began = perf_counter()
        received = dict(connections(self._ports))
        first = self.finishers is None
        finishers = self.finishers = set() if self.finishers is None else self.finishers
        self._scan_at = now + (perf_counter() - began) / _SHARE
        done = [place for place in received if first or place[0] in finishers]
        marks = {place: self._marks.get(place, (0, self._unexplained)) for place in received}
        for place in done:
            del marks[place]
        open_ = {place: received[place] - mark[0] for place, mark in marks.items()}
        explained = self._held() + sum(open_.values())
        suspects = self._endless(open_, marks, memory - explained)
        if suspects:  # perhaps the memory is free already, and only not given back
            trim()
            left = resident()
            if left is None:
                return
            memory = left
            for place in self._endless(open_, marks, memory - explained):
                self._cut(place, open_[place], now)
                done.append(place)
        unexplained = self._unexplained = memory - explained
        self._marks = {place: (mark[0], min(mark[1], unexplained)) for place, mark in marks.items()}
        self._marks.update({place: (received[place], unexplained) for place in done})
        finishers.clear()

    def _endless(self, open_: dict[Place, int], marks: dict[Place, Mark], unexplained: int) -> list[Place]:
        """Who sent more than two messages may have, or enough for what nothing explains."""
        return [
            place
            for place, size in open_.items()
            if size > self._most or (size * _PER_BYTE > _GROWTH and unexplained - marks[place][1] > _GROWTH)
        ]

    def _cut(self, place: Place, size: int, now: float) -> None:
        connection = copy(place[0])
        if connection is None:
            return
        with connection, suppress(OSError):  # it is gone already
            if connection.getpeername() == place[1]:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                connection.shutdown(socket.SHUT_RDWR)
                self.cut_off += 1
                self._trims = [now + seconds for seconds in _TRIM_AFTER]
                log.warning("cut off %s: %d bytes, and no end of the message", place[1], size)


def trim() -> None:
    """Give freed memory back to the system, where the C library can."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> int | None:
    """Bytes of memory that this process has; None where nobody can say."""
    try:
        return int(_MEMORY.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def connections(ports: frozenset[int]) -> Iterator[tuple[Place, int]]:
    """Every connection of sockets that listen there, and how many bytes it received.

    There may be thousands, and others wait meanwhile: a descriptor is only looked at, under its own number.
    Whatever it belongs to by then, that does no harm.

    Raises:
        OSError: there is no descriptor to be had.
    """
    for name in os.listdir(_OPEN):  # noqa: PTH208, a path for each takes longer
        number = int(name)
        try:  # whatever its family is: to name it spares asking
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, number)
        except OSError:  # no socket, or just gone
            continue
        try:
            own = connection.getsockname()
            if isinstance(own, tuple) and own[1] in ports:
                other = connection.getpeername()
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                yield (number, other), _RECEIVED.unpack_from(info, _RECEIVED_AT)[0]
        except (OSError, struct.error):  # the listener itself, or just gone
            pass
        finally:
            connection.detach()


def copy(number: int) -> socket.socket | None:
    """The socket of this file descriptor under another, so that nobody closes it under us."""
    with suppress(OSError):  # it was closed meanwhile
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            other = os.dup(number)
            try:
                return socket.socket(fileno=other)
            except OSError:
                os.close(other)
    return None
