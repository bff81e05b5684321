"""Every frame becomes a row of the journal (spec/journal.md, section 3).

On the hot path a row costs a clock reading, a small ``struct`` pack and one append (``journal.brief``); the
writer's thread does the rest.
"""

from collections.abc import Callable
from time import monotonic, monotonic_ns, time_ns

from framehub.journal.brief import MFP_BRIEF, NUMBERED
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.open_links import OpenLinks
from framehub.journal.record import NO_ID, NO_LINK, Row
from framehub.journal.reduced import Reducer
from framehub.journal.writer import JournalWriter
from framehub.mfp.frames import BinaryFrame, Frame, ServiceFrame
from framehub.runtime.promises import Promises

__all__ = ["IN", "OUT", "LinkTap", "ReducedTap", "Tap"]

_NO_LABELS = (ServiceFrame, BinaryFrame)
pack = NUMBERED.pack


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
        """The same for a row about a link that comes or goes."""
        if self._links is not None:
            self._links.note(row)
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
        self._gathering = tap.writer.gathering
        self._light = tap.writer.gathering.light if tap.takes_brief else -1
        self._attend = tap.writer.attend
        self.promises = tap.promises
        self._link = link
        self._rows = LinkRows(link, user)
        self._constants = self._rows.constants

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
        if parent is NO_ID and MFP_BRIEF[raw[0]] and len(raw) <= self._light:
            if type(frame) in _NO_LABELS:
                endpoint = error = None
            gathering = self._gathering
            page = gathering.page  # as `gathering.enter` does it, without a call
            page.busy = True
            if page is not gathering.page:
                page.busy = False
                page = gathering.enter()
            try:
                label = page.codes.get(endpoint)
                if label is None:
                    label = page.code(endpoint)
                fault = 0 if error is None else page.code(error)
                page.write(raw)
                page.briefs += (
                    pack(
                        now or monotonic(),
                        self._link if exchange else NO_LINK,
                        exchange,
                        len(raw),
                        label,
                        fault,
                        0,
                    )
                    + self._constants[direction]
                )
            finally:
                page.busy = False
            if len(page.briefs) >= gathering.look_at:
                self._attend()
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
