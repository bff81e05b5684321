"""Requests that we asked (spec/mfp.md, 8.2): each is settled exactly once. Pure."""

from collections.abc import Callable

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

    __slots__ = ("_given_up", "_outbox", "_past", "_settings", "_unheard", "may_cancel", "waiting")

    def __init__(self, settings: Settings, outbox: Outbox, past: Remembered) -> None:
        self._settings = settings
        self._outbox = outbox
        self._past = past
        self.waiting: dict[int, tuple[int, float]] = {}
        """Exchange and deadline of each."""
        self._unheard: dict[int, int] | None = None  # exchanges of those that we gave up without a word
        self._given_up = Remembered(settings.remembered)
        self.may_cancel: Callable[[], bool] = _always
        """Asked for each that is given up; false: the peer is not told."""

    def __len__(self) -> int:
        return len(self.waiting) + len(self._unheard or ())

    def ask(
        self, payload: bytes, files: Files, deadline: float, need_ack: bool, checksum: bool
    ) -> tuple[int, int]:
        """Send a request; its id and exchange."""
        if len(self) >= self._outbox.peer.requests:
            raise LimitExceeded(
                "requests waiting for an answer",
                allowed=self._outbox.peer.requests,
                got=len(self) + 1,
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

    def is_live(self, id_: int) -> bool:
        """Whether the peer may be at work on it."""
        return id_ in self.waiting or id_ in (self._unheard or ())

    def answered(self, frame: ResponseFrame) -> ResponseReceived | None:
        """The peer's answer; None if nothing waits for it."""
        exchange = self._settle(frame.ref)
        return ResponseReceived(frame.ref, frame, exchange) if exchange else None

    def failed(self, id_: int, code: Service) -> RequestFailed | None:
        """The peer says that there will be no answer; None if nothing waits for one."""
        exchange = self._settle(id_)
        return RequestFailed(id_, code, True, exchange) if exchange else None

    def cancel(self, id_: int) -> bool:
        """Give one up, and say so if we may; false if it was settled before."""
        exchange, _ = self.waiting.get(id_, _NOTHING)
        if exchange:
            self._leave(id_, exchange, Service.ABORT)
        return exchange != 0

    def is_late(self, id_: int) -> bool:
        """Whether one answer to ``id_`` is no fault: we gave it up, the peer could not know."""
        return self._given_up.pop(id_) != 0

    def due(self, now: float) -> list[RequestFailed]:
        """Give up what is overdue, and say so if we may."""
        events = []
        overdue = [(deadline, id_) for id_, (_, deadline) in self.waiting.items() if deadline <= now]
        for _, id_ in sorted(overdue):
            exchange, _ = self.waiting[id_]
            self._leave(id_, exchange, Service.TIMEOUT)
            events.append(RequestFailed(id_, Service.TIMEOUT, False, exchange))
        return events

    @property
    def next_deadline(self) -> float | None:
        """When something becomes overdue."""
        return min((deadline for _, deadline in self.waiting.values()), default=None)

    def clear(self) -> None:
        """Forget everything."""
        self.waiting.clear()
        self._unheard = None
        self._given_up.clear()
        self.may_cancel = _always  # whoever was asked need not live as long as we do

    def _leave(self, id_: int, exchange: int, code: Service) -> None:
        """Give one up; if that may not be said, what comes of it is nobody's business."""
        if not self.may_cancel():
            del self.waiting[id_]
            self._unheard = self._unheard or {}
            self._unheard[id_] = exchange
        else:
            self._settle(id_)
            self._given_up.add(id_, exchange)
            self._outbox.service(code, id_, exchange, own=True)

    def _settle(self, id_: int) -> int:
        exchange, _ = self.waiting.pop(id_, _NOTHING)
        if not exchange and self._unheard:
            exchange = self._unheard.pop(id_, 0)
        if exchange:
            self._past.add(id_, exchange)
        return exchange


def _always() -> bool:
    return True
