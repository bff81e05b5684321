"""Requests that we asked (spec/mfp.md, 8.2): each is settled exactly once. Pure."""

from framehub.codes import Service
from framehub.errors import LimitExceeded
from framehub.mfp.events import RequestFailed, ResponseReceived
from framehub.mfp.frames import Files, RequestFrame, ResponseFrame
from framehub.mfp.layout import SMALL_BYTES
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings

_NOTHING = (0, 0.0)


class Asked:
    """Our requests by id, until a response, a refusal, our cancellation or their deadline."""

    def __init__(self, settings: Settings, outbox: Outbox, past: Remembered) -> None:
        self._settings = settings
        self._outbox = outbox
        self._past = past
        self.waiting: dict[int, tuple[int, float]] = {}
        """Exchange and deadline of each."""
        self._given_up = Remembered(settings.remembered)

    def __len__(self) -> int:
        return len(self.waiting)

    def ask(
        self, payload: bytes, files: Files, deadline: float, need_ack: bool, checksum: bool
    ) -> tuple[int, int]:
        """Send a request; its id and exchange."""
        if len(self.waiting) >= self._outbox.peer.requests:
            raise LimitExceeded(
                "requests waiting for an answer",
                allowed=self._outbox.peer.requests,
                got=len(self.waiting) + 1,
                hint="max_requests",
            )
        outbox = self._outbox
        outbox.check_fits(payload, files)
        id_ = outbox.new_id()
        exchange = outbox.new_exchange()
        send = outbox.send_large if files or len(payload) > SMALL_BYTES else outbox.send
        send(RequestFrame(id_, payload, files, need_ack, checksum), exchange)
        self.waiting[id_] = (exchange, deadline)
        return id_, exchange

    def answered(self, frame: ResponseFrame) -> ResponseReceived | None:
        """The peer's answer; None if nothing waits for it."""
        exchange = self._settle(frame.ref)
        return ResponseReceived(frame.ref, frame, exchange) if exchange else None

    def failed(self, id_: int, code: Service) -> RequestFailed | None:
        """The peer says that there will be no answer; None if nothing waits for one."""
        exchange = self._settle(id_)
        return RequestFailed(id_, code, True, exchange) if exchange else None

    def cancel(self, id_: int) -> bool:
        """Give one up and say so; false if it was settled before."""
        exchange = self._settle(id_)
        if exchange:
            self._given_up.add(id_, exchange)
            self._outbox.service(Service.ABORT, id_, exchange, own=True)
        return exchange != 0

    def is_late(self, id_: int) -> bool:
        """Whether one answer to ``id_`` is no fault: we gave it up, the peer could not know."""
        return self._given_up.pop(id_) != 0

    def due(self, now: float) -> list[RequestFailed]:
        """Give up what is overdue and say so."""
        events = []
        overdue = [(deadline, id_) for id_, (_, deadline) in self.waiting.items() if deadline <= now]
        for _, id_ in sorted(overdue):
            exchange = self._settle(id_)
            self._given_up.add(id_, exchange)
            self._outbox.service(Service.TIMEOUT, id_, exchange, own=True)
            events.append(RequestFailed(id_, Service.TIMEOUT, False, exchange))
        return events

    @property
    def next_deadline(self) -> float | None:
        """When something becomes overdue."""
        return min((deadline for _, deadline in self.waiting.values()), default=None)

    def clear(self) -> None:
        """Forget everything."""
        self.waiting.clear()
        self._given_up.clear()

    def _settle(self, id_: int) -> int:
        exchange, _ = self.waiting.pop(id_, _NOTHING)
        if exchange:
            self._past.add(id_, exchange)
        return exchange
