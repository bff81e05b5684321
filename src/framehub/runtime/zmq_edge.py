"""A ZeroMQ socket in the event loop, by its file descriptor.

The descriptor tells of changes only, and every call on the socket may swallow what it had to tell. So whoever
is woken takes all there is, and whoever sends looks afterwards whether something came meanwhile.
"""

import asyncio
from collections.abc import Callable

import zmq


class Edge:
    """Calls ``turn`` when there may be something to take, in the running event loop.

    ``turn`` gives whether it stopped before it found nothing left: then it has its next turn after the others
    of the loop had theirs.
    """

    def __init__(self, socket: zmq.Socket[bytes], turn: Callable[[], bool]) -> None:
        number = socket.get(zmq.FD)
        assert isinstance(number, int)
        self._number = number
        self._turn = turn
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.Handle | None = None
        self._is_watched = False
        self.resume()

    def soon(self) -> None:
        """Look in the next pass of the loop: something was sent."""
        if self._handle is None and self._is_watched:
            self._handle = self._loop.call_soon(self._run)

    def pause(self) -> None:
        """Call ``turn`` no more; for good, if the socket is closed after this."""
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._number)
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def resume(self) -> None:
        """Go on, and look what came meanwhile."""
        if not self._is_watched:
            self._is_watched = True
            self._loop.add_reader(self._number, self._wake)
            self.soon()

    def _wake(self) -> None:
        if self._handle is None:  # or else it is about to run anyway
            self._run()

    def _run(self) -> None:
        self._handle = None
        again = True
        try:
            again = self._turn()
        finally:  # what a turn raises is the loop's to report; what is left to take is ours
            if again:
                self.soon()
