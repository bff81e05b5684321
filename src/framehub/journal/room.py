"""How many bytes of rows may wait for the disk, and what becomes of rows beyond (spec/journal.md, section 7).

The caller's thread asks before it takes a row; the writer's thread tells when rows were written.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

from framehub.errors import JournalError
from framehub.journal.gathering import Gathering
from framehub.journal.settings import WriterSettings


class Room:
    """What is left of ``backlog_bytes``."""

    def __init__(
        self,
        gathering: Gathering,
        settings: WriterSettings,
        wake: threading.Event,
        on_room: Callable[[], None] | None,
    ) -> None:
        """``wake`` wakes the writer's thread, which calls ``on_room``."""
        self.refusal: JournalError | None = None
        """Why no row is taken any more."""
        self.drops = settings.overflow == "drop"
        """Whether rows are dropped where there is no room."""
        self._gathering = gathering
        self._soft = settings.backlog_bytes
        self._hard = self._soft if self.drops else 2 * self._soft
        self._wake, self._made = wake, threading.Event()
        self._on_room = on_room
        self._asked = False

    # The caller's thread.

    @property
    def is_short(self) -> bool:
        """Whether there is none but for what ignores that."""
        return self._gathering.backlog >= self._soft

    def ask(self) -> bool:
        """The same; if so ``on_room`` is called when there is."""
        if not self.is_short:
            return False
        self._asked = True  # first the wish, then another look: the thread does it the other way round
        return self.is_short

    def lacks(self, size: int) -> bool:
        """Whether so many bytes are too many; whatever its size, a row has room where no other waits."""
        backlog = self._gathering.backlog
        return self.refusal is None and backlog + size > self._hard and backlog > 0

    def drop(self) -> None:
        """A row is not taken."""
        self._gathering.notes.dropped += 1

    def drop_from_now(self) -> None:
        """No brief row is taken until there is room."""
        notes = self._gathering.notes
        notes.behind = True  # first this, then another look, as above
        if self.refusal is not None or not self.is_short:
            notes.behind = False

    def wait(self, size: int) -> None:
        """Wait for room; raises if there will be none."""
        while self.lacks(size):
            self._asked = True
            self._made.clear()
            self._wake.set()
            self._made.wait(0.05)
        if self.refusal is not None:
            raise self.refusal

    # The writer's thread.

    def look(self, *, failed: bool = False) -> None:
        """Rows were written, or none will be any more."""
        notes = self._gathering.notes
        if notes.behind and (failed or not self.is_short):
            notes.behind = False
        if failed or (self._asked and self._gathering.backlog <= self._soft // 2):
            self._asked = False
            self._made.set()
            if self._on_room is not None:
                with suppress(Exception):
                    self._on_room()
