"""Every frame becomes a row of the journal (spec/journal.md, section 3).

On the hot path a row costs two clock readings, one ``struct`` pack and one append; the writer's thread does
the rest.
"""

from collections.abc import Callable
from time import monotonic_ns, time_ns

from framehub.errors import JournalError
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.open_links import OpenLinks
from framehub.journal.record import NO_ID, Row
from framehub.journal.reduced import Reducer
from framehub.journal.writer import JournalWriter
from framehub.mfp.frames import Frame

__all__ = ["IN", "OUT", "LinkTap", "ReducedTap", "Tap"]


class Tap:
    """Where a node's rows go."""

    def __init__(
        self,
        writer: JournalWriter,
        *,
        on_full: Callable[[], None] | None = None,
        links: OpenLinks | None = None,
    ) -> None:
        """``links`` are noted, should this process be killed; those left by another that was, end here."""
        self._writer = writer
        self._on_full = on_full
        self._links = links
        if links is not None:
            links.end_left(self.append, writer.recovery.last_at or (time_ns(), monotonic_ns()))

    def link(self, link: bytes, *, user: int = 0) -> "LinkTap":
        """A tap for one connection."""
        return LinkTap(self, link, user)

    def append(self, row: Row) -> None:
        """Hand a row to the writer; when it cannot keep up, say so to whoever can slow the peers down.

        A journal that has failed takes nothing: its owner was told, and is about to stop.
        """
        try:
            self._writer.append(row)
        except JournalError:
            if self._writer.failed is None:
                raise
        if self._on_full is not None and self._writer.full:
            self._on_full()

    def append_link(self, row: Row) -> None:
        """The same for a row about a link that comes or goes."""
        if self._links is not None:
            self._links.note(row)
        self.append(row)


class ReducedTap(Tap):
    """One that keeps less of some rows."""

    def __init__(
        self,
        writer: JournalWriter,
        reducer: Reducer,
        *,
        on_full: Callable[[], None] | None = None,
        links: OpenLinks | None = None,
    ) -> None:
        self._reducer = reducer
        super().__init__(writer, on_full=on_full, links=links)

    def append(self, row: Row) -> None:
        """Hand on what is to be kept."""
        super().append(self._reducer.reduce(row))


class LinkTap:
    """Records the frames of one MFP connection."""

    def __init__(self, tap: Tap, link: bytes, user: int) -> None:
        self._append = tap.append
        self._append_link = tap.append_link
        self._link = link
        self._rows = LinkRows(link, user)

    def exchange_id(self, exchange: int) -> bytes:
        """The 16-byte name of a conversation: the link's, then its number on the link."""
        return self._link + exchange.to_bytes(8, "big") if exchange else NO_ID

    def frame(
        self,
        direction: int,
        frame: Frame,
        raw: bytes,
        exchange: int,
        *,
        endpoint: str | None = None,
        error: str | None = None,
        parent: bytes = NO_ID,
    ) -> None:
        """Record one frame that went ``IN`` or ``OUT``; labels belong to frames that can have a payload."""
        at = (time_ns(), monotonic_ns())
        name = self.exchange_id(exchange)
        row = self._rows.frame(at, direction, frame, raw, name, endpoint=endpoint, error=error, parent=parent)
        self._append(row)

    def refused(self, raw: bytes, reason: str) -> None:
        """Record bytes of the peer's that were no lawful frame."""
        self._append(self._rows.refused((time_ns(), monotonic_ns()), raw, reason))

    def opened(self) -> None:
        """Record that the link is up."""
        self._append_link(self._rows.opened((time_ns(), monotonic_ns())))

    def closed(self, code: int, reason: str) -> None:
        """Record that the link is gone, and why."""
        self._append_link(self._rows.closed((time_ns(), monotonic_ns()), code, reason))
