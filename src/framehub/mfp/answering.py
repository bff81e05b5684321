"""Requests that the peer asked (spec/mfp.md, 8.2): each is answered at most once. Pure."""

from framehub.codes import Service
from framehub.mfp.events import RequestCancelled, RequestReceived
from framehub.mfp.frames import Files, RequestFrame, ResponseFrame
from framehub.mfp.layout import SMALL_BYTES
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Answering:
    """The peer's requests by id, until we answer or refuse, the peer gives up, or time is out.

    All have the same time, so that the oldest is always the next to be overdue.
    """

    def __init__(self, settings: Settings, outbox: Outbox, past: Remembered) -> None:
        self._settings = settings
        self._outbox = outbox
        self._past = past
        self.working: dict[int, tuple[int, float]] = {}
        """Exchange and deadline of each, the oldest first."""

    def __len__(self) -> int:
        return len(self.working)

    def opened(self, frame: RequestFrame, exchange: int, now: float) -> RequestReceived | None:
        """A new request; None if there are too many already: it was refused."""
        if len(self.working) >= self._settings.max_requests:
            self._past.add(frame.id, exchange)
            self._outbox.service(Service.ABORT, frame.id, exchange)
            return None
        self.working[frame.id] = (exchange, now + self._settings.request_timeout)
        return RequestReceived(frame, exchange)

    def respond(
        self, ref: int, payload: bytes, files: Files, need_ack: bool, checksum: bool
    ) -> tuple[int, int] | None:
        """Answer; the id and exchange of the answer, or None if nobody waits for it any more."""
        if ref not in self.working:
            return None
        exchange, _ = self.working[ref]
        outbox = self._outbox
        outbox.check_fits(payload, files)
        id_ = outbox.new_id()
        send = outbox.send_large if files or len(payload) > SMALL_BYTES else outbox.send
        send(ResponseFrame(id_, ref, payload, files, need_ack, checksum), exchange)
        del self.working[ref]
        self._past.add(ref, exchange)
        return id_, exchange

    def refuse(self, ref: int) -> bool:
        """Say that there will be no answer; false if nobody waits for one."""
        exchange = self._settle(ref)
        if exchange:
            self._outbox.service(Service.ABORT, ref, exchange)
        return exchange != 0

    def cancelled(self, ref: int, code: Service) -> RequestCancelled | None:
        """The peer gave its request up; None if we knew of none."""
        exchange = self._settle(ref)
        return RequestCancelled(ref, code, True, exchange) if exchange else None

    def due(self, now: float) -> list[RequestCancelled]:
        """Give up what took us too long and say so."""
        events = []
        for ref, (exchange, deadline) in list(self.working.items()):
            if deadline > now:
                break
            self._settle(ref)
            self._outbox.service(Service.TIMEOUT, ref, exchange)
            events.append(RequestCancelled(ref, Service.TIMEOUT, False, exchange))
        return events

    @property
    def next_deadline(self) -> float | None:
        """When something becomes overdue."""
        return next((deadline for _, deadline in self.working.values()), None)

    def clear(self) -> None:
        """Forget everything."""
        self.working.clear()

    def _settle(self, ref: int) -> int:
        exchange, _ = self.working.pop(ref, (0, 0.0))
        if exchange:
            self._past.add(ref, exchange)
        return exchange
