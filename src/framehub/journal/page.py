"""The rows of one block to be, as they come (spec/journal.md, section 7). Pure.

Nothing is left behind for each row, neither an object nor a reference: what is brief of it goes to one piece
of memory, its frame to another, and both are used again and again. A thousand rows kept as objects are memory
that no cache holds when they are looked at again.
"""

from io import BytesIO
from typing import Final, NamedTuple, Protocol

from framehub.journal.brief import BRIEF_BYTES, pack
from framehub.journal.labels import LONG_TEXT, NOT_BRIEF, TEXT_BYTES, TEXT_LIMIT, Labels
from framehub.journal.record import FIXED, Row

ROW_BYTES: Final = FIXED.size + 64
"""What a row without its frame is reckoned at."""


class Memory(Protocol):
    """A piece of it, written from its beginning; what ``BytesIO`` does."""

    def write(self, data: bytes | memoryview, /) -> int:
        """Add to what is there."""

    def tell(self) -> int:
        """Bytes that are there."""

    def seek(self, at: int, /) -> int:
        """To 0: begin anew."""

    def getbuffer(self) -> memoryview:
        """What is there, and perhaps more; nothing can be written while somebody looks at it."""


class WholeRow(NamedTuple):
    """What is not brief of a row that is not."""

    fixed: bytes
    query: bytes | None
    refused: int


class Page:
    """Rows in pieces of memory; brief ones are added by ``notes``."""

    __slots__ = ("briefs", "frames", "labels", "query_bytes", "reckoned", "whole")

    def __init__(self, labels: Labels, memory: tuple[Memory, Memory] | None = None) -> None:
        """``memory`` was another page's, perhaps: memory that was used before is there already."""
        self.briefs, self.frames = memory or (BytesIO(), BytesIO())
        """What is brief of them, and their frames, one behind the other, to where each stands."""
        self.labels = labels
        """Those of its rows, and of others."""
        self.query_bytes = 0
        self.reckoned = 0
        """Its ``bytes`` when it was full."""
        self.whole: list[WholeRow] = []
        """The rest of rows that are not brief, in their order."""

    @property
    def rows(self) -> int:
        """How many."""
        return self.briefs.tell() // BRIEF_BYTES

    @property
    def bytes(self) -> int:
        """What they are reckoned at."""
        return self.rows * ROW_BYTES + self.frames.tell() + self.query_bytes

    def is_full(self, brief_bytes: int, frame_bytes: int) -> bool:
        """Whether it holds so many of either, or texts enough."""
        return (
            self.briefs.tell() >= brief_bytes
            or self.frames.tell() >= frame_bytes
            or self.query_bytes >= TEXT_BYTES
            or self.labels.is_full
        )

    def add(self, row: Row) -> None:
        """Add a whole row."""
        raw, query = row.raw, row.query
        if query is not None:
            query = query if len(query) <= LONG_TEXT else query[:TEXT_LIMIT]
            self.query_bytes += len(query)
        label = self.labels.number(NOT_BRIEF, row.endpoint, row.error, row.coder)
        self.whole.append(WholeRow(row.fixed, query, self.labels.code(row.refused)))
        if raw is not None:
            self.frames.write(raw)
        self.briefs.write(pack(0.0, 0, 0, -1 if raw is None else len(raw), label))
