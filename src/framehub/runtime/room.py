"""Whose turn it is to send while a link is full: first come, first served, a frame at a time."""

import asyncio
from collections import deque


class Room:
    """Room on a link. A stream that always has more to send goes to the end of the queue with each frame."""

    __slots__ = ("_calling", "_loop", "_queue", "_takes", "free")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.free = True
        """Whether a frame can go now, before nobody who waits."""
        self._takes = True
        self._queue: deque[asyncio.Future[None]] | None = None  # made when first used: most never are
        self._calling = False

    async def turn(self) -> None:
        """Wait until there is room and everybody who came earlier has had a turn."""
        if self.free:
            return
        called = self._loop.create_future()
        if self._queue is None:
            self._queue = deque()
        self._queue.append(called)
        self.free = False
        await called

    def full(self) -> None:
        """The link takes no more for now."""
        self._takes = self.free = False

    def ready(self) -> None:
        """The link takes more."""
        self._takes = True
        if not self._calling:
            self._call_next()

    def _call_next(self) -> None:
        """Call one, and the next one only after that one has sent: its frame may fill the link again."""
        self._calling = False
        while self._takes and self._queue:
            called = self._queue.popleft()
            if not called.done():  # whoever was cancelled has left
                called.set_result(None)
                self._calling = True
                self._loop.call_soon(self._call_next)
                return
        self.free = self._takes and not self._queue
