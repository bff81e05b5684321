"""Every frame becomes a row of the journal (spec/journal.md, section 3).

On the hot path a row costs a clock reading and two entries in lists (``journal.gathering``); the writer's
thread does the rest.
"""

from collections.abc import Callable
from time import monotonic, monotonic_ns, time_ns
from typing import TypeAlias

from msgspec import UNSET

from framehub.journal.brief import MFP_BRIEF
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.open_links import OpenLinks
from framehub.journal.record import NO_ID, Row
from framehub.journal.reduced import Reducer
from framehub.journal.writer import JournalWriter
from framehub.mfp.envelope import Envelope
from framehub.mfp.frames import Frame
from framehub.runtime.payloads import Opened, labels
from framehub.runtime.promises import Promises

__all__ = ["IN", "OUT", "LinkTap", "ReducedTap", "Tap"]

Took: TypeAlias = Callable[[Frame, bytes | memoryview, int, Opened | None, float], None]
Gave: TypeAlias = Callable[[Frame, bytes, int, str], None]


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
        self._gathering = gathering = tap.writer.gathering
        self._light = gathering.light if tap.takes_brief else -1
        self._attend = tap.writer.attend
        self.promises = tap.promises
        self._link = link
        self._rows = LinkRows(link, user)
        self._constants = self._rows.constants
        self._number = int.from_bytes(link, "big")
        self._labels: tuple[dict[str, int], ...] = ({}, {})  # of endpoints, by direction, as far as noted
        self.took, self.gave = self._hot()

    def exchange_id(self, exchange: int) -> bytes:
        """The 16-byte name of a conversation: the link's, then its number on the link."""
        return self._link + exchange.to_bytes(8, "big") if exchange else NO_ID

    def _hot(self) -> tuple[Took, Gave]:
        """``frame`` for what came, with what was found in it, and for what went with an endpoint.

        They are what a request costs more with a journal than without, so they are made of local names.
        """
        gathering, light, number, attend = self._gathering, self._light, self._number, self._attend
        came, went = (notes.get for notes in self._labels)
        add_numbers, frames = gathering.numbers.extend, gathering.frames
        add_frame = frames.append

        def took(
            frame: Frame, raw: bytes | memoryview, exchange: int, opened: Opened | None, now: float
        ) -> None:
            label, size = None, len(raw)
            if size <= light and type(opened) is Envelope and opened.error is UNSET:
                label = came(opened.endpoint)
            if label is None or MFP_BRIEF[raw[0]] != 2 or not exchange:
                self.frame(IN, frame, raw, exchange, *labels(opened), now=now)
                return
            # As `gathering.note` does it, without a call; so small a frame is no view.
            add_numbers((now, number, exchange, size, label))
            add_frame(raw)  # type: ignore[arg-type]
            if len(frames) >= gathering.look_at:
                attend()

        def gave(frame: Frame, raw: bytes, exchange: int, endpoint: str) -> None:
            label, size = went(endpoint), len(raw)
            if label is None or size > light or MFP_BRIEF[raw[0]] != 2 or not exchange:
                self.frame(OUT, frame, raw, exchange, endpoint)
                return
            add_numbers((monotonic(), number, exchange, size, label))
            add_frame(raw)
            if len(frames) >= gathering.look_at:
                attend()

        return took, gave

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
            label = self._label(direction, endpoint, error) if brief == 2 else self._label(direction)
            halves = (self._number, exchange) if exchange else (0, 0)
            if self._gathering.note(now or monotonic(), halves, label, raw):
                self._attend()
            return
        at = (time_ns(), monotonic_ns())
        name = self.exchange_id(exchange)
        row = self._rows.frame(
            at, direction, frame, bytes(raw), name, endpoint=endpoint, error=error, parent=parent
        )
        self._append(row)

    def _label(self, direction: int, endpoint: str | None = None, error: str | None = None) -> int:
        """The number of a label; the hot path knows it from then on, if it may."""
        known, notes = self._gathering.labels, self._labels[direction]
        number = known.number(self._constants[direction], endpoint, error, None)
        if endpoint is not None and error is None:
            if not notes:
                known.lend(notes)
            notes[endpoint] = number
        return number

    def refused(self, raw: bytes, reason: str) -> None:
        """Record bytes of the peer's that were no lawful frame."""
        self._append(self._rows.refused((time_ns(), monotonic_ns()), raw, reason))

    def opened(self) -> None:
        """Record that the link is up."""
        self._append_link(self._rows.opened((time_ns(), monotonic_ns())))

    def closed(self, code: int, reason: str) -> None:
        """Record that the link is gone, and why."""
        self._append_link(self._rows.closed((time_ns(), monotonic_ns()), code, reason))
