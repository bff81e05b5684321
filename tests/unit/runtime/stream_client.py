"""The other end of a byte stream, byte by byte."""

import asyncio
import struct


def framed(*frames: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(frame)) + frame for frame in frames)


class StreamClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, port: int) -> "StreamClient":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def frame(self) -> bytes:
        (size,) = struct.unpack(">I", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def end(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()
