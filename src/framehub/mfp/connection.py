"""One MFP connection as a pipe: frames in, events and bytes out (spec/mfp.md, section 8). Pure.

Feed it with ``receive``, call ``tick`` at ``next_deadline``, send what ``drain`` gives. It owns no socket,
clock or task; time is an argument. Every conversation, whoever opened it, has a number, its ``exchange``;
each frame in or out is labelled with the exchange it belongs to (0: it refers to nothing known).

What the peer may not do raises ``RemoteProtocolError``: the connection cannot be trusted any more.
"""

from math import inf

from msgspec import Struct

from framehub.codes import BinaryKind, Service
from framehub.errors import RemoteProtocolError
from framehub.mfp import codec
from framehub.mfp.events import Event, MessageReceived
from framehub.mfp.frames import (
    BinaryFrame,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)
from framehub.mfp.speaking import Speaking


class Received(Struct, frozen=True, gc=False):
    """One frame of the peer: what it was, the conversation it belongs to, what it means to the owner."""

    frame: Frame
    exchange: int
    event: Event | None


class Connection(Speaking):
    """The rules of one connection; the same on both sides of it."""

    # --- what the peer sends ---------------------------------------------------------------------------

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        """Take one frame; nothing of it is referred to afterwards.

        Raises:
            MalformedFrame: these bytes are no frame.
            RemoteProtocolError: a frame that may not come now.
            PeerMisbehaved: a frame that came once too often.
        """
        settings = self.settings
        if len(data) > settings.max_frame_bytes:
            raise RemoteProtocolError(f"a frame of {len(data)} bytes, over max_frame_bytes")
        frame = codec.decode(
            data,
            settings.checksums,
            settings.max_files,
            settings.max_payload_bytes,
            settings.verify_always,
        )
        if type(frame) is ServiceFrame:
            self._heard_service = now
            return self._on_service(frame, now)
        self._heard = now
        if type(frame) is RequestFrame:
            return self._on_request(frame, now)
        if type(frame) is ResponseFrame:
            return self._on_response(frame, now)
        if type(frame) is BinaryFrame:
            return self._on_binary(frame, now)
        assert isinstance(frame, MessageFrame)
        return self._on_message(frame, now)

    def _on_request(self, frame: RequestFrame, now: float) -> Received:
        exchange = self._open(frame.id)
        if len(self._answering.working) >= self.settings.max_requests:
            self._conduct.strike(now, "a request over max_requests")
        if frame.need_ack:
            self.outbox.service(Service.ACK, frame.id, exchange)
        return Received(frame, exchange, self._answering.opened(frame, exchange, now))

    def _on_response(self, frame: ResponseFrame, now: float) -> Received:
        event = self._asked.answered(frame)
        if event:
            self._awaited.acks.pop(frame.ref, None)  # an answer says more than an ack that never came
        elif not self._asked.is_late(frame.ref):
            self._blame(now, "a response to nothing", known=self.outbox.has_sent(frame.ref))
        exchange = event.exchange if event else self._past_ours.get(frame.ref)
        if frame.need_ack:
            self.outbox.service(Service.ACK, frame.id, exchange)
        if event is None:
            self._unknowns.tell(frame.id, exchange, ref=frame.ref, now=now)
        return Received(frame, exchange, event)

    def _on_message(self, frame: MessageFrame, now: float) -> Received:
        exchange = self._open(frame.id)
        if frame.streaming and len(self._streams.open) >= self.settings.max_streams:
            self._conduct.strike(now, "a stream over max_streams")
        if frame.expected and not self._announced.has_room(frame):
            self._conduct.strike(now, "an announced message over a limit")
        if frame.need_ack:
            self.outbox.service(Service.ACK, frame.id, exchange)
        if frame.streaming:
            return Received(frame, exchange, self._streams.opened(frame, exchange))
        if frame.expected:
            self._announced.opened(frame, exchange, now)
            return Received(frame, exchange, None)
        self._told.add(frame.id, exchange)
        return Received(frame, exchange, MessageReceived(frame, exchange))

    def _on_binary(self, frame: BinaryFrame, now: float) -> Received:
        ref = frame.ref
        exchange = self._streams.exchange(ref) or self._announced.exchange(ref) or self._theirs(ref)
        self._judge(frame, exchange, now)
        if frame.need_ack:
            self.outbox.service(Service.ACK, frame.id, exchange)
        if ref in self._streams.open:
            return Received(frame, exchange, self._streams.received(frame))
        if ref in self._announced.sets:
            return Received(frame, exchange, self._announced.received(frame, now))
        self._dropped.late(frame, exchange, now)
        return Received(frame, exchange, None)

    def _judge(self, frame: BinaryFrame, exchange: int, now: float) -> None:
        """Blame the peer for a binary frame that has no place, before anything comes of it."""
        ref = frame.ref
        if ref in self._streams.open:
            if frame.kind is BinaryKind.EXPECTED:
                self._conduct.strike(now, "an announced file in a stream")
        elif ref in self._announced.sets:
            if (fault := self._announced.fault(frame)) is not None:
                self._conduct.strike(now, fault)
        elif not self._dropped.forgives(ref):
            self._blame(now, "a binary frame of nothing", known=exchange != 0)

    def _blame(self, now: float, why: str, *, known: bool) -> None:
        """A frame about what is over is a stray; one about what never was, a fault."""
        if known:
            self._conduct.strays.count(now, why)
        else:
            self._conduct.strike(now, why)

    def strike(self, now: float, why: str) -> None:
        """Count a fault of the peer's that only the owner can see, such as a payload that is no envelope.

        Raises:
            PeerMisbehaved: there were too many of late.
        """
        self._conduct.strike(now, why)

    @property
    def strikes(self) -> int:
        """How many faults of the peer's did not end the connection by themselves."""
        return self._conduct.strikes

    def _on_service(self, frame: ServiceFrame, now: float) -> Received:
        code, ref = frame.code, frame.ref
        if code is Service.PING:
            self._conduct.pings.count(now)
            exchange = self.outbox.new_exchange()
            self.outbox.service(Service.ACK, ref, exchange)
            return Received(frame, exchange, None)
        if code is Service.ACK:
            return self._on_ack(frame, now)
        if frame.own and code is Service.UNKNOWN:
            return self._ignore(frame, now)
        if frame.own:
            event = (
                self._answering.cancelled(ref, code)
                or self._announced.given_up(ref)
                or self._streams.given_up(ref)
            )
            if event is not None:
                self._conduct.cancels.count(now)
                return Received(frame, event.exchange, event)
            self._dropped.forget(ref)
            if exchange := self._past_theirs.get(ref):
                return Received(frame, exchange, None)
            # Nothing of theirs has this id: taken as ours, since a known peer sets the own bit here (8.5).
        return self._on_verdict(frame, now)

    def _on_verdict(self, frame: ServiceFrame, now: float) -> Received:
        """A timeout, abort or unknown about something that we sent."""
        ref = frame.ref
        if failed := self._asked.failed(ref, frame.code):
            self._awaited.acks.pop(ref, None)
            return Received(frame, failed.exchange, failed)
        if refused := self._telling.refused(ref, frame.code):
            self._awaited.acks.pop(ref, None)
            return Received(frame, refused.exchange, refused)
        return self._about_the_past(frame, now)

    def _on_ack(self, frame: ServiceFrame, now: float) -> Received:
        if frame.own:
            return self._ignore(frame, now)
        if event := self._awaited.came(frame.ref, now):
            return Received(frame, event.exchange, event)
        return self._about_the_past(frame, now)

    def _about_the_past(self, frame: ServiceFrame, now: float) -> Received:
        exchange = self._past_ours.get(frame.ref)
        return Received(frame, exchange, None) if exchange else self._ignore(frame, now)

    def _ignore(self, frame: ServiceFrame, now: float) -> Received:
        """A service frame about nothing that we remember; what we sent long ago may still be spoken of."""
        self.ignored += 1
        if frame.own or not self.outbox.has_sent(frame.ref):
            self._conduct.strays.count(now, "a service frame about nothing")
        return Received(frame, 0, None)

    # --- time and endings ------------------------------------------------------------------------------

    @property
    def next_deadline(self) -> float | None:
        """When to call ``tick``, if at all."""
        first = self._liveness.next
        for time in (self._asked.next_deadline, self._answering.next_deadline, self._announced.next_deadline):
            if time is not None and time < first:
                first = time
        return None if first == inf else first

    def tick(self, now: float) -> list[Event]:
        """Give up what is overdue, tell the peer, and say what was given up.

        A ``ConnectionOver`` among it says to close the connection: the peer is dead, or nobody uses it.
        """
        failed = self._asked.due(now)
        for event in failed:
            self._awaited.acks.pop(event.id, None)
        events: list[Event] = [*failed, *self._answering.due(now), *self._announced.due(now)]
        if now >= self._liveness.next:
            over = self._liveness.look(
                now,
                heard=self._heard,
                heard_service=self._heard_service,
                waiting=len(self._asked) + len(self._answering) > 0,
                deaf=self.deaf,
            )
            events += [over] if over else []
        return events

    def _open(self, id_: int) -> int:
        """Begin a conversation of the peer's under an id that nothing living has."""
        if id_ in self._answering.working or id_ in self._announced.sets or id_ in self._streams.open:
            raise RemoteProtocolError(f"id {id_} is still in use")
        if self._dropped.times:
            self._dropped.forget(id_)
        self.outbox.exchanges = exchange = self.outbox.exchanges + 1
        return exchange
