"""Two connections and a wire that loses nothing: whatever both owners do, the rules hold."""

from collections import deque
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from framehub.codes import BinaryKind, Service
from framehub.errors import LimitExceeded, StreamAborted
from framehub.ids import LAST
from framehub.mfp.checksum import Checksums
from framehub.mfp.connection import Connection
from framehub.mfp.events import (
    Event,
    MessageReceived,
    MessageRefused,
    PongReceived,
    RequestCancelled,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    StreamChunk,
    StreamLost,
    StreamOpened,
    StreamRefused,
)
from framehub.mfp.frames import BinaryFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.outbox import Outgoing
from framehub.mfp.settings import Settings

both = st.integers(0, 1)
acks = st.booleans()
LIMITS: dict[str, Any] = {
    "max_requests": 3,
    "max_announced": 2,
    "max_waiting_bytes": 12,
    "max_files": 4,
    "max_streams": 2,
}


class Side:
    """One connection and what its owner knows."""

    def __init__(self, checksums: Checksums, first_id: int) -> None:
        self.machine = Connection(Settings(checksums=checksums, **LIMITS), first_id=first_id)
        self.wire: deque[Outgoing] = deque()
        self.asked: dict[int, int] = {}
        """Requests without an end, and the exchange under which each was sent."""
        self.open: dict[int, int] = {}
        """The peer's requests without an end, and the exchange of each."""
        self.sets: dict[int, list[int]] = {}
        self.pings: set[int] = set()
        self.streams: dict[int, int] = {}
        """Our open streams by id, and how many chunks went out on each."""
        self.inflow: dict[int, int] = {}
        """The peer's open streams by id, and how many chunks came."""

    def settle(self, id_: int, exchange: int) -> None:
        assert self.asked.pop(id_) == exchange, "settled twice, or in another exchange"

    def handle(self, event: Event) -> None:
        if isinstance(event, ResponseReceived):
            self.settle(event.ref, event.exchange)
        elif isinstance(event, RequestFailed):
            self.settle(event.id, event.exchange)
        elif isinstance(event, RequestReceived):
            assert event.frame.id not in self.open
            self.open[event.frame.id] = event.exchange
        elif isinstance(event, RequestCancelled):
            assert self.open.pop(event.ref) == event.exchange
        elif isinstance(event, MessageRefused):
            self.sets.pop(event.id, None)
        elif isinstance(event, MessageReceived):
            assert [key for key, _ in event.frame.files] == list(event.frame.expected)
        elif isinstance(event, PongReceived):
            self.pings.remove(event.id)
        else:
            self.handle_stream(event)

    def handle_stream(self, event: Event) -> None:
        if isinstance(event, StreamOpened):
            assert event.frame.id not in self.inflow
            self.inflow[event.frame.id] = 0
        elif isinstance(event, StreamChunk):
            frame = event.frame
            assert frame.ref in self.inflow, "a chunk before the opening, after the end or after an abort"
            if frame.kind is not BinaryKind.NONE:
                assert frame.data == b"%d" % self.inflow[frame.ref], "in order, none twice, none left out"
                self.inflow[frame.ref] += 1
            if frame.final:
                del self.inflow[frame.ref]
        elif isinstance(event, StreamLost):
            del self.inflow[event.ref]
        elif isinstance(event, StreamRefused):
            del self.streams[event.id]

    def flush(self) -> list[Outgoing]:
        """Put what the machine wants to send on the wire."""
        sent = self.machine.drain()
        for outgoing in sent:
            if isinstance(outgoing.frame, RequestFrame):
                self.asked[outgoing.frame.id] = outgoing.exchange
        self.wire.extend(sent)
        return sent


class TwoConnections(RuleBasedStateMachine):
    """Rules are what owners, the wire and the clock can do."""

    @initialize(
        mode=st.sampled_from(["off", "flag", "always"]),
        first=st.tuples(st.sampled_from([1, LAST - 2]), st.sampled_from([1, LAST - 2])),
    )
    def connect(self, mode: str, first: tuple[int, int]) -> None:
        checksums = Checksums(mode, "xor8")  # type: ignore[arg-type]
        self.now = 0.0
        self.sides = [Side(checksums, first_id) for first_id in first]

    def who(self, what: str) -> list[Side]:
        """The sides that have something of this."""
        return [me for me in self.sides if getattr(me, what)]

    # --- owners ------------------------------------------------------------------------------------------

    @rule(side=both, ack=acks, timeout=st.sampled_from([None, None, 0.5, 100.0]))
    def ask(self, side: int, ack: bool, timeout: float | None) -> None:
        me = self.sides[side]
        try:
            id_ = me.machine.request(b"?", now=self.now, timeout=timeout, need_ack=ack)
        except LimitExceeded:
            assert len(me.asked) == LIMITS["max_requests"]
            return
        assert id_ not in me.asked
        assert 0 < id_ <= LAST
        me.flush()

    @rule(side=both, ack=acks)
    def tell(self, side: int, ack: bool) -> None:
        self.sides[side].machine.message(b"!", need_ack=ack)
        self.sides[side].flush()

    @rule(side=both, count=st.integers(1, 3), ack=acks)
    def announce(self, side: int, count: int, ack: bool) -> None:
        me = self.sides[side]
        keys = tuple(range(count))
        try:
            me.sets[me.machine.message(b"", expected=keys, need_ack=ack)] = list(keys)
        except LimitExceeded:
            assert len(me.sets) == LIMITS["max_announced"]
        me.flush()

    @precondition(lambda self: self.who("sets"))
    @rule(ack=acks, size=st.sampled_from([0, 5]), data=st.data())
    def send_file(self, ack: bool, size: int, data: st.DataObject) -> None:
        me = data.draw(st.sampled_from(self.who("sets")))
        ref = data.draw(st.sampled_from(sorted(me.sets)))
        key = data.draw(st.sampled_from(me.sets[ref]))
        try:
            me.machine.file(ref, key, b"x" * size, need_ack=ack)
        except LimitExceeded:
            assert me.machine._telling._bytes + size > LIMITS["max_waiting_bytes"]
            assert me.machine.give_up(ref)
            me.sets[ref] = [key]
        me.sets[ref].remove(key)
        if not me.sets[ref]:
            del me.sets[ref]
        me.flush()

    @precondition(lambda self: self.who("open"))
    @rule(ack=acks, refuse=st.sampled_from([False, False, True]), data=st.data())
    def answer(self, ack: bool, refuse: bool, data: st.DataObject) -> None:
        me = data.draw(st.sampled_from(self.who("open")))
        ref = data.draw(st.sampled_from(sorted(me.open)))
        if refuse:
            me.machine.refuse(ref)
        else:
            assert me.machine.respond(ref, b".", need_ack=ack) is not None
            assert me.machine.respond(ref, b".") is None
        (sent,) = me.flush()
        assert sent.exchange == me.open.pop(ref)

    @precondition(lambda self: self.who("asked"))
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        me = data.draw(st.sampled_from(self.who("asked")))
        id_ = data.draw(st.sampled_from(sorted(me.asked)))
        assert me.machine.cancel(id_)
        assert not me.machine.cancel(id_)
        (sent,) = me.flush()
        me.settle(id_, sent.exchange)

    @rule(side=both, ack=acks)
    def open_stream(self, side: int, ack: bool) -> None:
        me = self.sides[side]
        try:
            me.streams[me.machine.message(b"", streaming=True, need_ack=ack)] = 0
        except LimitExceeded:
            assert len(me.streams) == LIMITS["max_streams"]
        me.flush()

    @precondition(lambda self: self.who("streams"))
    @rule(
        ack=acks,
        key=st.sampled_from([None, 0]),
        end=st.sampled_from(["", "", "bytes", "bare"]),
        data=st.data(),
    )
    def send_chunk(self, ack: bool, key: int | None, end: str, data: st.DataObject) -> None:
        me = data.draw(st.sampled_from(self.who("streams")))
        ref = data.draw(st.sampled_from(sorted(me.streams)))
        if end == "bare":
            me.machine.chunk(ref, b"", final=True, need_ack=ack)
        else:
            me.machine.chunk(ref, b"%d" % me.streams[ref], key=key, final=end != "", need_ack=ack)
        me.streams[ref] += 1
        if end:
            del me.streams[ref]
            self.is_over(me, ref)
        me.flush()

    @precondition(lambda self: self.who("streams"))
    @rule(data=st.data())
    def give_up_stream(self, data: st.DataObject) -> None:
        me = data.draw(st.sampled_from(self.who("streams")))
        ref = data.draw(st.sampled_from(sorted(me.streams)))
        assert me.machine.give_up(ref)
        del me.streams[ref]
        self.is_over(me, ref)
        me.flush()

    def is_over(self, me: Side, ref: int) -> None:
        """Nothing of a stream that is over can be sent."""
        assert not me.machine.give_up(ref)
        with pytest.raises(StreamAborted):
            me.machine.chunk(ref, b"")

    @precondition(lambda self: self.who("inflow"))
    @rule(data=st.data())
    def abort_stream(self, data: st.DataObject) -> None:
        me = data.draw(st.sampled_from(self.who("inflow")))
        ref = data.draw(st.sampled_from(sorted(me.inflow)))
        assert me.machine.abort_stream(ref)
        assert not me.machine.abort_stream(ref)
        del me.inflow[ref]
        (sent,) = me.flush()
        assert isinstance(sent.frame, ServiceFrame)

    @rule(side=both)
    def ping(self, side: int) -> None:
        self.sides[side].pings.add(self.sides[side].machine.ping(self.now))
        self.sides[side].flush()

    # --- the wire and the clock --------------------------------------------------------------------------

    @precondition(lambda self: self.who("wire"))
    @rule(count=st.sampled_from([1, 2, 100]), data=st.data())
    def deliver(self, count: int, data: st.DataObject) -> None:
        side = self.sides.index(data.draw(st.sampled_from(self.who("wire"))))
        for _ in range(min(count, len(self.sides[side].wire))):
            self.carry(side)

    def carry(self, side: int) -> None:
        """Bring one frame over, and look at what it causes."""
        sender, receiver = self.sides[side], self.sides[1 - side]
        sent = sender.wire.popleft()
        frame = sent.frame
        received = receiver.machine.receive(sent.data, self.now)
        got, exchange, event = received.frame, received.exchange, received.event
        assert (got.id, type(got)) == (frame.id, type(frame))
        if event is not None:
            assert event.exchange == exchange
            receiver.handle(event)
        caused = [outgoing.frame for outgoing in receiver.flush()]
        said = [answer for answer in caused if isinstance(answer, ServiceFrame)]
        assert said == caused, "receiving causes service frames only"
        if isinstance(frame, ServiceFrame):
            assert [(answer.code, answer.ref) for answer in said] == (
                [(Service.ACK, frame.id)] if frame.code is Service.PING else []
            )
            return
        assert [answer.ref for answer in said if answer.code is Service.ACK] == [frame.id] * frame.need_ack
        if isinstance(frame, ResponseFrame | BinaryFrame):
            unknown = [answer.ref for answer in said if answer.code is Service.UNKNOWN]
            named = frame.id if isinstance(frame, ResponseFrame) else frame.ref
            assert unknown in ([], [named])

    @rule()
    def calm(self) -> None:
        """Everything arrives."""
        while senders := self.who("wire"):
            self.carry(self.sides.index(senders[0]))

    @rule(side=both, ack=acks)
    def converse(self, side: int, ack: bool) -> None:
        """Ask, let it arrive, answer everything, let that arrive: half of what connections do all day."""
        self.ask(side=side, ack=ack, timeout=None)
        self.calm()
        other = self.sides[1 - side]
        for ref in list(other.open):
            assert other.machine.respond(ref, b".", need_ack=ack)
            (sent,) = other.flush()
            assert sent.exchange == other.open.pop(ref)
        self.calm()
        assert not self.sides[side].asked

    @rule(step=st.sampled_from([0.01, 0.01, 0.01, 1.0, 31.0]))
    def wait(self, step: float) -> None:
        self.now += step
        for me in self.sides:
            for event in me.machine.tick(self.now):
                me.handle(event)
            me.flush()

    # --- what is always true -----------------------------------------------------------------------------

    @precondition(lambda self: hasattr(self, "sides"))
    @invariant()
    def limits_hold(self) -> None:
        for me in self.sides:
            assert len(me.asked) <= LIMITS["max_requests"]
            assert len(me.open) <= LIMITS["max_requests"]
            assert len(me.machine._announced) <= LIMITS["max_announced"]
            assert len(me.machine._streams) == len(me.inflow) <= LIMITS["max_streams"]
            assert len(me.machine._telling._streams) == len(me.streams) <= LIMITS["max_streams"]
            assert me.machine._announced._bytes <= LIMITS["max_waiting_bytes"]
            assert (me.machine.ignored, me.machine.strikes) == (0, 0), "honest peers are not blamed"
            assert not me.machine._conduct.strays._times

    def teardown(self) -> None:
        """In the end all is settled, and nothing is left."""
        if not hasattr(self, "sides"):
            return
        self.calm()
        for me in self.sides:
            for ref in list(me.streams):
                me.machine.chunk(ref, b"", final=True)
                del me.streams[ref]
            me.flush()
        for _ in range(3):
            self.calm()
            self.wait(200.0)
        self.calm()
        for me in self.sides:
            assert (me.asked, me.open, me.pings, len(me.wire)) == ({}, {}, set(), 0)
            assert (me.streams, me.inflow) == ({}, {})
            assert me.machine.pending == 0
            me.machine.close()
            assert me.machine.pending == 0


TestTwoConnections = TwoConnections.TestCase
TestTwoConnections.settings = settings(stateful_step_count=40)
