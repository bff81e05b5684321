"""What may be said only once the rows before it are durable (spec/journal.md, section 7.6)."""

import asyncio
from collections import deque
from collections.abc import Callable

from framehub.errors import JournalError
from framehub.journal.writer import JournalWriter


class Promises:
    """Calls that wait for the journal, in their order; after it has failed none is made any more."""

    def __init__(self, writer: JournalWriter) -> None:
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._is_armed = False

    @property
    def waiting(self) -> int:
        """How many calls."""
        return len(self._waiting)

    def when_durable(self, call: Callable[[], None]) -> None:
        """Call, on the event loop, when all rows appended so far are durable."""
        if self._writer.failed is None:
            self._waiting.append((self._writer.appended, call))
            if not self._is_armed:
                self._arm()

    def _arm(self) -> None:
        self._is_armed = True
        self._writer.add_waiter(self._waiting[0][0], self._tell)

    def _tell(self, error: JournalError | None) -> None:
        self._loop.call_soon_threadsafe(self._durable, error)

    def _durable(self, error: JournalError | None) -> None:
        self._is_armed = False
        if error is not None:
            self._waiting.clear()
        durable = self._writer.durable
        while self._waiting and self._waiting[0][0] <= durable:
            self._waiting.popleft()[1]()
        if self._waiting:
            self._arm()
