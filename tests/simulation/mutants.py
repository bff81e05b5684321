"""Broken wires and machines, each with one fault. The ledger is worth something if it finds every one."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Final, NamedTuple

from framehub.codes import CloseCode, Service
from framehub.mfp import events
from framehub.mfp.connection import Connection, Received
from framehub.mfp.encoder import encode
from framehub.mfp.frames import BinaryFrame, MessageFrame, ResponseFrame, ServiceFrame
from framehub.mfp.outbox import Outgoing
from framehub.mfp.settings import Settings
from tests.simulation.plan import sums
from tests.simulation.wire import Parcel, Wire

MANY: Final = 10**9

# --- wires -------------------------------------------------------------------------------------------------


class DropsOne(Wire):
    """Loses its third parcel."""

    _count = 0

    def put(self, arrives: float, data: bytes, sent: Outgoing | None) -> None:
        self._count += 1
        if self._count != 3:
            super().put(arrives, data, sent)


class DuplicatesOne(Wire):
    """Brings its third parcel twice."""

    _count = 0

    def put(self, arrives: float, data: bytes, sent: Outgoing | None) -> None:
        self._count += 1
        super().put(arrives, data, sent)
        if self._count == 3:
            super().put(arrives, data, sent)


class SwapsTwo(Wire):
    """Lets a parcel overtake the one before it."""

    def take(self) -> Parcel:
        first = super().take()
        if not len(self):
            return first
        second = super().take()
        self._parcels.appendleft(first)
        self._bytes += len(first.data)
        return second


class ChangesOne(Wire):
    """Changes the last byte of every payload; there is no checksum to tell in many runs."""

    def take(self) -> Parcel:
        parcel = super().take()
        if parcel.sent is not None and getattr(parcel.sent.frame, "payload", None):
            return parcel._replace(data=parcel.data[:-1] + bytes((parcel.data[-1] ^ 1,)))
        return parcel


# --- machines ----------------------------------------------------------------------------------------------


class LosesChunks(Connection):
    """Every second chunk does not reach the owner."""

    _chunks = 0

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.event, events.StreamChunk) and not got.event.frame.final:
            self._chunks += 1
            if self._chunks % 2 == 0:
                return Received(got.frame, got.exchange, None)
        return got


class DeliversAfterAbort(Connection):
    """Chunks that should be swallowed reach the owner."""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.frame, BinaryFrame) and got.event is None and got.frame.key is None:
            return Received(got.frame, got.exchange, events.StreamChunk(got.frame, got.exchange))
        return got


class DeliversTwice(Connection):
    """The next acknowledgement brings the last message again."""

    _last: Received | None = None

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.event, events.MessageReceived):
            self._last = got
        elif isinstance(got.event, events.Acknowledged) and self._last:
            return Received(got.frame, got.exchange, self._last.event)
        return got


class SwapsChunks(Connection):
    """A chunk is told with the bytes of the one before it."""

    _last = b""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.event, events.StreamChunk) and got.event.frame.data:
            frame = got.event.frame
            told = BinaryFrame(
                id=frame.id, ref=frame.ref, kind=frame.kind, key=frame.key, data=self._last, final=frame.final
            )
            last, self._last = self._last, frame.data
            if last:
                return Received(got.frame, got.exchange, events.StreamChunk(told, got.exchange))
        return got


class AnswersLate(Connection):
    """An answer that came too late is given to the owner."""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.frame, ResponseFrame) and got.event is None:
            return Received(
                got.frame, got.exchange, events.ResponseReceived(got.frame.ref, got.frame, got.exchange)
            )
        return got


class MixesAnswers(Connection):
    """Every answer has the payload of the one before."""

    _last: bytes = b""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.event, events.ResponseReceived):
            frame = got.event.frame
            told = ResponseFrame(id=frame.id, ref=frame.ref, payload=self._last or frame.payload)
            self._last = frame.payload
            return Received(got.frame, got.exchange, events.ResponseReceived(frame.ref, told, got.exchange))
        return got


class DeliversHalf(Connection):
    """An announced message is told without its last file."""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.event, events.MessageReceived) and got.event.frame.expected:
            frame = got.event.frame
            told = MessageFrame(
                id=frame.id, payload=frame.payload, expected=frame.expected, files=frame.files[:-1]
            )
            return Received(got.frame, got.exchange, events.MessageReceived(told, got.exchange))
        return got


class Says(Connection):
    """A machine whose service frames are tampered with."""

    def tamper(self, frame: ServiceFrame) -> list[ServiceFrame]:
        return [frame]

    def drain(self) -> list[Outgoing]:
        out: list[Outgoing] = []
        for one in super().drain():
            if not isinstance(one.frame, ServiceFrame):
                out.append(one)
                continue
            for frame in self.tamper(one.frame):
                out.append(Outgoing((encode(frame, sums(self.settings)),), frame, one.exchange))
        return out


class ForgetsAcks(Says):
    def tamper(self, frame: ServiceFrame) -> list[ServiceFrame]:
        return [] if frame.code is Service.ACK else [frame]


class AcksTwice(Says):
    def tamper(self, frame: ServiceFrame) -> list[ServiceFrame]:
        return [frame, frame] if frame.code is Service.ACK else [frame]


class TurnsTheOwnBit(Says):
    """Speaks of the peer's ids where its own are meant, and the other way round."""

    def tamper(self, frame: ServiceFrame) -> list[ServiceFrame]:
        if frame.code is Service.PING:
            return [frame]
        return [ServiceFrame(id=frame.id, code=frame.code, ref=frame.ref, own=not frame.own)]


class AnswersServiceFrames(Connection):
    """Thanks for every acknowledgement: two of these never stop."""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.event, events.Acknowledged):
            self.refuse(got.frame.id)
        return got


class SilentTimeouts(Connection):
    """What is overdue vanishes without a word to its owner."""

    def tick(self, now: float) -> list[events.Event]:
        super().tick(now)
        return []


class Hasty(Connection):
    """Gives its requests up five seconds early."""

    def tick(self, now: float) -> list[events.Event]:
        early = self._asked.due(now + 5.0)
        for event in early:
            self.forget(event.id)
        return [*early, *super().tick(now)]


class Impatient(Connection):
    """Calls its peer dead at the first look."""

    def tick(self, now: float) -> list[events.Event]:
        return [*super().tick(now), events.ConnectionOver(CloseCode.GOING_AWAY, "no patience")]


class Suspicious(Connection):
    """Calls every late answer a fault."""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.frame, ResponseFrame) and got.event is None:
            self.strike(now, "late")
            self.strike(now, "late")
        return got


class Patient(Connection):
    """Takes whatever comes, however often."""

    def __init__(self, settings: Settings, *, first_id: int = 1) -> None:
        super().__init__(
            replace(settings, max_strikes=MANY, max_strays=MANY, max_cancels=MANY, max_pings=MANY),
            first_id=first_id,
        )


class Trusting(Connection):
    """Never asks for a sign of life."""

    def __init__(self, settings: Settings, *, first_id: int = 1) -> None:
        super().__init__(replace(settings, keepalive=inf, idle_timeout=inf), first_id=first_id)


class KnowsNotThatItIsDeaf(Connection):
    """Judges the peer by its silence while it does not read."""

    def tick(self, now: float) -> list[events.Event]:
        deaf, self.deaf = self.deaf, False
        caused = super().tick(now)
        self.deaf = deaf
        return caused


class Chatty(Connection):
    """Says ``unknown`` each time."""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        self._unknowns.clear()
        self._dropped._unknowns.clear()
        return super().receive(data, now)


class HidesWhatIsMissing(Connection):
    """Delivers without the files that did not come in time, and does not tell which."""

    def tick(self, now: float) -> list[events.Event]:
        return [
            events.MessageReceived(event.frame, event.exchange)
            if isinstance(event, events.MessageReceived)
            else event
            for event in super().tick(now)
        ]


class NeverTicks(Connection):
    """Gives up nothing."""

    def tick(self, now: float) -> list[events.Event]:
        return []


class Unlimited(Connection):
    """Forgets that there is a limit, by answering for the owner."""

    def receive(self, data: bytes | memoryview, now: float) -> Received:
        got = super().receive(data, now)
        if isinstance(got.event, events.RequestReceived):
            self.respond(got.event.frame.id, b"")
        return got


class StaysOpen(Connection):
    """Closing closes nothing."""

    def close(self) -> None:
        pass


class KeepsSettled(Connection):
    """Cancelling says so, but the answer is still awaited."""

    def cancel(self, id_: int) -> bool:
        done = super().cancel(id_)
        if done:
            self.request(b"", now=0.0)
        return done


class Mutant(NamedTuple):
    """A fault, and the rules by which it may be noticed first."""

    rules: str
    machine: Callable[..., Connection] = Connection
    wire: Callable[[int], Wire] = Wire


MUTANTS: Final[dict[str, Mutant]] = {
    "drops one frame": Mutant("M6 M7 M8 M9 M11 M12 M15 M18", wire=DropsOne),
    "duplicates one frame": Mutant("M5 M6 M11 M12 M18 M9 M15", wire=DuplicatesOne),
    "swaps two frames": Mutant("M5 M6 M7 M8 M11 M12 M18", wire=SwapsTwo),
    "changes one byte": Mutant("M1 M2 M5 M6 M7 M11 M12", wire=ChangesOne),
    "loses chunks": Mutant("M12", LosesChunks),
    "delivers after an abort": Mutant("M12 M16", DeliversAfterAbort),
    "delivers a message twice": Mutant("M10", DeliversTwice),
    "swaps two chunks": Mutant("M12", SwapsChunks),
    "delivers late answers": Mutant("M7", AnswersLate),
    "mixes answers up": Mutant("M7", MixesAnswers),
    "delivers half a message": Mutant("M11", DeliversHalf),
    "forgets acks": Mutant("M8 M9", ForgetsAcks),
    "acks twice": Mutant("M8 M9", AcksTwice),
    "turns the own bit": Mutant("M6 M8 M9 M16", TurnsTheOwnBit),
    "answers service frames": Mutant("M9", AnswersServiceFrames),
    "times out silently": Mutant("M6 M9", SilentTimeouts),
    "gives up early": Mutant("M6", Hasty),
    "never gives up": Mutant("M6", NeverTicks),
    "calls its peer dead": Mutant("8.7.2", Impatient),
    "never asks for signs of life": Mutant("8.7.1 8.7.3", Trusting),
    "does not know that it is deaf": Mutant("8.7.2 8.7.3", KnowsNotThatItIsDeaf),
    "calls a late answer a fault": Mutant("8.8.2", Suspicious),
    "takes whatever comes": Mutant("8.8.1", Patient),
    "says unknown each time": Mutant("M8", Chatty),
    "does not tell what is missing": Mutant("8.4.8", HidesWhatIsMissing),
    "answers for its owner": Mutant("M8", Unlimited),
    "stays open": Mutant("M15", StaysOpen),
    "waits on after a cancellation": Mutant("M9", KeepsSettled),
}
