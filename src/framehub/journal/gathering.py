"""Rows on their way to the disk (spec/journal.md, section 7).

One thread, the caller's, adds rows to a page; the writer's takes pages: full ones and, when rows have waited
for long enough, the one at hand.
"""

import threading
import time
from collections import deque
from io import BytesIO
from typing import Final

from framehub.journal.brief import BRIEF_BYTES, NAMED
from framehub.journal.page import Page
from framehub.journal.record import Row
from framehub.journal.settings import WriterSettings

PAGE_ROWS: Final = 2_048
"""Rows that fill a page."""
LIGHT_BYTES: Final = 2_048
"""Only frames of up to so many bytes are brief; of longer ones each is weighed."""
_TEXT_BYTES: Final = 256 << 10
"""Texts that fill a page."""
_KEPT, _KEPT_BYTES = 3, 8 << 20
"""Memory that is kept to be used again: so many pieces, each of at most so many bytes."""


class Gathering:
    """Pages that are not written yet."""

    def __init__(self, settings: WriterSettings, last_seq: int) -> None:
        self.light = min(LIGHT_BYTES, settings.frame_limit)
        """Bytes of a frame that may be brief."""
        self.look_at = 0
        """With so many bytes of brief rows on a page there is something to do for ``attend``."""
        quarter = max(1, settings.backlog_bytes // 4)
        most = min(settings.gather_bytes, quarter) // BRIEF_BYTES
        self.full_at = max(1, min(PAGE_ROWS, most)) * BRIEF_BYTES
        """With so many a page is full."""
        self.pages: deque[Page] = deque()
        """Full ones."""
        self.page = Page()
        """The one at hand."""
        self._turning = threading.Lock()
        self._memory: list[BytesIO] = []  # of pages that were written
        self._most_bytes = min(settings.gather_bytes, settings.block_limit // 2, quarter)
        self._taken_rows = last_seq
        self._taken_bytes = 0  # of all pages ever filled
        self._written_bytes = 0  # only the writer's thread adds

    # The caller's thread.

    def enter(self) -> Page:
        """The page to add a row to; set its ``busy`` to False as soon as that is done.

        Taking a lock costs as much as all the rest of a brief row. So we say that we are busy and then look
        again which page is at hand; the other thread changes the page and then looks whether we are busy.
        """
        while True:
            page = self.page
            page.busy = True
            if page is self.page:
                return page
            page.busy = False

    def named(
        self,
        now: float,
        exchange: bytes,
        endpoint: str | None,
        error: str | None,
        coder: str | None,
        constant: bytes,
        raw: bytes | memoryview,
    ) -> bool:
        """Add a brief row whose exchange has a name; whether there is something to do."""
        page = self.enter()
        try:
            codes = page.codes
            if endpoint not in codes or error not in codes or coder not in codes:
                page.code(endpoint)
                page.code(error)
                page.code(coder)
            page.write(raw)
            briefs = page.briefs
            briefs += (
                NAMED.pack(now, exchange, len(raw), codes[endpoint], codes[error], codes[coder]) + constant
            )
        finally:
            page.busy = False
        return len(briefs) >= self.look_at

    def add(self, row: Row) -> tuple[int, bool]:
        """Add a whole row: its number, and whether there is something to do."""
        raw = row.raw
        if raw is not None and self.page.briefs and self.page.frames.tell() + len(raw) > self._most_bytes:
            self.turn()
        page = self.enter()
        try:
            page.add(row)
            seq = self._taken_rows + page.rows
        finally:
            page.busy = False
        return seq, len(page.briefs) >= self.look_at or self._is_full(page)

    def turn_if_full(self) -> None:
        """Begin another page if this one is full."""
        page = self.page
        if self._is_full(page):
            with self._turning:
                if self.page is page:
                    self._turn()

    def drop(self) -> int:
        """Forget the rows of the page at hand: they never had a number. How many there were."""
        with self._turning:
            dropped, self.page = self.page.rows, Page()
        return dropped

    def _is_full(self, page: Page) -> bool:
        return (
            len(page.briefs) >= self.full_at
            or page.frames.tell() >= self._most_bytes
            or page.text_bytes >= _TEXT_BYTES
        )

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
        return not self.pages and not self.page.briefs

    # The writer's thread.

    def turn(self) -> None:
        """The page at hand, too, is to be written."""
        with self._turning:
            if self.page.briefs:
                self._turn()

    def written(self, pages: list[Page]) -> None:
        """They are durable."""
        for page in pages:
            self._written_bytes += page.reckoned
            if len(self._memory) < _KEPT and page.frames.tell() < _KEPT_BYTES:
                page.frames.seek(0)
                self._memory.append(page.frames)

    def _turn(self) -> None:
        page, self.page = self.page, Page(self._memory.pop() if self._memory else None)
        while page.busy:  # never for longer than a row takes
            time.sleep(0)
        self._taken_rows += page.rows
        page.reckoned = page.bytes
        self._taken_bytes += page.reckoned
        self.pages.append(page)
