"""What the wire and the clock do to a watched machine: each frame and each tick is compared with the book."""

from typing import Any

from framehub.codes import CloseCode, Service
from framehub.mfp import events
from framehub.mfp.connection import Received
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from tests.simulation.book import Broken, Said
from tests.simulation.watched import Watched, must

LATEST = 0.011
"""Seconds that something may be given up too late (spec/mfp.md, 8.3)."""


class Hearing(Watched):
    """The half of a side that does not begin anything."""

    def __init__(self, *about: Any, **more: Any) -> None:
        super().__init__(*about, **more)
        self.pinged: dict[int, float] = {}
        """Our pings without a pong, and when each went out."""
        self.refusable: dict[int, int] = {}
        """Messages of the peer's that the owner has and has not refused, and the exchange of each."""

    def receive(self, data: bytes, now: float) -> Received:
        """One frame of the peer; it causes what the rules say and nothing else."""
        self.now = now
        got = self.machine.receive(data, now)
        self.heard = now
        if not isinstance(got.frame, ServiceFrame):
            self.used = now
        frame, exchange, event = got.frame, got.exchange, got.event
        swallowed = isinstance(frame, BinaryFrame) and frame.ref in self.book.swallowing
        expected = self.book.expect(frame, exchange, now)
        if type(event) is not (expected.event or type(None)):
            rule = "M16" if swallowed else _rule(frame)
            raise Broken(rule, f"{frame} caused {event}, not {expected.event}")
        sent = self._says(expected.says, "M9" if isinstance(frame, ServiceFrame) else "M8")
        for one in sent:
            must(one.exchange == exchange, "M10", "{} was answered in another exchange", frame)
        ackable = frame.code is Service.PING if isinstance(frame, ServiceFrame) else frame.need_ack
        self.accounts.counts["ackable accepted"] += ackable
        if isinstance(frame, RequestFrame | MessageFrame):
            self.refusable.pop(frame.id, None)  # what had this id before is long over
        if event is not None:
            must(event.exchange == exchange, "M10", "{} is not of the exchange of its frame", event)
            self._handle(event)
        elif isinstance(frame, MessageFrame) and frame.streaming:
            self.accounts.reader_stops(frame.payload, "the limit")
        elif isinstance(frame, ResponseFrame):
            self.accounts.counts["answers come late"] += 1
        self._settled()
        return got

    def tick(self, now: float) -> events.ConnectionOver | None:
        """Time goes on: what is overdue ends, nothing before its time, and each is told to the peer.

        The machine may ping on its own account, and find that the connection is over.
        """
        book = self.book
        says: list[Said] = []
        over: events.ConnectionOver | None = None
        self.now = now
        for event in self.machine.tick(now):
            if isinstance(event, events.ConnectionOver):
                self._is_over(event)
                over = event
                continue
            if isinstance(event, events.RequestFailed):
                _is_due(book.asked, event.id, now)
                says.append(Said(Service.TIMEOUT, event.id, True))
            elif isinstance(event, events.RequestCancelled):
                _is_due(book.answering, event.ref, now)
                says.append(Said(Service.TIMEOUT, event.ref))
            else:
                assert isinstance(event, events.MessageLost), event
                _is_due(book.waiting, event.ref, now)
                says.append(Said(Service.ABORT, event.ref))
                book.swallowing.add(event.ref)
            self._handle(event)
        self._says(says, knocks=True)
        nearest = min(book.deadlines(), default=None)
        wakes = self.machine.next_deadline
        must(wakes is None or wakes > now, "M6", "wakes at {}, and it is {}", wakes, now)
        if nearest is not None:
            must(nearest + LATEST > now, "M6", "something is overdue since {}", nearest)
            must(wakes is not None and wakes <= nearest + LATEST, "M6", "wakes at {} for {}", wakes, nearest)
        self._settled()
        return over

    def _is_over(self, event: events.ConnectionOver) -> None:
        """[MFP-8.7.2] [MFP-8.7.4] A dead peer was pinged and stayed silent; an idle connection rests."""
        settings = self.book.settings
        if event.code is CloseCode.GOING_AWAY:
            silent = self.now - self.heard
            must(silent >= 2 * settings.keepalive, "8.7.2", "called dead after {} s", silent)
            must(self.knocked is not None, "8.7.2", "called dead without a ping")
            waited = self.now - (self.knocked or 0.0)
            must(waited >= settings.keepalive, "8.7.2", "called dead {} s after the ping", waited)
        else:
            must(self.now - self.used >= settings.idle_timeout, "8.7.4", "called idle, used at {}", self.used)
            must(not self.book.asked and not self.book.answering, "8.7.4", "called idle with requests")
        self.accounts.counts[f"found {event.code.name.lower()}"] += 1

    def _handle(self, event: events.Event) -> None:
        if isinstance(event, events.Acknowledged):
            self.book.acks.remove(event.id)
        elif isinstance(event, events.PongReceived):
            self.book.pings.remove(event.id)
            self.pinged.pop(event.id)
        elif isinstance(event, events.MessageReceived):
            self._message(event.frame, event.exchange)
        elif isinstance(event, events.MessageLost):
            self.book.end_theirs(event.ref)
            self.accounts.counts["announced lost"] += 1
        elif isinstance(event, events.MessageRefused):
            self._refused(event.id)
        elif isinstance(
            event,
            events.RequestReceived | events.ResponseReceived | events.RequestFailed | events.RequestCancelled,
        ):
            self._handle_request(event)
        else:
            self._handle_stream(event)

    def _handle_request(
        self,
        event: events.RequestReceived
        | events.ResponseReceived
        | events.RequestFailed
        | events.RequestCancelled,
    ) -> None:
        book, accounts = self.book, self.accounts
        if isinstance(event, events.RequestReceived):
            self._new_exchange(event.exchange)
            accounts.request_arrives(event.frame.payload, event.frame.files)
            book.answering[event.frame.id].token = event.frame.payload
        elif isinstance(event, events.RequestCancelled):
            opened = book.answering[event.ref].exchange
            must(opened == event.exchange, "M10", "{} in another exchange", event)
            book.end_theirs(event.ref)
        elif isinstance(event, events.ResponseReceived):
            asked = book.settle(event.ref)
            must(asked.exchange == event.exchange, "M7", "{} in another exchange", event)
            accounts.answer_arrives(asked.token, event.frame.payload)
        else:
            asked = book.settle(event.id)
            must(asked.exchange == event.exchange, "M7", "{} in another exchange", event)
            by = "by the peer" if event.by_peer else "here"
            accounts.request_ends(asked.token, f"{event.code.name.lower()} {by}")

    def _handle_stream(self, event: events.Event) -> None:
        book, accounts = self.book, self.accounts
        if isinstance(event, events.StreamOpened):
            self._new_exchange(event.exchange)
            accounts.stream_arrives(event.frame.payload)
        elif isinstance(event, events.StreamChunk):
            flow = book.inflow[event.frame.ref]
            must(flow.exchange == event.exchange, "M12", "{} in another exchange", event)
            accounts.chunk_arrives(flow.token, event.frame)
            if event.frame.final:
                book.end_theirs(event.frame.ref)
        elif isinstance(event, events.StreamLost):
            accounts.reader_stops(book.inflow[event.ref].token, "its loss")
            book.end_theirs(event.ref)
        else:
            assert isinstance(event, events.StreamRefused), event
            self._refused(event.id)

    def _message(self, frame: MessageFrame, exchange: int) -> None:
        if frame.expected:
            came = [key for key, _ in frame.files]
            must(came == list(frame.expected), "M11", "{} is not whole", frame)
            opened = self.book.waiting[frame.id].exchange
            must(opened == exchange, "M11", "{} in another exchange", frame)
            self.book.end_theirs(frame.id)
        else:
            self._new_exchange(exchange)
        self.accounts.message_arrives(frame.payload, frame.files)
        self.refusable[frame.id] = exchange

    def _refused(self, id_: int) -> None:
        """The peer does not take a message or a stream of ours, perhaps one that was told to its end."""
        if id_ in self.book.sets or id_ in self.book.streams:
            self._ours_ends(id_, "refused")
            return
        self.book.acks.discard(id_)
        token = self.book.refusable.pop(id_)
        if token in self.accounts.messages:
            self.accounts.message_ends(token, "refused")

    def _ours_ends(self, id_: int, how: str) -> None:
        if id_ in self.book.sets:
            self.accounts.message_ends(self.book.sets[id_].token, how)
        else:
            self.accounts.sender_stops(self.book.streams[id_].token, how)
        self.book.end_ours(id_)


def _rule(frame: Frame) -> str:
    """What an event that should not be there, or is missing, breaks."""
    if isinstance(frame, BinaryFrame):
        return "M12"
    return "M10" if isinstance(frame, ServiceFrame) else "M7"


def _is_due(table: dict[int, Any], id_: int, now: float) -> None:
    must(id_ in table, "M6", "{} ended by time, but was over", id_)
    must(table[id_].deadline <= now, "M6", "{} given up before its time", id_)
