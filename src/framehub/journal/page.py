"""The rows of one block to be, as they come (spec/journal.md, section 7). Pure.

Nothing is left behind for each row, neither an object nor a reference: what is brief of it goes to one piece
of memory, its frame to another, and both are used again and again. A thousand rows kept as objects are memory
that no cache holds when they are looked at again.
"""

from io import BytesIO
from typing import Final, NamedTuple

from framehub.journal.brief import BRIEF_BYTES, CONSTANT, NAMED, WHOLE
from framehub.journal.record import FIXED, NO_ID, NO_LINK, Row

ROW_BYTES: Final = FIXED.size + 64
"""What a row without its frame is reckoned at."""
TEXT_LIMIT: Final = 4096
"""Characters, or bytes of a query's id, that are kept of a value that is too long."""
LONG_TEXT: Final = 64 << 10
"""Longer ones are too long."""

_WHOLE: Final = CONSTANT.pack(NO_LINK, WHOLE, 0, 0, 0, 0, -1, -1, -1, 0, 0)


class WholeRow(NamedTuple):
    """What is not brief of a row that is not."""

    fixed: bytes
    query: bytes | None
    refused: int


class Page:
    """Rows in pieces of memory; brief ones are added by ``gathering``."""

    __slots__ = ("briefs", "busy", "codes", "frames", "reckoned", "text_bytes", "texts", "whole", "write")

    def __init__(self, memory: BytesIO | None = None) -> None:
        """``memory`` was another page's: memory that was used before is there already."""
        self.busy = False
        """Whether somebody is adding a row (``gathering``)."""
        self.briefs = bytearray()
        self.frames = memory or BytesIO()
        """Their frames, one behind the other, from its beginning to where it stands."""
        self.write = self.frames.write
        self.texts = [b""]
        """Endpoints, errors and other texts of the rows, each once; the first stands for none."""
        self.codes: dict[str | None, int] = {None: 0}
        """The place of each among them."""
        self.text_bytes = 0
        self.reckoned = 0
        """Its ``bytes`` when it was full."""
        self.whole: list[WholeRow] = []
        """The rest of rows that are not brief, in their order."""

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.briefs) // BRIEF_BYTES

    @property
    def bytes(self) -> int:
        """What they are reckoned at."""
        return self.rows * ROW_BYTES + self.frames.tell() + self.text_bytes

    def code(self, text: str | None) -> int:
        """The number of a text."""
        known = self.codes.get(text)
        if known is None:
            assert text is not None
            kept = text if len(text) <= LONG_TEXT else text[:TEXT_LIMIT]
            data = kept.encode("utf-8", "backslashreplace")  # a peer chooses what an endpoint is called
            known = self.codes[text] = len(self.texts)
            self.texts.append(data)
            self.text_bytes += len(data) + len(text)
        return known

    def add(self, row: Row) -> None:
        """Add a whole row."""
        code, raw, query = self.code, row.raw, row.query
        if query is not None:
            query = query if len(query) <= LONG_TEXT else query[:TEXT_LIMIT]
            self.text_bytes += len(query)
        brief = NAMED.pack(
            0.0, NO_ID, -1 if raw is None else len(raw), code(row.endpoint), code(row.error), code(row.coder)
        )
        self.whole.append(WholeRow(row.fixed, query, code(row.refused)))
        if raw is not None:
            self.write(raw)
        self.briefs += brief + _WHOLE
