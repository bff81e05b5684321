"""Rows on their way to the disk (spec/journal.md, section 7).

One thread, the caller's, adds rows, the most frequent ones by ``notes``. The writer's thread takes pages:
full ones and, when rows have waited for long enough, the one at hand. It does that also while the caller's
thread is busy with something else for long.
"""

import threading
from collections import deque
from typing import Final

from framehub.journal.brief import BRIEF_BYTES
from framehub.journal.labels import Labels
from framehub.journal.notes import QUICKEST, Notes
from framehub.journal.page import Memory, Page
from framehub.journal.record import Row
from framehub.journal.settings import WriterSettings

PAGE_ROWS: Final = 2_048
"""Rows that fill a page."""
LIGHT_BYTES: Final = 2_048
"""Only frames of up to so many bytes are brief; of longer ones each is weighed."""
_KEPT, _KEPT_AT_REST, _KEPT_BYTES = 16, 2, 2 << 20
"""Memory is used again, for new memory is dear: so many pieces are kept, each of at most so many bytes."""


class Gathering:
    """Rows that are not written yet."""

    def __init__(self, settings: WriterSettings, last_seq: int, *, kind: type[Notes] = QUICKEST) -> None:
        """``kind`` is how brief rows are noted."""
        quarter = max(1, settings.backlog_bytes // 4)
        self._most_bytes = min(settings.gather_bytes, settings.block_limit // 2, quarter)
        rows = min(PAGE_ROWS, min(settings.gather_bytes, quarter) // BRIEF_BYTES)
        self._full_at = max(1, rows) * BRIEF_BYTES, self._most_bytes
        self._turning = threading.Lock()
        self.notes = kind(min(LIGHT_BYTES, settings.frame_limit), self._full_at, self._turning)
        """Where brief rows are added."""
        self.pages: deque[Page] = deque()
        """Full ones."""
        self._memory: list[tuple[Memory, Memory]] = []  # of pages that were written
        self._labels = Labels()  # of rows from now on
        self.page = self._another()
        """The one at hand."""
        self._taken_rows = last_seq
        self._taken_bytes = 0  # of all pages ever filled
        self._written_bytes = 0  # only the writer's thread adds

    # The caller's thread.

    def add(self, row: Row) -> tuple[int, bool]:
        """Add a whole row: its number, and whether there is something to do."""
        raw = row.raw
        with self._turning:
            if raw is not None and self.page.frames.tell() + len(raw) > self._most_bytes:
                self._turn()
            self.page.add(row)
            seq = self._taken_rows + self.page.rows
        return seq, self.notes.every_row or bool(self.pages) or self.page.is_full(*self._full_at)

    def turn_if_full(self) -> bool:
        """Begin another page if the one at hand is full; whether it was."""
        with self._turning:
            if not self.page.is_full(*self._full_at):
                return False
            self._turn()
        return True

    def attend(self) -> bool:
        """Do what ``notes`` ask for; whether the writer's thread is to be woken now."""
        self.turn_if_full()
        if not self.notes.every_row and not self.pages:
            return False
        # First this, then the thread: when it goes to sleep, it wishes to be woken by the next row.
        self.notes.every_row = False
        return True

    def drop(self) -> int:
        """Forget the rows of the page at hand. How many there were."""
        with self._turning:
            dropped, self.page = self.page.rows, self._another()
        return dropped

    # Any thread.

    @property
    def last(self) -> int:
        """The number that the last row has, or will have."""
        with self._turning:
            return self._taken_rows + self.page.rows

    @property
    def pending(self) -> int:
        """Bytes of rows on the page at hand."""
        return self.page.bytes

    @property
    def backlog(self) -> int:
        """Bytes of everything that is not written yet."""
        return self._taken_bytes - self._written_bytes + self.page.bytes

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self.pages and not self.page.rows

    # The writer's thread.

    def turn(self) -> None:
        """The page at hand, too, is to be written."""
        with self._turning:
            self._turn()

    def written(self, pages: list[Page]) -> None:
        """They are durable."""
        for page in pages:
            self._written_bytes += page.reckoned
            if len(self._memory) < _KEPT and page.frames.tell() < _KEPT_BYTES:
                page.briefs.seek(0)
                page.frames.seek(0)
                self._memory.append((page.briefs, page.frames))

    def rest(self) -> None:
        """Nothing is to be written for a while: most memory is not needed meanwhile."""
        with self._turning:
            del self._memory[_KEPT_AT_REST:]

    def _turn(self) -> None:
        page, self.page = self.page, self._another()
        if page.rows:
            self._taken_rows += page.rows
            page.reckoned = page.bytes
            self._taken_bytes += page.reckoned
            self.pages.append(page)

    def _another(self) -> Page:
        """A page for rows from now on: no more of them come to the one before."""
        if self._labels.is_full:
            self._labels = Labels()
        page = Page(self._labels, self._memory.pop() if self._memory else self.notes.memory())
        self.notes.lay(page)
        return page
