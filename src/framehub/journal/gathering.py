"""Rows on their way to the disk (spec/journal.md, section 7).

One thread, the caller's, adds rows. The most frequent ones are loose at first, and go to a page when there
are some of them: work that is done for many at a time costs a fraction. The writer's thread takes pages: full
ones and, when rows have waited for long enough, the one at hand with what is loose. It does that also while
the caller's thread is busy with something else for long.
"""

import threading
from collections import deque
from io import BytesIO
from typing import Any, Final, TypeAlias

from framehub.journal.brief import BRIEF_BYTES, LOOSE_ROWS, PACKS
from framehub.journal.labels import TEXT_BYTES, Labels, Side
from framehub.journal.page import Page
from framehub.journal.record import Row
from framehub.journal.settings import WriterSettings

PAGE_ROWS: Final = 2_048
"""Rows that fill a page."""
LIGHT_BYTES: Final = 2_048
"""Only frames of up to so many bytes are brief; of longer ones each is weighed."""
_pack = PACKS[1]
_KEPT, _KEPT_BYTES = 3, 8 << 20
"""Memory that is kept to be used again: so many pieces, each of at most so many bytes."""


Loose: TypeAlias = tuple[Side, float, bytes, int, str]
"""A brief row: where it went, when, its frame, the number of its exchange on the link, its endpoint."""


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
        self.loose: list[Loose] = []
        """Rows that are on no page yet. They are added here, at the end; see to ``look_at`` then."""
        self._labels = Labels()  # of rows from now on
        self.page = Page(self._labels)
        """The one at hand."""
        self._turning = threading.Lock()
        self._memory: list[BytesIO] = []  # of pages that were written
        self._most_bytes = min(settings.gather_bytes, settings.block_limit // 2, quarter)
        self._taken_rows = last_seq
        self._taken_bytes = 0  # of all pages ever filled
        self._written_bytes = 0  # only the writer's thread adds

    # The caller's thread.

    def note(
        self,
        now: float,
        exchange: tuple[int, int],
        constant: bytes,
        texts: tuple[str | None, str | None, str | None],
        raw: bytes | memoryview,
    ) -> bool:
        """Add a brief row: its exchange in two halves, its endpoint, error and coder.

        Whether there is something to do.
        """
        with self._turning:
            self._settle()
            label = self._labels.number(constant, *texts)
            self.page.briefs += _pack(now, *exchange, len(raw), label)
            self.page.frames.write(raw)
        return self.look_at <= 1 or bool(self.pages) or self._is_full(self.page)

    def add(self, row: Row) -> tuple[int, bool]:
        """Add a whole row: its number, and whether there is something to do."""
        raw = row.raw
        with self._turning:
            self._settle()
            if raw is not None and self.page.frames.tell() + len(raw) > self._most_bytes:
                self._turn()
            self.page.add(row)
            seq = self._taken_rows + self.page.rows
        return seq, self.look_at <= 1 or bool(self.pages) or self._is_full(self.page)

    def turn_if_full(self) -> bool:
        """Put loose rows on the page, and begin another if it is full; whether it was."""
        with self._turning:
            self._settle()
            if not self._is_full(self.page):
                return False
            self._turn()
        return True

    def attend(self) -> bool:
        """Do what ``look_at`` says; whether the writer's thread is to be woken now."""
        self.turn_if_full()
        if self.look_at > 1 and not self.pages:
            return False
        # First this, then the thread: when it goes to sleep, it wishes to be woken by the next row.
        self.look_at = LOOSE_ROWS
        return True

    def drop(self) -> int:
        """Forget the rows of the page at hand: they never had a number. How many there were."""
        with self._turning:
            self._settle()
            dropped, self.page = self.page.rows, Page(self._labels)
        return dropped

    def _is_full(self, page: Page) -> bool:
        return (
            len(page.briefs) >= self.full_at
            or page.frames.tell() >= self._most_bytes
            or page.query_bytes >= TEXT_BYTES
            or self._labels.is_full
        )

    # Any thread.

    @property
    def last(self) -> int:
        """The number that the last row has, or will have."""
        with self._turning:
            return self._taken_rows + self.page.rows + len(self.loose)

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
        return not self.pages and not self.page.briefs and not self.loose

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
        """Put loose rows on the page at hand."""
        loose, page, labels = self.loose, self.page, self._labels
        while batch := loose[:LOOSE_ROWS]:
            numbers: list[Any] = []
            for side, now, raw, exchange, endpoint in batch:
                label = side.known.get(endpoint) if side.labels is labels else None
                if label is None:
                    label = side.number(labels, endpoint)
                numbers += (now, side.link if exchange else 0, exchange, len(raw), label)
            page.briefs += PACKS[len(batch)](*numbers)
            page.frames.writelines([raw for _, _, raw, _, _ in batch])
            del loose[: len(batch)]

    def _turn(self) -> None:
        if self._labels.is_full:
            self._labels = Labels()
        page, self.page = self.page, Page(self._labels, self._memory.pop() if self._memory else None)
        if page.briefs:
            self._taken_rows += page.rows
            page.reckoned = page.bytes
            self._taken_bytes += page.reckoned
            self.pages.append(page)
