"""Requests that the peer asked (spec/mfp.md, 8.2): each is answered at most once. Pure."""

from framehub.codes import Service
from framehub.mfp.deadlines import Deadlines
from framehub.mfp.events import RequestCancelled, RequestReceived
from framehub.mfp.frames import Files, RequestFrame, ResponseFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Answering:
    """The peer's requests by id, until we answer or refuse, the peer gives up, or time is out."""

    def __init__(self, settings: Settings, outbox: Outbox, past: Remembered) -> None:
        self._settings = settings
        self._outbox = outbox
        self._past = past
        self._working: dict[int, int] = {}
        self._deadlines = Deadlines()

    def __len__(self) -> int:
        return len(self._working)

    def __contains__(self, ref: int) -> bool:
        return ref in self._working

    def opened(self, frame: RequestFrame, exchange: int, now: float) -> RequestReceived | None:
        """A new request; None if there are too many already: it was refused."""
        if len(self._working) >= self._settings.max_requests:
            self._past.add(frame.id, exchange)
            self._outbox.service(Service.ABORT, frame.id, exchange)
            return None
        self._working[frame.id] = exchange
        self._deadlines.add(frame.id, now + self._settings.request_timeout)
        return RequestReceived(frame, exchange)

    def respond(
        self, ref: int, payload: bytes, files: Files, *, need_ack: bool, checksum: bool
    ) -> tuple[int, int] | None:
        """Answer; the id and exchange of the answer, or None if nobody waits for it any more."""
        exchange = self._working.get(ref, 0)
        if not exchange:
            return None
        self._outbox.check_fits(payload, files)
        id_ = self._outbox.new_id()
        self._outbox.send(
            ResponseFrame(
                id=id_, ref=ref, payload=payload, files=files, need_ack=need_ack, checksum=checksum
            ),
            exchange,
        )
        self._settle(ref)
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
        for ref in self._deadlines.due(now):
            exchange = self._settle(ref)
            self._outbox.service(Service.TIMEOUT, ref, exchange)
            events.append(RequestCancelled(ref, Service.TIMEOUT, False, exchange))
        return events

    @property
    def next_deadline(self) -> float | None:
        """When something becomes overdue."""
        return self._deadlines.next

    def clear(self) -> None:
        """Forget everything."""
        self._working.clear()
        self._deadlines = Deadlines()

    def _settle(self, ref: int) -> int:
        exchange = self._working.pop(ref, 0)
        if exchange:
            self._deadlines.drop(ref)
            self._past.add(ref, exchange)
        return exchange
