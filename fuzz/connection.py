"""A script of bytes drives one connection: frames of the peer, calls of the owner, and time.

Only documented errors may escape, what is pending stays within the limits, and closing empties everything.
"""

import contextlib
from collections.abc import Callable
from math import inf
from typing import Any, Final, Literal, get_args

from framehub.codes import BinaryKind, CloseCode, Service
from framehub.errors import (
    ConnectionClosed,
    LocalProtocolError,
    PeerMisbehaved,
    RemoteProtocolError,
    StreamAborted,
)
from framehub.ids import LAST
from framehub.mfp import codec, events
from framehub.mfp.checksum import Checksums, Mode
from framehub.mfp.connection import Connection
from framehub.mfp.encoder import encode
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.settings import Settings

LIMITS: Final[dict[str, Any]] = {
    "max_requests": 3,
    "max_streams": 2,
    "max_announced": 2,
    "max_waiting_bytes": 64,
    "max_files": 4,
    "max_frame_bytes": 256,
    "max_pings": 8,
    "max_strays": 8,
    "max_cancels": 8,
}
BY_PEER: Final = LIMITS["max_requests"] + LIMITS["max_streams"] + LIMITS["max_announced"]
"""The most that a peer can make us keep."""
STEPS: Final = (0.0, 0.005, 1.0, 31.0)
KINDS: Final = tuple(BinaryKind)
CODES: Final = tuple(Service)
MODES: Final[tuple[Mode, ...]] = get_args(Mode)


class Script:
    """Bytes read one after another; zeros when there are no more."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def bit(self) -> bool:
        return self.byte() % 2 == 1

    def id(self) -> int:
        """A small number, or one of the last: ids that meet."""
        byte = self.byte()
        return byte % 24 + 1 if byte < 200 else LAST - byte % 4

    def bytes(self) -> bytes:
        size = self.byte() % 48
        self._at += size
        return self._data[self._at - size : self._at]


class Run:
    """One connection and the script that drives it."""

    def __init__(self, data: bytes) -> None:
        self.script = Script(data)
        first = self.script.byte()
        algorithm: Literal["crc32", "xor8"] = "xor8" if first & 4 else "crc32"
        agreed = Checksums(MODES[first % len(MODES)], algorithm)
        self.settings = Settings(
            checksums=agreed,
            verify_always=agreed.mode != "off" and bool(first & 16),
            bad_files="deliver" if first & 32 else "drop",
            keepalive=0.5 if first & 64 else 20.0,
            idle_timeout=2.0 if first & 128 else inf,
            **LIMITS,
        )
        self.checksums = Checksums("always", algorithm) if self.settings.verify_always else agreed
        self.machine = Connection(self.settings, first_id=LAST - first % 8 if first & 8 else 1)
        self.over = False
        self.now = 0.0
        self.calls = 0
        """What the owner began: the bound of what it can have pending."""
        self._calls = self._all_calls()

    def go(self) -> None:
        acts: tuple[Callable[[], None], ...] = (self.raw, self.frame, self.frame, self.tick, self.call)
        with contextlib.suppress(RemoteProtocolError):
            while self.script and not self.over:
                acts[self.script.byte() % len(acts)]()
                assert self.machine.pending <= BY_PEER + 2 * self.calls  # a request, and its ack
                deadline = self.machine.next_deadline
                assert deadline is None or deadline >= 0
        self.close()

    def close(self) -> None:
        machine = self.machine
        machine.close()
        assert (machine.pending, machine.next_deadline, machine.drain(), machine.tick(1e9)) == (
            0,
            None,
            [],
            [],
        )

    def raw(self) -> None:
        self.receive(self.script.bytes())

    def frame(self) -> None:
        """A frame of the peer with ids that are likely to mean something."""
        try:
            data = encode(self.made_up(), self.checksums)
        except LocalProtocolError:
            return
        self.receive(data)

    def made_up(self) -> Frame:
        script = self.script
        kind, flags, id_ = script.byte() % 5, script.byte(), script.id()
        ack, checksum = bool(flags & 1), bool(flags & 2)
        if kind == 0:
            code = CODES[flags >> 2 & 7] if flags >> 2 & 7 < len(CODES) else Service.ACK
            ref = id_ if code is Service.PING else script.id()
            own = code is Service.PING or bool(flags & 1)
            return ServiceFrame(id=id_, code=code, ref=ref, own=own, checksum=checksum)
        if kind == 1:
            return RequestFrame(id=id_, payload=script.bytes(), need_ack=ack, checksum=checksum)
        if kind == 2:
            return ResponseFrame(id=id_, ref=script.id(), payload=script.bytes(), need_ack=ack)
        if kind == 3:
            shape = flags >> 2 & 3
            return MessageFrame(
                id=id_,
                payload=script.bytes(),
                expected=tuple(range(flags >> 4 & 3)) if shape == 1 else (),
                streaming=shape == 2,
                files=((0, b"x"), (1, b"")) if shape == 3 else (),
                need_ack=ack,
                checksum=checksum,
            )
        what = KINDS[flags >> 2 & 3]
        keyed = what in (BinaryKind.EXPECTED, BinaryKind.STREAMING)
        return BinaryFrame(
            id=id_,
            ref=script.id(),
            kind=what,
            key=flags >> 4 & 3 if keyed else None,
            data=b"" if what is BinaryKind.NONE else script.bytes(),
            final=bool(flags & 64),
            need_ack=ack,
            checksum=checksum,
        )

    def receive(self, data: bytes) -> None:
        """A refused frame leaves nothing behind; an accepted one causes little."""
        pending = self.machine.pending
        try:
            got = self.machine.receive(data, self.now)
        except PeerMisbehaved:
            assert self.machine.drain() == [], "a frame that is one too many was answered"
            assert self.machine.pending <= pending, "a frame that is one too many left something behind"
            raise
        except RemoteProtocolError:
            assert self.machine.drain() == [], "a refused frame was answered"
            assert self.machine.pending == pending, "a refused frame left something behind"
            raise
        if isinstance(got.event, events.MessageReceived):
            self.delivered(got.event)
        caused = self.machine.drain()
        assert len(caused) <= 2
        assert all(isinstance(one.frame, ServiceFrame) for one in caused)
        if isinstance(got.frame, ServiceFrame):
            assert len(caused) == (got.frame.code is Service.PING), "service frames must not loop"
            return
        acks = [
            one for one in caused if isinstance(one.frame, ServiceFrame) and one.frame.code is Service.ACK
        ]
        assert len(acks) == got.frame.need_ack

    def delivered(self, event: events.MessageReceived) -> None:
        """Whole, or told what is left out, and no more of that than there is room for."""
        came, expected = [key for key, _ in event.frame.files], event.frame.expected
        left_out = {key for key, _ in event.left_out}
        assert set(expected) <= {*came, *left_out}, "a file is missing, and nobody told"
        assert len(left_out) <= len(expected) + LIMITS["max_files"]
        assert not left_out or self.settings.bad_files == "deliver"

    def tick(self) -> None:
        step = self.script.byte()
        self.now += STEPS[step % len(STEPS)]
        self.machine.deaf = step & 4 != 0
        for event in self.machine.tick(self.now):
            if isinstance(event, events.MessageReceived):
                self.delivered(event)
            if isinstance(event, events.ConnectionOver):
                assert not self.machine.deaf, "judged a peer without reading"
                assert event.code in (CloseCode.OK, CloseCode.GOING_AWAY)
                self.over = True
        deadline = self.machine.next_deadline
        assert deadline is None or deadline > self.now, "tick would be called again at once"
        self.sent()

    def call(self) -> None:
        """Something the owner does, sensible or not."""
        self.calls += 1
        with contextlib.suppress(LocalProtocolError, StreamAborted):
            self._calls[self.script.byte() % len(self._calls)]()
        self.sent()

    def _all_calls(self) -> list[Callable[[], object]]:
        machine, script = self.machine, self.script
        return [
            lambda: machine.request(script.bytes(), now=self.now, need_ack=script.bit()),
            lambda: machine.request(b"", now=self.now, timeout=script.byte() / 10, checksum=script.bit()),
            lambda: machine.message(script.bytes(), need_ack=script.bit(), checksum=script.bit()),
            lambda: machine.message(b"", expected=tuple(range(script.byte() % 6)), need_ack=script.bit()),
            lambda: machine.message(b"", streaming=True, need_ack=script.bit()),
            lambda: machine.file(script.id(), script.byte() % 4, script.bytes(), need_ack=script.bit()),
            lambda: machine.chunk(script.id(), script.bytes(), key=script.byte(), need_ack=script.bit()),
            lambda: machine.chunk(script.id(), script.bytes(), final=script.bit()),
            lambda: machine.respond(script.id(), script.bytes(), need_ack=script.bit()),
            lambda: machine.refuse(script.id()),
            lambda: machine.cancel(script.id()),
            lambda: machine.give_up(script.id()),
            lambda: machine.abort_stream(script.id()),
            lambda: machine.ping(self.now),
            lambda: machine.forget(script.id()),
        ]

    def sent(self) -> None:
        """What goes out can be read."""
        for one in self.machine.drain():
            got = codec.decode(one.data, self.settings.checksums, verify_always=self.settings.verify_always)
            assert (got.id, type(got)) == (one.frame.id, type(one.frame))


def one_input(data: bytes) -> None:
    run = Run(data)
    run.go()
    try:
        run.machine.ping(0.0)
    except ConnectionClosed:
        return
    raise AssertionError("a closed connection sent something")
