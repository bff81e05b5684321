"""Whether a message that has begun to come goes on coming: a peer that drips bytes is not waited for."""

import asyncio
from collections.abc import Callable
from typing import Final

from framehub.runtime.share import Share

SLOWEST: Final = 16 * 1024
"""Bytes in a second that a peer has to send once it has begun a message, after some patience."""

GOODBYE: Final = 8
"""The opcode of a WebSocket's close frame."""
LONGEST_CONTROL: Final = 125
"""Bytes of its payload: what declares more is refused."""


class Progress:
    """Watches one link; ``too_slow`` is called when a message takes too long."""

    def __init__(self, patience: float, too_slow: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._patience = patience
        self._too_slow = too_slow
        self._since: float | None = None
        self._bytes = 0
        self._held = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def unfinished(self) -> bool:
        """Whether a message has begun and is not whole."""
        return self._since is not None

    def read(self, size: int, *, completed: bool, unfinished: bool) -> None:
        """Some bytes came: they ``completed`` a message or not, and they left one ``unfinished`` or not."""
        if completed:
            self._since, self._bytes = None, 0
        if not unfinished:
            return
        self._bytes += size
        if self._since is None:
            self._since = self._loop.time()
            self._set()

    def hold(self) -> None:
        """We do not read for a while ourselves: no time passes until ``forgive``."""
        self._held = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def forgive(self) -> None:
        """We did not read for a while ourselves: the time begins anew."""
        self._held = False
        if self._since is not None:
            self._since = self._loop.time()
            self._set()

    def stop(self) -> None:
        """Watch no longer."""
        self._since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self) -> None:
        if self._timer is None and not self._held:
            self._timer = self._loop.call_later(self._patience, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + self._patience + self._bytes / SLOWEST - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._too_slow()


class Watched(asyncio.BufferedProtocol):
    """Stands before the protocol that parses, and tells how much came.

    A parser that makes its buffer larger whenever it was filled would take as much memory as the kernel has
    bytes for it. So it is filled in pieces (``Share``), and it grows for large frames only.

    picows parses one frame ahead, and when that one is broken it says so in place of what the frame before it
    has to say. Nothing after a goodbye matters: a goodbye that begins a read is parsed alone.
    """

    def __init__(
        self,
        parser: asyncio.BufferedProtocol,
        share: Share,
        came: Callable[[int], None],
        is_between: Callable[[], bool],
    ) -> None:
        """``came`` is told of all bytes that were parsed; ``is_between``: whether the next begins a frame."""
        self.deaf = False
        """Whether what comes is thrown away: nothing that was refused is worth its memory."""
        self.eof_received = parser.eof_received  # type: ignore[method-assign]
        self.connection_lost = parser.connection_lost  # type: ignore[method-assign]
        self.pause_writing = parser.pause_writing  # type: ignore[method-assign]
        self.resume_writing = parser.resume_writing  # type: ignore[method-assign]
        self._room = parser.get_buffer
        self._parse = parser.buffer_updated
        self._share = share
        self._came = came
        self._is_between = is_between

    def get_buffer(self, sizehint: int) -> memoryview:
        """Some room."""
        return memoryview(self._room(sizehint))[: self._share.piece]

    def buffer_updated(self, nbytes: int) -> None:
        """Parse, then tell."""
        if not self.deaf:
            came = memoryview(self._room(-1))
            if came[0] & 15 == GOODBYE and self._is_between():
                nbytes = _goodbye(came[:nbytes])
            self._parse(nbytes)
            self._came(nbytes)


def _goodbye(came: memoryview) -> int:
    """How many of these bytes are the close frame that they begin with, as far as it has come."""
    if len(came) < 2 or came[1] & 127 > LONGEST_CONTROL:
        return len(came)
    mask = 4 if came[1] & 128 else 0
    return min(len(came), 2 + mask + (came[1] & 127))
