"""What the wire and the clock do to a watched machine: each frame and each tick is compared with the book."""

from typing import Any

from framehub.codes import Service
from framehub.errors import PeerMisbehaved
from framehub.mfp import events
from framehub.mfp.connection import Received
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from tests.simulation.book import Broken, Said, must
from tests.simulation.watched import Watched


class Hearing(Watched):
    """The half of a side that does not begin anything."""

    def __init__(self, *about: Any, **more: Any) -> None:
        super().__init__(*about, **more)
        self.pinged: dict[int, float] = {}
        """Our pings without a pong, and when each went out."""
        self.over: events.ConnectionOver | None = None
        """What a look at the clock found: the peer is dead, or nobody uses the connection."""
        self.refusable: dict[int, int] = {}
        """Messages of the peer's that the owner has and has not refused, and the exchange of each."""

    def receive(self, data: bytes, now: float) -> Received:
        """One frame of the peer; it causes what the rules say and nothing else."""
        self.now = now
        try:
            got = self.machine.receive(data, now)
        except PeerMisbehaved as refusal:
            self._was_too_much(data, refusal)
            raise
        self.signs.came(now, service=isinstance(got.frame, ServiceFrame))
        frame, exchange, event = got.frame, got.exchange, got.event
        swallowed = isinstance(frame, BinaryFrame) and frame.ref in self.book.swallowing
        expected = self.book.expect(frame, exchange, now)
        excess = self.book.conduct.excess
        must(excess is None, "8.8.1", "{} was taken, one too many {}", frame, excess)
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

    def _was_too_much(self, data: bytes, refusal: PeerMisbehaved) -> None:
        """[MFP-8.8.1] [MFP-8.8.2] One too many of a kind: rightly so, and without an answer."""
        frame = self.read(data)
        assert frame is not None, data
        self.book.expect(frame, 0, self.now)
        must(self.book.conduct.excess is not None, "8.8.2", "{}: {}", frame, refusal)
        must(not self.accounts.honest, "8.8.2", "among honest peers: {}", refusal)
        must(self.machine.drain() == [], "8.8.1", "{} was answered", frame)
        self.accounts.counts[f"too many {self.book.conduct.excess}"] += 1

    def tick(self, now: float, *, deaf: bool = False) -> None:
        """Time goes on: what is overdue ends, nothing before its time, and each is told to the peer.

        The machine may ping on its own account, and find that the connection is over. ``deaf``: we do not
        read at present.
        """
        book = self.book
        says: list[Said] = []
        self.now = now
        self.machine.deaf = deaf
        for event in self.machine.tick(now):
            if isinstance(event, events.ConnectionOver):
                self.over = event
                self.accounts.counts[f"found {event.code.name.lower()}"] += 1
                continue
            if isinstance(event, events.RequestFailed):
                _is_due(book.asked, event.id, now)
                says.append(Said(Service.TIMEOUT, event.id, True))
                book.given_up.add(event.id)
            elif isinstance(event, events.RequestCancelled):
                _is_due(book.answering, event.ref, now)
                says.append(Said(Service.TIMEOUT, event.ref))
            else:
                ref = self._unfinished(event)
                _is_due(book.waiting, ref, now)
                says.append(Said(Service.ABORT, ref))
                book.swallowing.add(ref)
            self._handle(event)
        knocks = self._says_or_knocks(says)
        nearest = min(book.deadlines(), default=None)
        wakes = self.machine.next_deadline
        must(wakes is None or wakes > now, "M6", "wakes at {}, and it is {}", wakes, now)
        if nearest is not None:
            must(nearest > now, "M6", "something is overdue since {}", nearest)
            must(wakes is not None and wakes <= nearest, "M6", "wakes at {} for {}", wakes, nearest)
        self.signs.looked(
            now,
            knocks=knocks,
            over=self.over,
            deaf=deaf,
            waiting=bool(book.asked or book.answering),
            wakes=wakes,
        )
        self.accounts.counts["knocks of the deaf"] += knocks and deaf
        self._settled()

    def _unfinished(self, event: events.Event) -> int:
        """An announced message without progress: lost, or delivered as it is, by the policy."""
        if self.book.settings.bad_files == "drop":
            assert isinstance(event, events.MessageLost), event
            return event.ref
        assert isinstance(event, events.MessageReceived), event
        return event.frame.id

    def _handle(self, event: events.Event) -> None:
        if isinstance(event, events.Acknowledged):
            self.book.acks.remove(event.id)
        elif isinstance(event, events.PongReceived):
            self.book.pings.remove(event.id)
            self.pinged.pop(event.id)
        elif isinstance(event, events.MessageReceived):
            self._message(event)
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

    def _message(self, event: events.MessageReceived) -> None:
        frame, exchange = event.frame, event.exchange
        left_out = {key for key, _ in event.left_out}
        if frame.expected:
            waiting = self.book.waiting[frame.id]
            came = tuple((key, waiting.files[key]) for key in waiting.keys if key in waiting.files)
            must(frame.files == came, "M11", "{} came with {}", frame, came)
            bad = waiting.missing | waiting.left_out
            must(left_out == bad, "8.4.8", "{} without {}, told as {}", frame, bad, event.left_out)
            must(waiting.exchange == exchange, "M11", "{} in another exchange", frame)
            self.book.end_theirs(frame.id)
        else:
            must(not left_out, "8.4.8", "{} has nothing to leave out", frame)
            self._new_exchange(exchange)
        self.accounts.message_arrives(frame.payload, frame.files, in_part=bool(left_out))
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
