"""Ends connections that fill the memory with what nobody can take yet.

ZeroMQ keeps the parts of a message until its last one is there, however many come, and shows nobody that it
does: a peer that always says "more follows" fills the memory unseen. A part of one byte has three bytes on
the wire and takes 64. And it keeps all messages that were not taken, because a limit to them could end the
process (``zmq_setup.Options.queue``). What can be seen is how much memory this process has, and how much each
connection received and was taken of it. When there is more memory than all that explains, whoever sent much
and finished nothing meanwhile is cut off; when messages wait and take too much, whoever sent most of them.
That may hit an honest peer in the middle of a large message; it connects and sends again.
"""

import ctypes
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Final

from framehub.runtime.zmq_connections import Connection, Connections
from framehub.runtime.zmq_setup import Options

log = logging.getLogger("framehub.rpc")

CUT_OFF: Final = "cut off for filling the memory"
"""How both owners count such ends."""
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
_MEMORY: Final = Path("/proc/self/statm")


class Watchdog:
    """``look`` several times a second."""

    def __init__(
        self, sockets: Iterable[Connections | None], held: Callable[[], int], options: Options | None = None
    ) -> None:
        """Watches the connections of sockets of this process.

        ``held`` says how many bytes of messages are kept with good reason.
        """
        self.cut_off = 0
        """Connections ended."""
        options = options or Options()
        self._sockets = [each for each in sockets if each is not None]
        self._most = 2 * options.max_message_bytes
        self._most_queued = options.max_queued_bytes
        self._held = held
        self._least = resident() or sys.maxsize
        self.is_watching = False
        """Whether there is so much memory that connections are looked at."""
        self._unexplained = 0
        self._behind_since: int | None = None
        """The memory when messages began to wait, without what is held."""
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
            self.is_watching = False
            self._behind_since = None
        elif not self.is_watching or now >= self._scan_at:
            self._scan(memory, now)

    def _scan(self, memory: int, now: float) -> None:
        """Compare with what was before; at the first time all are taken as they are."""
        began = perf_counter()
        first, self.is_watching = not self.is_watching, True
        self._see_if_behind(memory)
        open_: dict[Connection, int] = {}  # those that finished nothing since the last time
        waiting: dict[Connection, int] = {}  # those of sockets that were not emptied since then
        anew: list[Connection] = []  # those of which nothing waits
        for place in self._sockets:
            was_empty, place.was_empty = place.was_empty or not place.is_behind, not place.is_behind
            for connection in place:
                taken, received = connection.taken, connection.received()
                connection.taken = 0
                if connection.is_cut or received is None:
                    continue
                size = self._size(connection, received, taken, is_done=first or bool(taken and was_empty))
                if first or (taken and was_empty):
                    anew.append(connection)
                if not was_empty:
                    waiting[connection] = size
                elif not taken:
                    open_[connection] = size
        self._scan_at = now + (perf_counter() - began) / _SHARE
        explained = self._held() + sum(open_.values()) + sum(waiting.values())
        suspects = self._endless(open_, memory - explained)
        if suspects or self._is_too_much(
            memory
        ):  # perhaps the memory is free already, and only not given back
            trim()
            left = resident()
            if left is None:
                return
            memory = left
            for connection in self._endless(open_, memory - explained):
                self._cut(connection, open_[connection], now, "no end of the message")
            if sum(waiting.values()) * _PER_BYTE > self._most_queued and self._is_too_much(memory):
                most = max(waiting, key=waiting.__getitem__)
                self._cut(most, waiting[most], now, "more than we can take")
                self._behind_since = memory - self._held()
        unexplained = self._unexplained = memory - explained
        for connection in open_:
            connection.unexplained = min(connection.unexplained, unexplained)
        for connection in anew:
            connection.unexplained = unexplained

    def _size(self, connection: Connection, received: int, taken: int, *, is_done: bool) -> int:
        """Bytes that came of it and were not taken."""
        if is_done:
            connection.counted_from = received
        elif connection.counted_from is None:
            connection.counted_from, connection.unexplained = 0, self._unexplained
        else:
            connection.counted_from = min(received, connection.counted_from + taken)
        return received - connection.counted_from

    def _see_if_behind(self, memory: int) -> None:
        if all(each.was_empty or not each.is_behind for each in self._sockets):
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = memory - self._held()

    def _is_too_much(self, memory: int) -> bool:
        """Whether messages that wait to be taken have filled too much of the memory."""
        since = self._behind_since
        return since is not None and memory - self._held() - since > self._most_queued

    def _endless(self, open_: dict[Connection, int], unexplained: int) -> Sequence[Connection]:
        """Who sent more than two messages may have, or enough for what nothing explains."""
        return [
            connection
            for connection, size in open_.items()
            if size > self._most
            or (size * _PER_BYTE > _GROWTH and unexplained - connection.unexplained > _GROWTH)
        ]

    def _cut(self, connection: Connection, size: int, now: float, why: str) -> None:
        if connection.cut():
            self.cut_off += 1
            self._trims = [now + seconds for seconds in _TRIM_AFTER]
            log.warning("cut off %s: %d bytes, and %s", connection.address, size, why)


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
