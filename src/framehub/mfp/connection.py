"""One MFP connection as a pipe: frames in, events and bytes out (spec/mfp.md, section 8). Pure.

Feed it with ``receive``, call ``tick`` at ``next_deadline``, send what ``drain`` gives. It owns no socket,
clock or task; time is an argument. Every conversation, whoever opened it, has a number, its ``exchange``;
each frame in or out is labelled with the exchange it belongs to (0: it refers to nothing known).

What the peer may not do raises ``RemoteProtocolError``: the connection cannot be trusted any more.
"""

from collections.abc import Sequence

from msgspec import Struct

from framehub.codes import Service
from framehub.errors import RemoteProtocolError
from framehub.mfp import codec
from framehub.mfp.announced import Announced
from framehub.mfp.answering import Answering
from framehub.mfp.asked import Asked
from framehub.mfp.dropped import Dropped
from framehub.mfp.events import Acknowledged, Event, MessageReceived, PongReceived
from framehub.mfp.frames import (
    BinaryFrame,
    Files,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)
from framehub.mfp.outbox import Outbox, Outgoing
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings
from framehub.mfp.streams import Streams
from framehub.mfp.telling import Telling


class Received(Struct, frozen=True, gc=False):
    """One frame of the peer: what it was, the conversation it belongs to, what it means to the owner."""

    frame: Frame
    exchange: int
    event: Event | None


class Connection:
    """The rules of one connection; the same on both sides of it."""

    def __init__(self, settings: Settings, *, first_id: int = 1) -> None:
        self.settings = settings
        self.ignored = 0
        """Service frames about nothing we know: lawful one by one, suspicious in crowds."""
        self._outbox = Outbox(settings, self._is_live, first_id=first_id)
        # What we sent, by our ids.
        self._past_ours = Remembered(settings.remembered)
        self._asked = Asked(settings, self._outbox, self._past_ours)
        self._acks: dict[int, int] = {}
        self._pings: dict[int, tuple[int, float]] = {}
        self._telling = Telling(settings, self._outbox, self._past_ours)
        # What the peer sent, by its ids. A message in one frame has nothing to give up: kept apart (8.5).
        self._past_theirs = Remembered(settings.remembered)
        self._told = Remembered(settings.remembered)
        self._answering = Answering(settings, self._outbox, self._past_theirs)
        self._dropped = Dropped(settings, self._outbox, self._past_theirs)
        self._announced = Announced(settings, self._dropped, self._past_theirs)
        self._streams = Streams(settings, self._dropped, self._past_theirs)

    # --- what the peer sends ---------------------------------------------------------------------------

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        """Take one frame; nothing of it is referred to afterwards.

        Raises:
            MalformedFrame: these bytes are no frame.
            RemoteProtocolError: a frame that may not come now.
        """
        settings = self.settings
        if len(data) > settings.max_frame_bytes:
            raise RemoteProtocolError(f"a frame of {len(data)} bytes, over max_frame_bytes")
        frame = codec.decode(data, settings.checksums, max_files=settings.max_files)
        if type(frame) is RequestFrame:
            return self._on_request(frame, now)
        if type(frame) is ResponseFrame:
            return self._on_response(frame)
        if type(frame) is BinaryFrame:
            return self._on_binary(frame, now)
        if isinstance(frame, MessageFrame):
            return self._on_message(frame, now)
        assert isinstance(frame, ServiceFrame)
        return self._on_service(frame, now)

    def _on_request(self, frame: RequestFrame, now: float) -> Received:
        exchange = self._open(frame.id)
        if frame.need_ack:
            self._outbox.service(Service.ACK, frame.id, exchange)
        return Received(frame, exchange, self._answering.opened(frame, exchange, now))

    def _on_response(self, frame: ResponseFrame) -> Received:
        event = self._asked.answered(frame)
        if event:
            self._acks.pop(frame.ref, None)  # an answer says more than an acknowledgement that never came
        exchange = event.exchange if event else self._past_ours.get(frame.ref)
        if frame.need_ack:
            self._outbox.service(Service.ACK, frame.id, exchange)
        if event is None:
            self._outbox.service(Service.UNKNOWN, frame.id, exchange)
        return Received(frame, exchange, event)

    def _on_message(self, frame: MessageFrame, now: float) -> Received:
        exchange = self._open(frame.id)
        if frame.need_ack:
            self._outbox.service(Service.ACK, frame.id, exchange)
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
        if frame.need_ack:
            self._outbox.service(Service.ACK, frame.id, exchange)
        if ref in self._streams.open:
            return Received(frame, exchange, self._streams.received(frame))
        if ref in self._announced.sets:
            return Received(frame, exchange, self._announced.received(frame, now))
        self._dropped.late(frame, exchange)
        return Received(frame, exchange, None)

    def _on_service(self, frame: ServiceFrame, now: float) -> Received:
        code, ref = frame.code, frame.ref
        if code is Service.PING:
            exchange = self._outbox.new_exchange()
            self._outbox.service(Service.ACK, ref, exchange)
            return Received(frame, exchange, None)
        if code is Service.ACK:
            return self._on_ack(frame, now)
        if frame.own and code is Service.UNKNOWN:
            self.ignored += 1
            return Received(frame, 0, None)
        if frame.own:
            event = (
                self._answering.cancelled(ref, code)
                or self._announced.given_up(ref)
                or self._streams.given_up(ref)
            )
            if event is not None:
                return Received(frame, event.exchange, event)
            self._dropped.forget(ref)
            if exchange := self._past_theirs.get(ref):
                return Received(frame, exchange, None)
            # Nothing of theirs has this id: taken as ours, since a known peer sets the own bit here (8.5).
        return self._on_verdict(frame)

    def _on_verdict(self, frame: ServiceFrame) -> Received:
        """A timeout, abort or unknown about something that we sent."""
        ref = frame.ref
        if failed := self._asked.failed(ref, frame.code):
            self._acks.pop(ref, None)
            return Received(frame, failed.exchange, failed)
        if refused := self._telling.refused(ref, frame.code):
            self._acks.pop(ref, None)
            return Received(frame, refused.exchange, refused)
        return self._about_the_past(frame)

    def _on_ack(self, frame: ServiceFrame, now: float) -> Received:
        if frame.own:
            self.ignored += 1
            return Received(frame, 0, None)
        ref = frame.ref
        if ref in self._pings:
            exchange, sent = self._pings.pop(ref)
            return Received(frame, exchange, PongReceived(ref, now - sent, exchange))
        if exchange := self._acks.pop(ref, 0):
            return Received(frame, exchange, Acknowledged(ref, exchange))
        return self._about_the_past(frame)

    def _about_the_past(self, frame: ServiceFrame) -> Received:
        exchange = self._past_ours.get(frame.ref)
        if not exchange:
            self.ignored += 1
        return Received(frame, exchange, None)

    def peer_takes(self, frame_bytes: int) -> None:
        """The peer told how large a frame it takes: send none that is larger."""
        self._outbox.max_frame_bytes = max(64, min(self._outbox.max_frame_bytes, frame_bytes))

    def check_sizes(self, payload: int, files: Sequence[int]) -> None:
        """Raise ``LimitExceeded`` for what no frame to this peer can carry, by sizes alone."""
        self._outbox.check_sizes(payload, files)

    # --- what the owner sends --------------------------------------------------------------------------

    def request(
        self,
        payload: bytes,
        files: Files = (),
        *,
        now: float,
        timeout: float | None = None,
        need_ack: bool = False,
        checksum: bool = False,
    ) -> int:
        """Ask; the id under which the answer will be told.

        Raises:
            LimitExceeded: too many requests wait already, or this one is too big for a frame.
        """
        deadline = now + (self.settings.request_timeout if timeout is None else timeout)
        id_, exchange = self._asked.ask(payload, files, deadline, need_ack, checksum)
        if need_ack:
            self._acks[id_] = exchange
        return id_

    def message(
        self,
        payload: bytes,
        files: Files = (),
        *,
        expected: tuple[int, ...] = (),
        streaming: bool = False,
        need_ack: bool = False,
        checksum: bool = False,
    ) -> int:
        """Tell; files of ``expected`` keys follow by ``file``, the chunks of a stream by ``chunk``."""
        id_, exchange = self._telling.message(
            payload, files, expected=expected, streaming=streaming, need_ack=need_ack, checksum=checksum
        )
        return self._waiting(id_, exchange, need_ack)

    def file(self, ref: int, key: int, data: bytes, *, need_ack: bool = False, checksum: bool = False) -> int:
        """One announced file of our message ``ref``; the last missing one ends it."""
        id_, exchange = self._telling.file(ref, key, data, need_ack=need_ack, checksum=checksum)
        return self._waiting(id_, exchange, need_ack)

    def chunk(
        self,
        ref: int,
        data: bytes,
        *,
        key: int | None = None,
        final: bool = False,
        need_ack: bool = False,
        checksum: bool = False,
    ) -> int:
        """The next chunk of our stream ``ref``: of the file ``key``, or data that is no file.

        Raises:
            StreamAborted: the peer wants no more of it.
        """
        id_, exchange = self._telling.chunk(
            ref, data, key=key, final=final, need_ack=need_ack, checksum=checksum
        )
        return self._waiting(id_, exchange, need_ack)

    def give_up(self, ref: int) -> bool:
        """Abort an announced message or a stream of ours; false if it was over."""
        self._acks.pop(ref, None)
        return self._telling.give_up(ref)

    def abort_stream(self, ref: int) -> bool:
        """Want no more of a stream of the peer's; false if it was over."""
        return self._streams.abort(ref)

    def respond(
        self, ref: int, payload: bytes, files: Files = (), *, need_ack: bool = False, checksum: bool = False
    ) -> int | None:
        """Answer the peer's request; None, and nothing is sent, if it no longer waits."""
        sent = self._answering.respond(ref, payload, files, need_ack, checksum)
        if sent is None:
            return None
        id_, exchange = sent
        self._past_ours.add(id_, exchange)
        if need_ack:
            self._acks[id_] = exchange
        return id_

    def refuse(self, ref: int) -> None:
        """Tell the peer that its request or message will not be worked on."""
        if not self._answering.refuse(ref):
            self._outbox.service(Service.ABORT, ref, self._theirs(ref))

    def cancel(self, id_: int) -> bool:
        """Give up a request of ours that still waits, and say so; false if it was settled before."""
        self._acks.pop(id_, None)
        return self._asked.cancel(id_)

    def ping(self, now: float) -> int:
        """Ask for a sign of life; the id under which the pong will be told."""
        id_ = self._outbox.new_id()
        exchange = self._outbox.new_exchange()
        self._outbox.send(ServiceFrame(id=id_, code=Service.PING, ref=id_, own=True), exchange)
        self._pings[id_] = (exchange, now)
        return id_

    def forget(self, id_: int) -> None:
        """Wait no longer for the pong or the acknowledgement of ``id_``; one that comes late is ignored."""
        if exchange := self._acks.pop(id_, 0):
            self._past_ours.add(id_, exchange)
        if ping := self._pings.pop(id_, None):
            self._past_ours.add(id_, ping[0])

    def is_telling(self, ref: int) -> bool:
        """Whether our announced message or stream ``ref`` goes on: not if the peer refused it."""
        return ref in self._telling

    # --- time and endings ------------------------------------------------------------------------------

    @property
    def next_deadline(self) -> float | None:
        """When to call ``tick``, if at all."""
        times = (self._asked.next_deadline, self._answering.next_deadline, self._announced.next_deadline)
        return min((time for time in times if time is not None), default=None)

    def tick(self, now: float) -> list[Event]:
        """Give up what is overdue, tell the peer, and say what was given up."""
        failed = self._asked.due(now)
        for event in failed:
            self._acks.pop(event.id, None)
        return [*failed, *self._answering.due(now), *self._announced.due(now)]

    @property
    def has_output(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._outbox.frames)

    def drain(self) -> list[Outgoing]:
        """Take everything that waits to be sent, in order."""
        return self._outbox.drain()

    def close(self) -> None:
        """Forget everything: nothing is sent, received or waited for any more."""
        self._outbox.close()
        self._asked.clear()
        self._acks.clear()
        self._pings.clear()
        self._telling.clear()
        self._past_ours.clear()
        self._past_theirs.clear()
        self._told.clear()
        self._answering.clear()
        self._announced.clear()
        self._streams.clear()
        self._dropped.clear()

    @property
    def pending(self) -> int:
        """How much is under way in both directions; 0 after ``close``."""
        ours = len(self._asked) + len(self._acks) + len(self._pings) + len(self._telling)
        return ours + len(self._answering) + len(self._announced) + len(self._streams)

    def _open(self, id_: int) -> int:
        """Begin a conversation of the peer's under an id that nothing living has."""
        if id_ in self._answering.working or id_ in self._announced.sets or id_ in self._streams.open:
            raise RemoteProtocolError(f"id {id_} is still in use")
        if self._dropped.aborts:
            self._dropped.forget(id_)
        self._outbox.exchanges = exchange = self._outbox.exchanges + 1
        return exchange

    def _theirs(self, ref: int) -> int:
        """The exchange of what the peer last sent under this id and has finished, or 0."""
        return max(self._past_theirs.get(ref), self._told.get(ref))

    def _is_live(self, id_: int) -> bool:
        return id_ in self._asked.waiting or id_ in self._acks or id_ in self._pings or id_ in self._telling

    def _waiting(self, id_: int, exchange: int, need_ack: bool) -> int:
        if need_ack:
            self._acks[id_] = exchange
        return id_
