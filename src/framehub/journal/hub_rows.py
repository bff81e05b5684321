"""Frames of the hub as rows (spec/journal.md, sections 3.7 and 3.8): which column holds what. Pure.

``at`` is (wall clock, monotonic clock) in nanoseconds; on the hot path a row costs one ``struct`` pack.
"""

from hashlib import blake2b
from typing import Final

from framehub.codes import HubError, HubState
from framehub.hub.headers import HubFrame
from framehub.journal.brief import CONSTANT
from framehub.journal.mfp_rows import IN, OUT
from framehub.journal.record import FIXED, KIND_NUMBER, NO_ID, PROTOCOLS, RECORDED, Row

__all__ = ["IN", "OUT", "HubRows", "constant", "ping_exchange", "service_link", "stream_exchange"]

_HUB: Final = PROTOCOLS.index("hub")
_FULL: Final = RECORDED.index("full")
_OFF: Final = RECORDED.index("off")
_KIND: Final = {state: KIND_NUMBER[state.name.lower()] for state in HubState}
_ERROR: Final = {code: code.name.lower() for code in HubError}
_FIRST, _COMMAND = HubState.FIRST, HubState.COMMAND
_STREAM_ERROR, _SERVICE_ERROR = HubState.STREAM_ERROR, HubState.SERVICE_ERROR
_PINGS: Final = 1 << 63


class HubRows:
    """Makes the rows of one link: a client's WebSocket or a service at the ZeroMQ socket."""

    def __init__(self, link: bytes, *, version: int, user: int = 0, is_service: bool = False) -> None:
        self.link = link
        self.version = version
        self.user = user
        self._no_ref = 0 if is_service else -1

    def frame(
        self,
        at: tuple[int, int],
        direction: int,
        frame: HubFrame,
        raw: bytes,
        exchange: bytes = NO_ID,
        *,
        service: int | None = None,
        function: int | None = None,
        endpoint: str | None = None,
        user: int | None = None,
        ref: int | None = None,
        timeout_s: int | None = None,
        refused: str | None = None,
        parent: bytes = NO_ID,
    ) -> Row:
        """One frame that went ``IN`` or ``OUT``.

        ``service``, ``function`` and ``endpoint`` are the stream's. ``user`` and ``ref`` are for a service's
        rows: the client's user and number of the stream. ``timeout_s`` is the stream's, on its first frame
        in. ``refused`` is the error that a frame was answered with instead of being taken.
        """
        state, code = frame.state, -1
        error: str | None = None
        if state is _COMMAND:
            code = frame.parameter
        elif state is _STREAM_ERROR:
            code = frame.parameter
            error = _ERROR[code]  # type: ignore[index]
        elif state is _SERVICE_ERROR:
            error = "service_error"
        elif state is _FIRST and timeout_s is not None:
            code = timeout_s
        size = len(frame.body)
        payload_at, payload_bytes = (len(raw) - size, size) if size else (-1, -1)
        # fmt: off
        fixed = FIXED.pack(
            at[0], at[1], self.link, _HUB, self.version, direction, self.user if user is None else user,
            -1 if service is None else service, -1 if function is None else function, _KIND[state], state,
            frame.stream, self._no_ref if ref is None else ref, frame.parameter, code, len(raw), payload_at,
            payload_bytes, -1, exchange, parent, _FULL,
        )
        # fmt: on
        return Row(fixed, endpoint, None, error, refused, raw)

    def refused(self, at: tuple[int, int], raw: bytes, reason: str) -> Row:
        """Bytes that were no frame; ``reason`` begins with the error they were answered with."""
        return Row(self._bare(at, "refused", len(raw), recorded=_FULL), None, None, None, reason, raw)

    def opened(self, at: tuple[int, int]) -> Row:
        """The link is up."""
        return Row(self._bare(at, "link_opened", 0))

    def closed(self, at: tuple[int, int], code: int = -1, reason: str = "") -> Row:
        """The link is gone, and why; only a WebSocket's has a close code."""
        return Row(self._bare(at, "link_closed", 0, code=code), None, None, reason or None)

    def _bare(
        self, at: tuple[int, int], kind: str, size: int, *, code: int = -1, recorded: int = _OFF
    ) -> bytes:
        # fmt: off
        return FIXED.pack(
            at[0], at[1], self.link, _HUB, self.version, IN, self.user, -1, -1, KIND_NUMBER[kind], -1,
            -1, self._no_ref, -1, code, size, -1, -1, -1, NO_ID, NO_ID, recorded,
        )
        # fmt: on


def constant(link: bytes, direction: int, service: int, function: int, user: int, ref: int) -> bytes:
    """What brief rows of a stream have in common: ordinary messages of version 2, in one direction.

    ``ref`` is -1 at the client's side, as everywhere else where it is null.
    """
    return CONSTANT.pack(link, _HUB, 2, direction, 0, user, service, function, ref, 0, 0)


def service_link(identity: bytes) -> bytes:
    """The 8 bytes that stand for a service."""
    return blake2b(identity, digest_size=8, person=b"service").digest()


def stream_exchange(link: bytes, stream: int) -> bytes:
    """The exchange of a client's stream; ``link`` is the client's."""
    return link + stream.to_bytes(8, "big")


def ping_exchange(link: bytes, number: int) -> bytes:
    """The exchange of the link's PING of this number, from 1 on."""
    return link + (_PINGS + number).to_bytes(8, "big")
