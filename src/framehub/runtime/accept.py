"""Takes connections as they come, and bounds those that have not opened yet.

Whoever connects and then says nothing costs a file descriptor. So each connection has some seconds to open,
and only so many may be opening at once. When there is one too many, the oldest of them goes: an honest client
opens within a round trip, so it gets in at once, also while somebody holds all the places.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from framehub.runtime.quiet import QuietLog
from framehub.runtime.sockets import Bound

OPENING_SECONDS: Final = 5.0
MOST_OPENING: Final = 256
ACCEPTED_IN_A_TURN: Final = 32
"""Far fewer than may be opening: each has some turns to open before those behind it can push it out."""
BREATH_SECONDS: Final = 0.5
"""How long to wait when nothing can be accepted."""


class Arrival:
    """One accepted connection on its way to being open."""

    def __init__(self, connection: socket.socket, acceptor: "Acceptor", address: str = "") -> None:
        self.socket = connection
        self.address = address
        """Of the other side; nothing for a Unix socket."""
        self.is_open = False
        self.is_refused = False
        """Whether it was told why it cannot open."""
        self.is_head = False
        """Whether it asked by HTTP for headers only."""
        self.page_bytes = 0
        """Of a page that it was answered with."""
        self.is_taken = False
        """Whether a transport owns the socket: it is the one to close it then."""
        self._acceptor = acceptor

    def asks_for_head(self) -> None:
        """It wants the headers of a page, and not the page."""
        self.is_head = True

    def opened(self) -> None:
        """It counts no longer."""
        self.is_open = True
        self._acceptor.opened(self)


class Acceptor:
    """Accepts on listening sockets of its own; ``welcome`` opens a connection and calls ``opened`` of it."""

    def __init__(
        self,
        bound: Bound,
        welcome: Callable[[Arrival], Awaitable[None]],
        quiet: QuietLog,
        *,
        most: int = MOST_OPENING,
        seconds: float = OPENING_SECONDS,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._bound: Bound | None = bound
        self._welcome = welcome
        self._quiet = quiet
        self._most = most
        self._seconds = seconds
        self._opening: dict[Arrival, asyncio.Task[None]] = {}  # the oldest first
        self._tasks: set[asyncio.Task[None]] = set()
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}
        for listening in bound.sockets:
            self._loop.add_reader(listening, self._accept, listening)

    @property
    def opening(self) -> int:
        """Connections that are not open yet."""
        return len(self._opening)

    def opened(self, arrival: Arrival) -> None:
        """This one is open."""
        self._opening.pop(arrival, None)

    def stop(self) -> None:
        """Accept nothing more; those that are opening may go on."""
        if self._bound is None:
            return
        for listening in self._bound.sockets:
            self._loop.remove_reader(listening)
        self._bound.release()
        self._bound = None
        for timer in self._pauses.values():
            timer.cancel()
        self._pauses.clear()

    async def close(self) -> None:
        """Cut off whoever is still opening."""
        self.stop()
        for task in list(self._opening.values()):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- inside ----------------------------------------------------------------------------------------

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_IN_A_TURN):
            try:
                connection, other = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as exc:
                # Most often there are no file descriptors left: those who have one keep it.
                self._quiet.count(f"cannot be accepted yet: {exc.strerror}", logging.WARNING)
                self._loop.remove_reader(listening)
                self._pauses[listening] = self._loop.call_later(BREATH_SECONDS, self._again, listening)
                return
            connection.setblocking(False)
            self._begin(connection, other[0] if isinstance(other, tuple) else "")

    def _again(self, listening: socket.socket) -> None:
        del self._pauses[listening]
        self._loop.add_reader(listening, self._accept, listening)

    def _begin(self, connection: socket.socket, address: str) -> None:
        if len(self._opening) >= self._most:
            oldest = next(iter(self._opening))
            self._opening.pop(oldest).cancel()
            self._quiet.count(f"dropped, over {self._most} were opening", logging.WARNING)
        arrival = Arrival(connection, self, address)
        task = self._loop.create_task(self._open(arrival))
        self._opening[arrival] = task
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._ended(arrival, task))

    async def _open(self, arrival: Arrival) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                arrival.is_taken = True
                await self._welcome(arrival)
        except TimeoutError:
            if not arrival.is_open:
                self._quiet.count(f"not open after {self._seconds:g} s")
        except OSError:  # TLS that fails is one too
            self._quiet.count("failed while opening")

    def _ended(self, arrival: Arrival, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._opening.pop(arrival, None)
        if not arrival.is_open:
            _cut(arrival)
        if not task.cancelled() and (error := task.exception()) is not None:
            logging.getLogger("framehub.accept").error("a connection could not be opened", exc_info=error)


def _cut(arrival: Arrival) -> None:
    """End a connection whose transport, if there is one, we may not have: it sees the end and closes."""
    with contextlib.suppress(OSError):  # it may be gone already
        arrival.socket.shutdown(socket.SHUT_RDWR)
    if not arrival.is_taken:
        arrival.socket.close()
