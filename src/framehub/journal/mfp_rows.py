"""MFP frames as rows (spec/journal.md, section 3): one place that says which column holds what. Pure.

``at`` is (wall clock, monotonic clock) in nanoseconds; on the hot path a row costs one ``struct`` pack.
"""

from typing import Final

from framehub.journal.brief import CONSTANT
from framehub.journal.record import DIRECTIONS, FIXED, KIND_NUMBER, NO_ID, PROTOCOLS, RECORDED, Row
from framehub.mfp.frames import (
    BinaryFrame,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)

IN: Final = DIRECTIONS.index("in")
OUT: Final = DIRECTIONS.index("out")
_MFP: Final = PROTOCOLS.index("mfp")
_VERSION: Final = 1
_FULL: Final = RECORDED.index("full")
_OFF: Final = RECORDED.index("off")
_KIND: Final = {
    ServiceFrame: KIND_NUMBER["service"],
    MessageFrame: KIND_NUMBER["message"],
    RequestFrame: KIND_NUMBER["request"],
    BinaryFrame: KIND_NUMBER["binary"],
    ResponseFrame: KIND_NUMBER["response"],
}


class LinkRows:
    """Makes the rows of one connection."""

    def __init__(self, link: bytes, user: int) -> None:
        self.link = link
        self.user = user
        came, went = (
            CONSTANT.pack(link, _MFP, _VERSION, direction, 0, user, -1, -1, -1, 0, 0)
            for direction in (IN, OUT)
        )
        self.constants = came, went
        """By direction, what all brief rows have in common."""

    def frame(
        self,
        at: tuple[int, int],
        direction: int,
        frame: Frame,
        raw: bytes,
        exchange: bytes,
        *,
        endpoint: str | None = None,
        error: str | None = None,
        parent: bytes = NO_ID,
    ) -> Row:
        """One frame that went ``IN`` or ``OUT``; labels belong to frames that can have a payload."""
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
            head_bytes = 5
            if isinstance(frame, ResponseFrame):
                ref = frame.ref
                head_bytes = 9
            files = len(frame.files)
            if isinstance(frame, MessageFrame) and frame.expected:
                files = len(frame.expected)
            if frame.payload:
                payload_at = head_bytes + 4 + (4 if files else 0)
                payload_bytes = len(frame.payload)
        # fmt: off
        fixed = FIXED.pack(
            at[0], at[1], self.link, _MFP, _VERSION, direction, self.user, -1, -1, _KIND[type(frame)], raw[0],
            frame.id, ref, key, code, len(raw), payload_at, payload_bytes, files, exchange, parent, _FULL,
        )
        # fmt: on
        return Row(fixed, endpoint, None, error, None, raw)

    def refused(self, at: tuple[int, int], raw: bytes, reason: str) -> Row:
        """Bytes of the peer's that were no lawful frame."""
        fixed = self._bare(at, "refused", len(raw), head=raw[0] if raw else -1, recorded=_FULL)
        return Row(fixed, None, None, None, reason, raw)

    def opened(self, at: tuple[int, int]) -> Row:
        """The link is up."""
        return Row(self._bare(at, "link_opened", 0))

    def closed(self, at: tuple[int, int], code: int, reason: str) -> Row:
        """The link is gone, and why."""
        return Row(self._bare(at, "link_closed", 0, code=code), None, None, reason or None)

    def _bare(
        self,
        at: tuple[int, int],
        kind: str,
        size: int,
        *,
        head: int = -1,
        code: int = -1,
        recorded: int = _OFF,
    ) -> bytes:
        # fmt: off
        return FIXED.pack(
            at[0], at[1], self.link, _MFP, _VERSION, IN, self.user, -1, -1, KIND_NUMBER[kind], head,
            -1, -1, -1, code, size, -1, -1, -1, NO_ID, NO_ID, recorded,
        )
        # fmt: on
