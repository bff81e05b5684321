"""Peers of a proxy that say what they like: as ZeroMQ has it, or bare bytes on a socket."""

import asyncio
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from framehub.runtime.curve import CurveClient
from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket, Sent
from tests.attacks.attacker import PATIENCE, Attacker

MORE = 0x01
LONG = 0x02
COMMAND = 0x04
_GREETING = 64
PROBE = [b"RESPONSE_RECEIVED", bytes(16)]
"""What a worker of others may be sent at any time, to see whether it is there [RPC-5.2.3]."""


class Dealer:
    """A DEALER that keeps what it hears."""

    def __init__(
        self,
        port: int,
        identity: bytes | None = None,
        *,
        curve: CurveClient | None = None,
        options: Options | None = None,
    ) -> None:
        self.heard: list[list[bytes]] = []
        self.connections = 0
        self.refusals = 0
        self._news = asyncio.Event()
        self._unsent: list[tuple[bytes, ...]] = []
        self._socket = MessageSocket(
            "dealer",
            self._take,
            identity=identity,
            curve=curve,
            options=options,
            on_connect=self._connected,
            on_refused=self._refused,
            on_writable=self._flush,
        )
        self._socket.connect(f"tcp://127.0.0.1:{port}")

    def says(self, *parts: bytes) -> None:
        """Send it, as soon as there is room."""
        self._unsent.append(parts)
        self._flush()

    @property
    def waiting(self) -> int:
        """Messages that could not be sent yet."""
        return len(self._unsent)

    async def hears(self, count: int = 1) -> list[list[bytes]]:
        """The next ``count`` messages."""
        await self.until(lambda: len(self.heard) >= count)
        heard, self.heard = self.heard[:count], self.heard[count:]
        return heard

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what only news can bring."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def close(self) -> None:
        self._socket.close(linger=0.2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _take(self, batch: list[list[bytes]]) -> None:
        self.heard += batch
        self._news.set()

    def _connected(self) -> None:
        self.connections += 1
        self._news.set()

    def _refused(self) -> None:
        self.refusals += 1
        self._news.set()

    def _flush(self) -> None:
        sent = 0
        for parts in self._unsent:
            if self._socket.send(parts) is not Sent.OK:
                break
            sent += 1
        del self._unsent[:sent]
        if sent and not self._unsent:
            self._news.set()


class Worker(Dealer):
    """A worker of its own making: registers, then answers every query by ``answer``, or not at all."""

    def __init__(
        self, port: int, name: bytes, answer: Callable[[bytes, bytes], list[bytes]] | None = None, **more: Any
    ) -> None:
        super().__init__(port, **more)
        self.queries: list[list[bytes]] = []
        self._answer = answer
        self.says(b"WORKER_REGISTER", (1).to_bytes(4, "big"), name, b"bytes", b"bytes")

    def _take(self, batch: list[list[bytes]]) -> None:
        for message in batch:
            if message[0] == b"QUERY":
                self.queries.append(message)
                self.says(b"QUERY_RECEIVED", message[1])
                if self._answer is not None:
                    self.says(*self._answer(message[1], message[2]))
        super()._take([message for message in batch if message != PROBE])


# --- bare bytes (ZMTP 3.0) ---------------------------------------------------------------------------------


def frame(flags: int, body: bytes, declared: int | None = None) -> bytes:
    size = len(body) if declared is None else declared
    if size < 256 and declared is None:
        return bytes((flags, size)) + body
    return bytes((flags | LONG,)) + struct.pack(">Q", size) + body


def ready(identity: bytes = b"") -> bytes:
    """The NULL mechanism's only word."""
    properties = ((b"Socket-Type", b"DEALER"), (b"Identity", identity))
    body = b"\x05READY" + b"".join(
        bytes((len(name),)) + name + struct.pack(">I", len(value)) + value for name, value in properties
    )
    return frame(COMMAND, body)


def greeting(mechanism: bytes = b"NULL") -> bytes:
    return b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism.ljust(20, b"\0") + bytes(32)


async def bare(port: int, *, mechanism: bytes = b"NULL", identity: bytes = b"", window: int = 0) -> Attacker:
    """A connection that is past its greeting and its READY, as far as it itself is concerned."""
    attacker = await Attacker.connected(port, window=window)
    await attacker.throw(greeting(mechanism) + ready(identity))
    with suppress(EOFError):
        await attacker._exactly(_GREETING)
    return attacker
