"""What one side of a connection must know and say, told once more from spec/mfp.md, section 8.

A book is the plain model of one connection machine: dictionaries, no buckets, no bounded memories, no bytes.
``expect`` says what a frame of the peer must cause; the calls of the owner are entered by ``side.py``.
"""

from math import inf
from typing import NamedTuple

from framehub.codes import BinaryKind, Service
from framehub.mfp import events
from framehub.mfp.frames import (
    BinaryFrame,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)
from framehub.mfp.settings import Settings
from tests.simulation.conduct import Conduct

QUIET = 5.0
"""Seconds in which ``unknown`` is said once about the same ref."""


class Broken(AssertionError):
    """A rule did not hold; ``rule`` names it."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


def must(holds: bool, rule: str, text: str, *about: object) -> None:
    """``rule`` holds here; ``text`` is only filled in if it does not."""
    if not holds:
        raise Broken(rule, text.format(*about))


class Said(NamedTuple):
    """A service frame without its id."""

    code: Service
    ref: int
    own: bool = False


class Expected(NamedTuple):
    """What one frame causes: at most one event, and service frames in this order."""

    event: type[events.Event] | None
    says: list[Said]


class Asked:
    """A request of ours, or one of the peer's (then without a token)."""

    __slots__ = ("deadline", "exchange", "token")

    def __init__(self, exchange: int, deadline: float, token: bytes = b"") -> None:
        self.exchange = exchange
        self.deadline = deadline
        self.token = token


class Set:
    """An announced message: of ours, or of the peer's while files are missing."""

    __slots__ = ("bytes", "deadline", "exchange", "files", "keys", "left_out", "missing", "token")

    def __init__(self, exchange: int, token: bytes, keys: tuple[int, ...], deadline: float = 0.0) -> None:
        self.exchange = exchange
        self.token = token
        self.keys = keys
        self.missing = set(keys)
        self.left_out: set[int] = set()
        """Keys of files that were bad, under the policy ``deliver``."""
        self.files: dict[int, bytes] = {}
        self.bytes = len(token)
        self.deadline = deadline


class Flow:
    """An open stream, ours or the peer's: its token and how many chunks went by."""

    __slots__ = ("chunks", "exchange", "token")

    def __init__(self, exchange: int, token: bytes) -> None:
        self.exchange = exchange
        self.token = token
        self.chunks = 0


class Book:
    """Everything alive on one side, by id."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # Of ours.
        self.asked: dict[int, Asked] = {}
        self.acks: set[int] = set()
        self.pings: set[int] = set()
        self.sets: dict[int, Set] = {}
        self.streams: dict[int, Flow] = {}
        self.refusable: dict[int, bytes] = {}
        """Messages told whole, and their tokens: the peer may still refuse them."""
        self.past: set[int] = set()
        """Our ids about which something may come late."""
        self.just_over: set[int] = set()
        """Those of them about which something may be on its way now."""
        self.given_up: set[int] = set()
        """Requests that we gave up: one answer to each is no fault."""
        self.newest: float = 0
        """No id above it was ever ours; infinite once ids have wrapped."""
        # Of the peer's.
        self.answering: dict[int, Asked] = {}
        self.waiting: dict[int, Set] = {}
        self.inflow: dict[int, Flow] = {}
        self.swallowing: set[int] = set()
        """Transfers that we aborted, while more of them may be on its way."""
        self.their_past: set[int] = set()
        self.heard: set[int] = set()
        """Messages that came in one frame."""
        self.conduct = Conduct(settings)
        self.unknown_said: dict[tuple[type[Frame], int], float] = {}
        """When ``unknown`` was last said, by what it was about: once is enough for a while."""
        self.ignored = 0

    # --- what is alive -----------------------------------------------------------------------------------

    def is_live(self, id_: int) -> bool:
        """Whether an id of ours may not be taken."""
        return (
            id_ in self.asked
            or id_ in self.acks
            or id_ in self.pings
            or id_ in self.sets
            or id_ in self.streams
        )

    def is_open(self, id_: int) -> bool:
        """Whether the peer may not open anything under this id of its own."""
        return id_ in self.answering or id_ in self.waiting or id_ in self.inflow

    @property
    def pending(self) -> int:
        ours = len(self.asked) + len(self.acks) + len(self.pings) + len(self.sets) + len(self.streams)
        return ours + len(self.answering) + len(self.waiting) + len(self.inflow)

    @property
    def announced_bytes(self) -> int:
        """Bytes of our announced messages that are not told to the end."""
        return sum(ours.bytes for ours in self.sets.values())

    @property
    def held(self) -> int:
        """Bytes of announced messages that wait for files."""
        return sum(waiting.bytes for waiting in self.waiting.values())

    def deadlines(self) -> list[float]:
        """Every deadline there is."""
        return [
            one.deadline for table in (self.asked, self.answering, self.waiting) for one in table.values()
        ]

    def taken(self, id_: int) -> None:
        """We open something under an id, perhaps anew: nothing that comes is about its former use."""
        self.past.discard(id_)
        self.refusable.pop(id_, None)

    def is_over(self, id_: int) -> None:
        """Something of ours has ended, or nobody waits for it any more."""
        self.past.add(id_)
        self.just_over.add(id_)

    def settle(self, id_: int) -> Asked:
        """Our request has ended, whoever ended it."""
        self.acks.discard(id_)
        self.is_over(id_)
        return self.asked.pop(id_)

    def end_ours(self, id_: int) -> None:
        """Our announced message or stream is over without having been told to the end."""
        self.acks.discard(id_)
        self.is_over(id_)
        self.sets.pop(id_, None)
        self.streams.pop(id_, None)

    def end_theirs(self, ref: int, *, swallow: bool = False) -> None:
        """Something of the peer's is over; ``swallow`` if more of it may come."""
        self.answering.pop(ref, None)
        self.waiting.pop(ref, None)
        self.inflow.pop(ref, None)
        self.their_past.add(ref)
        if swallow:
            self.swallowing.add(ref)

    # --- what the peer sends -----------------------------------------------------------------------------

    def must_refuse(self, frame: Frame) -> bool:
        """Whether this frame ends the connection."""
        return isinstance(frame, RequestFrame | MessageFrame) and self.is_open(frame.id)

    def expect(self, frame: Frame, exchange: int, now: float) -> Expected:
        """Enter a frame that the machine took in ``exchange``; what it must have caused.

        What ends by the event itself is taken out when the event is handled (``hearing.py``).
        """
        if isinstance(frame, ServiceFrame):
            return self._service(frame, now)
        if self.must_refuse(frame):
            raise Broken("M5", f"id {frame.id} of the peer's is alive and was taken anew")
        says = [Said(Service.ACK, frame.id)] if frame.need_ack else []
        if isinstance(frame, BinaryFrame):
            return self._binary(frame, now, says)
        if isinstance(frame, ResponseFrame):
            if frame.ref in self.asked:
                return Expected(events.ResponseReceived, says)
            if frame.ref not in self.given_up:
                self.conduct.count("strays" if frame.ref <= self.newest else "strikes", now)
            self.given_up.discard(frame.ref)
            return Expected(None, [*says, *self._unknown(frame, frame.id, now)])
        self.swallowing.discard(frame.id)
        self.their_past.discard(frame.id)
        return self._opening(frame, exchange, now, says)

    def _opening(
        self, frame: RequestFrame | MessageFrame, exchange: int, now: float, says: list[Said]
    ) -> Expected:
        limits, id_ = self.settings, frame.id
        if isinstance(frame, RequestFrame):
            if len(self.answering) < limits.max_requests:
                self.answering[id_] = Asked(exchange, now + limits.request_timeout)
                return Expected(events.RequestReceived, says)
        elif frame.streaming:
            if len(self.inflow) < limits.max_streams:
                self.inflow[id_] = Flow(exchange, frame.payload)
                return Expected(events.StreamOpened, says)
        elif frame.expected:
            fits = self.held + len(frame.payload) <= limits.max_waiting_bytes
            if fits and len(self.waiting) < limits.max_announced:
                self.waiting[id_] = Set(
                    exchange, frame.payload, frame.expected, now + limits.progress_timeout
                )
                return Expected(None, says)
        else:
            self.heard.add(id_)
            return Expected(events.MessageReceived, says)
        self.conduct.count("strikes", now)
        self.end_theirs(id_, swallow=isinstance(frame, MessageFrame))
        return Expected(None, [*says, Said(Service.ABORT, id_)])

    def _binary(self, frame: BinaryFrame, now: float, says: list[Said]) -> Expected:
        ref = frame.ref
        if ref in self.inflow:
            if frame.kind is BinaryKind.EXPECTED:
                return self._loses(frame, events.StreamLost, now, says)
            return Expected(events.StreamChunk, says)
        if ref in self.waiting:
            return self._file(frame, self.waiting[ref], now, says)
        if ref not in self.swallowing:
            known = ref in self.their_past or ref in self.heard
            self.conduct.count("strays" if known else "strikes", now)
            return Expected(None, [*says, *self._unknown(frame, ref, now)])
        if frame.final:
            self.swallowing.discard(ref)
        return Expected(None, says)

    def _file(self, frame: BinaryFrame, waiting: Set, now: float, says: list[Said]) -> Expected:
        """A frame of a message that waits for files: right, or bad and treated as the policy says."""
        bad, key = self._is_bad(frame, waiting), frame.key
        bare = frame.kind is BinaryKind.NONE and frame.final
        delivers = self.settings.bad_files == "deliver"
        early = frame.final and len(waiting.missing) > (not bare)
        if not delivers and (bad or early):
            return self._loses(frame, events.MessageLost, now, says)
        if bad:
            self.conduct.count("strikes", now)
        if frame.kind is BinaryKind.EXPECTED and key is not None:
            if key in waiting.missing:
                waiting.deadline = now + self.settings.progress_timeout
                waiting.missing.remove(key)
            if bad:
                waiting.left_out.add(key)
            else:
                waiting.files[key] = frame.data
                waiting.bytes += len(frame.data)
        if waiting.missing and not frame.final:
            return Expected(None, says)
        if not frame.final:
            self.swallowing.add(frame.ref)
        return Expected(events.MessageReceived, says)

    def _unknown(self, frame: ResponseFrame | BinaryFrame, names: int, now: float) -> list[Said]:
        about = (type(frame), frame.ref)
        if now < self.unknown_said.get(about, -inf) + QUIET:
            return []
        self.unknown_said[about] = now
        return [Said(Service.UNKNOWN, names)]

    def _loses(self, frame: BinaryFrame, event: type[events.Event], now: float, says: list[Said]) -> Expected:
        self.conduct.count("strikes", now)
        if not frame.final:
            self.swallowing.add(frame.ref)
        return Expected(event, [*says, Said(Service.ABORT, frame.ref)])

    def _is_bad(self, frame: BinaryFrame, waiting: Set) -> bool:
        """No file of this message, or one too many; a bare end is no file and not bad."""
        if frame.kind is BinaryKind.NONE and frame.final:
            return False
        return (
            frame.kind is not BinaryKind.EXPECTED
            or frame.key not in waiting.missing
            or self.held + len(frame.data) > self.settings.max_waiting_bytes
        )

    def _service(self, frame: ServiceFrame, now: float) -> Expected:
        code, ref = frame.code, frame.ref
        if code is Service.PING:
            self.conduct.count("pings", now)
            return Expected(None, [Said(Service.ACK, frame.id)])
        if code is Service.ACK:
            return self._ack(frame, now)
        if frame.own:
            if code is Service.UNKNOWN:
                return self._ignored(frame, now)
            event = self._given_up(ref)
            if event is not None:
                self.conduct.count("cancels", now)
            self.swallowing.discard(ref)
            if event is not None or ref in self.their_past:
                return Expected(event, [])
        if ref in self.asked:
            return Expected(events.RequestFailed, [])
        if ref in self.streams:
            return Expected(events.StreamRefused, [])
        if ref in self.sets or (code is Service.ABORT and ref in self.refusable):
            return Expected(events.MessageRefused, [])
        return self._late(frame, now)

    def _given_up(self, ref: int) -> type[events.Event] | None:
        if ref in self.answering:
            return events.RequestCancelled
        if ref in self.waiting:
            return events.MessageLost
        return events.StreamLost if ref in self.inflow else None

    def _ack(self, frame: ServiceFrame, now: float) -> Expected:
        if frame.own:
            return self._ignored(frame, now)
        if frame.ref in self.pings:
            return Expected(events.PongReceived, [])
        if frame.ref in self.acks:
            return Expected(events.Acknowledged, [])
        return self._late(frame, now)

    def _late(self, frame: ServiceFrame, now: float) -> Expected:
        return Expected(None, []) if frame.ref in self.past else self._ignored(frame, now)

    def _ignored(self, frame: ServiceFrame, now: float) -> Expected:
        """About nothing known; no fault if it may be about what we sent long ago."""
        self.ignored += 1
        if frame.own or frame.ref > self.newest:
            self.conduct.count("strays", now)
        return Expected(None, [])
