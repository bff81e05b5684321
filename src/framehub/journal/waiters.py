"""Who waits for rows to be durable (spec/journal.md, section 7)."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from framehub.errors import JournalError

Waiter: TypeAlias = Callable[[JournalError | None], None]


class Waiters:
    """Callbacks by row, in the order of rows; added on one thread, called on another."""

    def __init__(self, durable: int) -> None:
        self.durable = durable
        """The last durable row."""
        self.failed: JournalError | None = None
        """Why there will be no more."""
        self._waiting: deque[tuple[int, Waiter]] = deque()
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def add(self, seq: int, callback: Waiter) -> bool:
        """Call back with None once row ``seq`` is durable, or with the error; at once if that is known.

        Whether it is the first to wait.
        """
        with self._lock:
            if seq > self.durable and self.failed is None:
                self._waiting.append((seq, callback))
                return len(self._waiting) == 1
        callback(None if seq <= self.durable else self.failed)
        return False

    def tell(self, durable: int, failed: JournalError | None = None) -> None:
        """All rows to ``durable`` are; or no more will be."""
        ready = []
        with self._lock:
            self.durable, self.failed = durable, failed
            while self._waiting and (failed is not None or self._waiting[0][0] <= durable):
                ready.append(self._waiting.popleft()[1])
        for callback in ready:
            with suppress(Exception):  # one that went away (its loop is closed) must not stop the journal
                callback(failed)


async def told(add: Callable[[Waiter], object]) -> None:
    """Wait, on an event loop, until the waiter that is added is called.

    Raises:
        JournalError: that is what it was called with.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle(error: JournalError | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(None)

    def tell(error: JournalError | None) -> None:
        loop.call_soon_threadsafe(settle, error)

    add(tell)
    await future
