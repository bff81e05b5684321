"""Peers of a hub that say what they like: clients on a WebSocket, services as ZeroMQ has them.

What goes over the wire is made here byte by byte, on purpose by nobody else's code.
"""

import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.attacks.attacker import BINARY, FIN, Attacker, ws
from tests.attacks.rpc_attacker import Dealer

FIRST, MESSAGE, LAST, COMMAND, STREAM_ERROR, SERVICE_ERROR = 15, 0, 12, 14, 13, 11
PING, PONG, READY, CLOSE = 1, 2, 3, 15
(
    TIMEOUT, CLIENT_DISCONNECT, SERVICE_DISCONNECT, STREAM_NOT_FOUND, WS_STREAM_COLLISION,
    ZMQ_STREAM_COLLISION, ENDPOINT_NOT_FOUND, BAD_FRAME, LIMIT, FORBIDDEN, BUSY, INTERNAL,
) = range(1, 13)  # fmt: skip
HEADER = {1: 4, 2: 6}
BY = 200
"""Messages that are waited for before more are sent: a queue has a thousand places."""


class Told(NamedTuple):
    """A frame that was heard."""

    stream: int
    state: int
    parameter: int
    body: bytes = b""

    @property
    def error(self) -> tuple[int, int]:
        """Of an error by the hub its stream and its code; its text is for people, and short."""
        assert self.state == STREAM_ERROR, self
        assert 0 < len(self.body.decode()) < 300
        return self.stream, self.parameter


def frame(version: int, stream: int, state: int, parameter: int = 0, rest: bytes = b"") -> bytes:
    if version == 2:
        return struct.pack(">IBB", stream, state, parameter) + rest
    return struct.pack(">I", stream << 12 | state << 8 | parameter) + rest


def settings(version: int, timeout: int = 0, service: int = 0) -> bytes:
    """A configuration's record; the timeout in milliseconds."""
    return struct.pack(">BIH", version, timeout, service)


def configuration(version: int, timeout: int = 0, service: int = 0, interface: bytes = b"") -> bytes:
    return frame(version, 0, FIRST, 0, settings(version, timeout, service) + interface)


def first(version: int, stream: int, service: int, function: int = 1, body: bytes = b"") -> bytes:
    """A client's first frame."""
    between = struct.pack(">H", service) if version == 2 else settings(1, 0, service)
    return frame(version, stream, FIRST, function, between + body)


def read(version: int, data: bytes) -> Told:
    if version == 2:
        stream, state, parameter = struct.unpack_from(">IBB", data)
        return Told(stream, state, parameter, data[6:])
    (word,) = struct.unpack_from(">I", data)
    return Told(word >> 12, word >> 8 & 15, word & 255, data[4:])


# --- a client ----------------------------------------------------------------------------------------------


class Visitor:
    """One WebSocket at the hub."""

    def __init__(self, attacker: Attacker, version: int) -> None:
        self.attacker = attacker
        self.version = version
        self.pings = 0

    @classmethod
    async def come(cls, port: int, version: int = 2, *, window: int = 0) -> "Visitor":
        """``window``: take no more bytes than that ahead of what is read."""
        attacker, head = await Attacker.asked(port, f"X-Hub-Version: {version}", path="/hub", window=window)
        assert head.startswith("HTTP/1.1 101 "), head
        return cls(attacker, version)

    async def says(self, *frames: bytes) -> bool:
        """Send these; False if the hub would not hear the end."""
        return await self.attacker.throw(b"".join(ws(FIN | BINARY, data) for data in frames))

    async def says_on(self, stream: int, state: int, parameter: int = 0, rest: bytes = b"") -> bool:
        return await self.says(frame(self.version, stream, state, parameter, rest))

    async def opens(self, stream: int, service: int, function: int = 1, body: bytes = b"") -> bool:
        return await self.says(first(self.version, stream, service, function, body))

    async def hears(self) -> Told:
        """The next frame; a PING is answered and passed over.

        Raises:
            EOFError: there is none, the connection ended.
        """
        while True:
            kind, payload = await self.attacker.frame()
            if kind != BINARY:
                raise EOFError(int.from_bytes(payload[:2], "big"))
            told = read(self.version, payload)
            if told[:3] != (0, COMMAND, PING):
                return told
            self.pings += 1
            await self.says_on(0, COMMAND, PONG, told.body)

    async def still_heard(self) -> None:
        """The next frame is the answer to what is asked now: the link is open, nothing else was answered."""
        await self.says_on(0, COMMAND, PING, b"sure")
        assert await self.hears() == (0, COMMAND, PONG, b"sure")

    async def hears_to_the_end(self) -> tuple[Counter[object], int]:
        """All that still comes, by state and parameter, and the close code."""
        seen: Counter[object] = Counter()
        try:
            while True:
                told = await self.hears()
                seen[told.state, told.parameter] += 1
        except EOFError as end:
            return seen, end.args[0] if end.args else 0

    def leave(self) -> None:
        self.attacker.leave()


@asynccontextmanager
async def visiting(port: int, version: int = 2, *, window: int = 0) -> AsyncIterator[Visitor]:
    visitor = await Visitor.come(port, version, window=window)
    try:
        yield visitor
    finally:
        visitor.leave()


# --- a service ---------------------------------------------------------------------------------------------


class RawService(Dealer):
    """A DEALER that speaks the hub's frames, and answers PINGs; ``answer`` is given all on its streams."""

    def __init__(
        self,
        port: int,
        version: int = 2,
        *,
        answer: "Callable[[RawService, Told], None] | None" = None,
        **more: Any,
    ) -> None:
        super().__init__(port, **more)
        self.version = version
        self.told: list[Told] = []
        """What it was told, PINGs left out, and what ``answer`` took."""
        self.seen: Counter[int] = Counter()
        """What it was told on streams, by state."""
        self.pings = 0
        self._answer = answer

    def says_on(self, stream: int, state: int, parameter: int = 0, rest: bytes = b"") -> None:
        self.says(frame(self.version, stream, state, parameter, rest))

    def offers(self, service: int, timeout: int = 0, interface: bytes = b"") -> None:
        self.says(configuration(self.version, timeout, service, interface))

    async def is_connected(self) -> None:
        await self.until(lambda: self.connections)

    async def is_told(self, count: int = 1) -> list[Told]:
        """The next ``count`` frames."""
        await self.until(lambda: len(self.told) >= count)
        told, self.told = self.told[:count], self.told[count:]
        return told

    async def joins(self, service: int, timeout: int = 0, interface: bytes = b"") -> "RawService":
        """Register, and wait until that is done."""
        self.offers(service, timeout, interface)
        [ready] = await self.is_told()
        assert ready[:3] == (0, COMMAND, READY), ready
        return self

    async def still_heard(self) -> None:
        """The next frame is the answer to what is asked now."""
        self.says_on(0, COMMAND, PING, b"sure")
        assert await self.is_told() == [(0, COMMAND, PONG, b"sure")]

    def _take(self, batch: list[list[bytes]]) -> None:
        for [data] in batch:
            told = read(self.version, data)
            if told[:3] == (0, COMMAND, PING):
                self.pings += 1
                self.says_on(0, COMMAND, PONG, told.body)
                continue
            if told.state == FIRST:  # the user's number stands before the body
                told = told._replace(body=told.body[2:])
            if told.stream:
                self.seen[told.state] += 1
            if told.stream and self._answer is not None:
                self._answer(self, told)
            else:
                self.told.append(told)
        super()._take([])


def echo(service: RawService, told: Told) -> None:
    """Everything comes back on its stream; a last frame as the last."""
    if told.state in {FIRST, MESSAGE, LAST}:
        state = LAST if told.state == LAST else MESSAGE
        service.says_on(told.stream, state, told.parameter, told.body)


def answer_once(service: RawService, told: Told) -> None:
    """A first frame comes back as the last."""
    if told.state == FIRST:
        service.says_on(told.stream, LAST, told.parameter, told.body)
