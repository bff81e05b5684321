"""Somebody with a bare socket: sends what it is told, lawful or not, and reads only when it is told to."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

FIN = 0x80
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
CUT_OFF = 0
"""In place of a close code: the connection ended without one."""
AT_ONCE = 50
PATIENCE = 60.0
"""Seconds until an attacker that hears nothing gives up: that is a failure of the test."""
RESET = struct.pack("ii", 1, 0)


def ws(first: int, payload: bytes = b"", *, masked: bool = True, declared: int | None = None) -> bytes:
    """A WebSocket frame; masked with zeros, which is lawful and leaves the bytes as they are."""
    size = len(payload) if declared is None else declared
    bit = 0x80 if masked else 0
    if size < 126:
        head = struct.pack(">BB", first, bit | size)
    elif size < 65_536:
        head = struct.pack(">BBH", first, bit | 126, size)
    else:
        head = struct.pack(">BBQ", first, bit | 127, size)
    return head + (bytes(4) if masked else b"") + payload


def mfp(text: str | bytes) -> bytes:
    """One MFP frame, in hexadecimal or as it is, as a WebSocket message."""
    return ws(FIN | BINARY, bytes.fromhex(text) if isinstance(text, str) else text)


def envelope(head: int, id_: int, text: str) -> bytes:
    """A frame with a payload and nothing else."""
    payload = text.encode()
    return struct.pack(">BII", head, id_, len(payload)) + payload


def upgrade(port: int, *headers: str, path: str = "/mfp") -> bytes:
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


class Attacker:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._loop = asyncio.get_running_loop()
        self._came = b""

    @classmethod
    async def connected(cls, port: int, *, source: str = "127.0.0.1", window: int = 0) -> "Attacker":
        """``source`` is the address that it comes from; no more than ``window`` bytes are taken unread."""
        connection = socket.socket()
        if window:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        connection.setblocking(False)
        try:
            if source != "127.0.0.1":
                connection.bind((source, 0))
            async with asyncio.timeout(PATIENCE):
                await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    @classmethod
    async def asked(
        cls, port: int, *headers: str, path: str = "/mfp", source: str = "127.0.0.1", window: int = 0
    ) -> tuple["Attacker", str]:
        """Ask for an upgrade; the answer's head."""
        self = await cls.connected(port, source=source, window=window)
        try:
            await self.throw(upgrade(port, *headers, path=path))
            while b"\r\n\r\n" not in self._came:
                await self._more()
        except BaseException:
            self.leave()
            raise
        head, _, self._came = self._came.partition(b"\r\n\r\n")
        return self, head.decode()

    async def throw(self, data: bytes) -> bool:
        """Send all of it; False if the server would not hear the end."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._loop.sock_sendall(self.socket, data)
        except ConnectionError:
            return False
        return True

    async def frame(self) -> tuple[int, bytes]:
        """The next WebSocket frame: opcode and payload.

        Raises:
            EOFError: there is none.
        """
        first, second = await self._exactly(2)
        size = second & 127
        if size == 126:
            (size,) = struct.unpack(">H", await self._exactly(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", await self._exactly(8))
        return first & 15, await self._exactly(size)

    async def message(self) -> str:
        """The next MFP frame in hexadecimal, the hello and pings passed over."""
        while True:
            kind, payload = await self.frame()
            assert kind == BINARY, (kind, payload)
            if b"framehub.hello" not in payload and payload[:1] != b"\x2f":
                return payload.hex()

    async def close_code(self) -> int:
        """Read to the goodbye; ``CUT_OFF`` if there is none."""
        try:
            while True:
                kind, payload = await self.frame()
                if kind == CLOSE:
                    return int.from_bytes(payload[:2], "big")
        except EOFError:
            return CUT_OFF

    async def rest(self) -> bytes:
        """All that still comes until the connection ends."""
        try:
            while True:
                await self._more()
        except EOFError:
            return self._came

    async def hears(self, wanted: bytes) -> bool:
        """Whether these bytes come before the connection ends."""
        try:
            while wanted not in self._came:
                await self._more()
        except EOFError:
            return False
        return True

    def leave(self) -> None:
        self.socket.close()

    def reset(self) -> None:
        """Leave without a goodbye, not even TCP's."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.socket.close()

    async def _exactly(self, size: int) -> bytes:
        while len(self._came) < size:
            await self._more()
        data, self._came = self._came[:size], self._came[size:]
        return data

    async def _more(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                data = await self._loop.sock_recv(self.socket, 65_536)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError
        self._came += data


@asynccontextmanager
async def attacking(port: int, *headers: str, protocol: str = "") -> AsyncIterator[Attacker]:
    """An open WebSocket; ``protocol`` is the sub-protocol offered."""
    if protocol:
        headers = (*headers, f"Sec-WebSocket-Protocol: {protocol}")
    attacker, head = await Attacker.asked(port, *headers)
    try:
        assert head.startswith("HTTP/1.1 101 "), head
        yield attacker
    finally:
        attacker.leave()


async def crowd(throws: Iterable[Callable[[], Awaitable[object]]], at_once: int = AT_ONCE) -> None:
    """All of it, so many at a time."""
    waiting = iter(throws)

    async def one() -> None:
        for throw in waiting:
            await throw()

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(one())
