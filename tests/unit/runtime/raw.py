"""A WebSocket client that does what it is told, lawful or not."""

import asyncio
import os
import struct
from ssl import SSLContext

FIN = 0x80
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(first: int, payload: bytes = b"", *, masked: bool = True, declared: int | None = None) -> bytes:
    size = len(payload) if declared is None else declared
    bit = 0x80 if masked else 0
    if size < 126:
        head = struct.pack(">BB", first, bit | size)
    elif size < 65_536:
        head = struct.pack(">BBH", first, bit | 126, size)
    else:
        head = struct.pack(">BBQ", first, bit | 127, size)
    if masked:
        mask = os.urandom(4)
        payload = mask + bytes(byte ^ mask[n % 4] for n, byte in enumerate(payload))
    return head + payload


class RawClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(
        cls, port: int, *, path: str = "/mfp", headers: str = "", ssl: SSLContext | None = None
    ) -> "RawClient":
        client, status = await cls.ask(port, path=path, headers=headers, ssl=ssl)
        assert status.startswith("HTTP/1.1 101"), status
        return client

    @classmethod
    async def ask(
        cls, port: int, *, path: str = "/mfp", headers: str = "", ssl: SSLContext | None = None
    ) -> tuple["RawClient", str]:
        reader, writer = await asyncio.open_connection("localhost" if ssl else "127.0.0.1", port, ssl=ssl)
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"{headers}\r\n".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        return cls(reader, writer), head

    def send(
        self, first: int, payload: bytes = b"", *, masked: bool = True, declared: int | None = None
    ) -> None:
        self.writer.write(frame(first, payload, masked=masked, declared=declared))

    async def receive(self) -> tuple[int, bytes]:
        first, second = await self.reader.readexactly(2)
        size = second & 127
        if size == 126:
            (size,) = struct.unpack(">H", await self.reader.readexactly(2))
            assert size > 125, "a longer head than is lawful"
        elif size == 127:
            (size,) = struct.unpack(">Q", await self.reader.readexactly(8))
            assert size > 65_535, "a longer head than is lawful"
        return first & 15, await self.reader.readexactly(size)

    async def close_code(self) -> int:
        while True:
            kind, payload = await self.receive()
            if kind == CLOSE:
                return int.from_bytes(payload[:2], "big")

    async def end(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()
