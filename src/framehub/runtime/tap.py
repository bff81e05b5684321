"""Every frame becomes a row of the journal (spec/journal.md, section 3).

On the hot path a row is noted in brief (``journal.notes``), and the rest is left to the writer's thread.
"""

from collections.abc import Callable
from time import monotonic, monotonic_ns, time_ns

from framehub.journal.brief import MFP_BRIEF
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.open_links import OpenLinks
from framehub.journal.record import NO_ID, Row
from framehub.journal.reduced import Reducer
from framehub.journal.writer import JournalWriter
from framehub.mfp.frames import Frame
from framehub.runtime.promises import Promises

__all__ = ["IN", "OUT", "LinkTap", "ReducedTap", "Tap"]


class Tap:
    """Where a node's rows go."""

    takes_brief = True
    """Whether rows may be brief; if not, ``append`` wants every one whole."""

    def __init__(
        self,
        writer: JournalWriter,
        *,
        on_full: Callable[[], None] | None = None,
        links: OpenLinks | None = None,
        promises: Promises | None = None,
    ) -> None:
        """``links`` are noted, should this process be killed; those left by another that was, end here.

        ``on_full`` is told when the writer cannot keep up, and can slow the peers down. With ``promises``
        acknowledgements wait for the rows of what they acknowledge.
        """
        self.writer = writer
        self.promises = promises
        self._take = writer.take
        writer.on_full = on_full
        self._links = links
        if links is not None:
            links.end_left(self.append, writer.recovery.last_at or (time_ns(), monotonic_ns()))

    def link(self, link: bytes, *, user: int = 0) -> "LinkTap":
        """A tap for one connection."""
        return LinkTap(self, link, user)

    def append(self, row: Row) -> None:
        """Hand a row to the writer. A journal that has failed takes nothing: its owner was told."""
        self._take(row)

    def append_link(self, row: Row) -> None:
        """The same for a row about a link that comes or goes; once the journal has failed, none is noted."""
        if self._links is not None and self.writer.failed is None:
            self._links.note(row, self.writer.appended + 1, self.writer.durable)
        self.append(row)


class ReducedTap(Tap):
    """One that keeps less of some rows."""

    takes_brief = False

    def __init__(
        self,
        writer: JournalWriter,
        reducer: Reducer,
        *,
        on_full: Callable[[], None] | None = None,
        links: OpenLinks | None = None,
        promises: Promises | None = None,
    ) -> None:
        self._reducer = reducer
        super().__init__(writer, on_full=on_full, links=links, promises=promises)

    def append(self, row: Row) -> None:
        """Hand on what is to be kept."""
        self._take(self._reducer.reduce(row))


class LinkTap:
    """Records the frames of one MFP connection."""

    def __init__(self, tap: Tap, link: bytes, user: int) -> None:
        self._append = tap.append
        self._append_link = tap.append_link
        self._notes = notes = tap.writer.notes
        self._light = notes.light if tap.takes_brief else -1
        self.promises = tap.promises
        self._link = link
        self._rows = LinkRows(link, user)
        self._constants = self._rows.constants
        self._number = int.from_bytes(link, "big")
        self.took, self.gave = notes.link(self._number, self._constants, self._light)
        """Quick ways to record what came, with what was found in it, and what went to an endpoint.

        They say false where ``frame`` has to do it.
        """

    def exchange_id(self, exchange: int) -> bytes:
        """The 16-byte name of a conversation: the link's, then its number on the link."""
        return self._link + exchange.to_bytes(8, "big") if exchange else NO_ID

    def frame(
        self,
        direction: int,
        frame: Frame,
        raw: bytes | memoryview,
        exchange: int,
        endpoint: str | None = None,
        error: str | None = None,
        parent: bytes = NO_ID,
        now: float = 0.0,
    ) -> None:
        """Record one frame that went ``IN`` or ``OUT``; labels belong to frames that can have a payload.

        ``now`` is ``monotonic()``, where it was asked just before.
        """
        brief = MFP_BRIEF[raw[0]]
        if brief and parent is NO_ID and len(raw) <= self._light:
            texts = (endpoint, error, None) if brief == 2 else (None, None, None)
            halves = (self._number, exchange) if exchange else (0, 0)
            self._notes.note(now or monotonic(), halves, self._constants[direction], texts, raw)
            return
        at = (time_ns(), monotonic_ns())
        name = self.exchange_id(exchange)
        row = self._rows.frame(
            at, direction, frame, bytes(raw), name, endpoint=endpoint, error=error, parent=parent
        )
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
