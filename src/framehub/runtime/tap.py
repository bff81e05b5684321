"""Every frame becomes a row of the journal (spec/journal.md, section 3).

On the hot path a row costs two clock readings, one ``struct`` pack and one append; the writer's thread does
the rest.
"""

from collections.abc import Callable
from time import monotonic_ns, time_ns
from typing import Final

from framehub.errors import JournalError
from framehub.journal.record import FIXED, KIND_NUMBER, NO_ID, Row
from framehub.journal.writer import JournalWriter
from framehub.mfp.frames import (
    BinaryFrame,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)

IN: Final = 0
OUT: Final = 1
_MFP: Final = 0
_VERSION: Final = 1
_FULL: Final = 0
_OFF: Final = 2
_KIND: Final = {
    ServiceFrame: KIND_NUMBER["service"],
    MessageFrame: KIND_NUMBER["message"],
    RequestFrame: KIND_NUMBER["request"],
    BinaryFrame: KIND_NUMBER["binary"],
    ResponseFrame: KIND_NUMBER["response"],
}
_REFUSED: Final = KIND_NUMBER["refused"]
_LINK_OPENED: Final = KIND_NUMBER["link_opened"]
_LINK_CLOSED: Final = KIND_NUMBER["link_closed"]


class Tap:
    """Where a node's rows go."""

    def __init__(self, writer: JournalWriter, *, on_full: Callable[[], None] | None = None) -> None:
        self._writer = writer
        self._on_full = on_full

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


class LinkTap:
    """Records the frames of one MFP connection."""

    def __init__(self, tap: Tap, link: bytes, user: int) -> None:
        self._append = tap.append
        self._link = link
        self._user = user

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
        ref = key = code = payload_at = payload_bytes = files = -1
        if isinstance(frame, ServiceFrame):
            ref, code = frame.ref, frame.code
            endpoint, error, parent = None, None, NO_ID
        elif isinstance(frame, BinaryFrame):
            ref = frame.ref
            endpoint, error, parent = None, None, NO_ID
            if frame.key is not None:
                key = frame.key
        else:
            at = 5
            if isinstance(frame, ResponseFrame):
                ref = frame.ref
                at = 9
            files = len(frame.files)
            if isinstance(frame, MessageFrame) and frame.expected:
                files = len(frame.expected)
            if frame.payload:
                payload_at = at + 4 + (4 if files else 0)
                payload_bytes = len(frame.payload)
        fixed = FIXED.pack(
            time_ns(),
            monotonic_ns(),
            self._link,
            _MFP,
            _VERSION,
            direction,
            self._user,
            -1,
            -1,
            _KIND[type(frame)],
            raw[0],
            frame.id,
            ref,
            key,
            code,
            len(raw),
            payload_at,
            payload_bytes,
            files,
            self.exchange_id(exchange),
            parent,
            _FULL,
        )
        self._append(Row(fixed, endpoint, None, error, None, raw))

    def refused(self, raw: bytes, reason: str) -> None:
        """Record bytes of the peer's that were no lawful frame."""
        head = raw[0] if raw else -1
        self._append(Row(self._bare(_REFUSED, IN, len(raw), head=head), None, None, None, reason, raw))

    def opened(self) -> None:
        """Record that the link is up."""
        self._append(Row(self._bare(_LINK_OPENED, IN, 0, recorded=_OFF)))

    def closed(self, code: int, reason: str) -> None:
        """Record that the link is gone, and why."""
        fixed = self._bare(_LINK_CLOSED, IN, 0, code=code, recorded=_OFF)
        self._append(Row(fixed, None, None, reason or None))

    def _bare(
        self, kind: int, direction: int, size: int, *, head: int = -1, code: int = -1, recorded: int = _FULL
    ) -> bytes:
        # fmt: off
        return FIXED.pack(
            time_ns(), monotonic_ns(), self._link, _MFP, _VERSION, direction, self._user, -1, -1, kind, head,
            -1, -1, -1, code, size, -1, -1, -1, NO_ID, NO_ID, recorded,
        )
        # fmt: on
