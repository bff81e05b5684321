"""Rows on their way to the disk (spec/journal.md, section 7).

One thread, the caller's, notes rows; they are loose until there are some of them, and then go to a page
together. The writer's thread takes pages: full ones and, when rows have waited for long enough, the one at
hand with what is loose. It does that also while the caller's thread is busy with something else for long.
"""

import threading
from collections import deque
from io import BytesIO
from typing import Any, Final

from framehub.journal.brief import BRIEF_BYTES, BRIEF_VALUES, LOOSE_ROWS, PACKS
from framehub.journal.labels import TEXT_BYTES, Labels
from framehub.journal.page import Page
from framehub.journal.record import Row
from framehub.journal.settings import WriterSettings

PAGE_ROWS: Final = 2_048
"""Rows that fill a page."""
LIGHT_BYTES: Final = 2_048
"""Only frames of up to so many bytes are brief; of longer ones each is weighed."""
_KEPT, _KEPT_BYTES = 3, 8 << 20
"""Memory that is kept to be used again: so many pieces, each of at most so many bytes."""


class Gathering:
    """Rows that are not written yet."""

    def __init__(self, settings: WriterSettings, last_seq: int) -> None:
        self.light = min(LIGHT_BYTES, settings.frame_limit)
        """Bytes of a frame that may be brief."""
        self.look_at = 1
        """With so many loose rows there is something to do for ``attend``: the writer's thread may sleep."""
        quarter = max(1, settings.backlog_bytes // 4)
        most = min(settings.gather_bytes, quarter) // BRIEF_BYTES
        self.full_at = max(1, min(PAGE_ROWS, most)) * BRIEF_BYTES
        """With so many bytes of brief rows a page is full."""
        self.pages: deque[Page] = deque()
        """Full ones."""
        self.labels = Labels()
        """Those of rows from now on. Only the caller's thread adds to them or begins others."""
        self.page = Page(self.labels)
        """The one at hand."""
        # Loose rows. First the numbers, then the frame: as many as there are frames are whole.
        self.numbers: list[Any] = []
        """``BRIEF_VALUES`` for each, in the order of ``brief.PACKS``."""
        self.frames: list[bytes] = []
        self._turning = threading.Lock()
        self._memory: list[BytesIO] = []  # of pages that were written
        self._most_bytes = min(settings.gather_bytes, settings.block_limit // 2, quarter)
        self._taken_rows = last_seq
        self._taken_bytes = 0  # of all pages ever filled
        self._written_bytes = 0  # only the writer's thread adds

    # The caller's thread.

    def note(self, now: float, exchange: tuple[int, int], label: int, raw: bytes | memoryview) -> bool:
        """Add a brief row; ``exchange`` in two halves. Whether there is something to do."""
        self.numbers += (now, *exchange, len(raw), label)
        self.frames.append(raw if type(raw) is bytes else bytes(raw))
        return len(self.frames) >= self.look_at

    def add(self, row: Row) -> tuple[int, bool]:
        """Add a whole row: its number, and whether there is something to do."""
        raw = row.raw
        with self._turning:
            self._settle_all()
            if raw is not None and self.page.frames.tell() + len(raw) > self._most_bytes:
                self._turn()
            self.page.add(row)
            seq = self._taken_rows + self.page.rows
        return seq, self.look_at <= 1 or self._is_full(self.page)

    def turn_if_full(self) -> bool:
        """Put loose rows on the page, and begin another if it is full; whether it was."""
        with self._turning:
            self._settle_all()
            if not self._is_full(self.page):
                return False
            if self.labels.is_full:
                self.labels.retire()
                self.labels = Labels()
            self._turn()
        return True

    def drop(self) -> int:
        """Forget the rows of the page at hand: they never had a number. How many there were."""
        with self._turning:
            self._settle_all()
            dropped, self.page = self.page.rows, Page(self.labels)
        return dropped

    def _is_full(self, page: Page) -> bool:
        return (
            len(page.briefs) >= self.full_at
            or page.frames.tell() >= self._most_bytes
            or page.query_bytes >= TEXT_BYTES
            or self.labels.is_full
        )

    def _settle_all(self) -> None:
        """Put loose rows on the page at hand; nobody adds one meanwhile."""
        numbers, frames = self.numbers, self.frames
        if len(frames) > LOOSE_ROWS:
            self._settle()
        elif frames:
            self.page.frames.writelines(frames)
            self.page.briefs += PACKS[len(frames)](*numbers)
            numbers.clear()
            frames.clear()

    # Any thread.

    @property
    def last(self) -> int:
        """The number that the last row has, or will have."""
        with self._turning:
            return self._taken_rows + self.page.rows + len(self.frames)

    @property
    def pending(self) -> int:
        """Bytes of rows on the page at hand."""
        return self.page.bytes

    @property
    def backlog(self) -> int:
        """Bytes of everything on a page that is not written yet."""
        return self._taken_bytes - self._written_bytes + self.page.bytes

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self.pages and not self.page.briefs and not self.frames

    # The writer's thread.

    def turn(self) -> None:
        """The page at hand, too, is to be written."""
        with self._turning:
            self._settle()
            self._turn()

    def written(self, pages: list[Page]) -> None:
        """They are durable."""
        for page in pages:
            self._written_bytes += page.reckoned
            if len(self._memory) < _KEPT and page.frames.tell() < _KEPT_BYTES:
                page.frames.seek(0)
                self._memory.append(page.frames)

    def _settle(self) -> None:
        """The same, while others may come."""
        frames, numbers, page = self.frames, self.numbers, self.page
        while count := min(len(frames), LOOSE_ROWS):
            values = count * BRIEF_VALUES
            page.frames.writelines(frames[:count])
            page.briefs += PACKS[count](*numbers[:values])
            del frames[:count], numbers[:values]

    def _turn(self) -> None:
        page, self.page = self.page, Page(self.labels, self._memory.pop() if self._memory else None)
        if page.briefs:
            self._taken_rows += page.rows
            page.reckoned = page.bytes
            self._taken_bytes += page.reckoned
            self.pages.append(page)
