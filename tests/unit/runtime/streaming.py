"""An endpoint that reads streams, a link that keeps frames, and the frames of a stream."""

import asyncio
from collections.abc import Callable
from typing import Any

from framehub.codes import BinaryKind
from framehub.mfp import codec
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame
from framehub.mfp.settings import Settings
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import MemoryLink
from framehub.runtime.peer import Peer
from framehub.runtime.streams import Chunk, InStream

OPENING = MessageFrame(id=1, payload=b'{"endpoint":"up","data":{"n":1}}', streaming=True)


class Taker:
    """An endpoint that keeps what it reads, and reads when it may."""

    def __init__(self) -> None:
        self.app = Endpoints()
        self.app.on_stream("up")(self.take)
        self.app.on("echo")(lambda call: call.data)
        self.chunks: list[Chunk] = []
        self.streams: list[InStream] = []
        self.ends: list[Exception | None] = []
        self.go = asyncio.Event()
        self.go.set()

    async def take(self, stream: InStream) -> None:
        self.streams.append(stream)
        try:
            await self.go.wait()
            async for chunk in stream:
                self.chunks.append(chunk)
                await self.go.wait()
        except Exception as exc:
            self.ends.append(exc)
            raise
        self.ends.append(None)

    @property
    def data(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks)


class Wire(MemoryLink):
    """A link that keeps what it is given, and says whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Frame] = []

    def send(self, *pieces: bytes) -> bool:
        self.sent.append(codec.decode(b"".join(pieces)))
        return True

    @property
    def paused(self) -> bool:
        return bool(self._pauses)

    @property
    def excused(self) -> bool:
        return self.paused


def alone(app: Endpoints, **settings: Any) -> tuple[Peer, Wire]:
    """One peer, to be fed with frames."""
    wire = Wire()
    return Peer(Settings(**settings), wire, app, link_id=bytes(8)), wire


def chunk(data: bytes = b"", *, ref: int = 1, key: int | None = 0, final: bool = False) -> bytes:
    kind = BinaryKind.DATA if key is None else BinaryKind.STREAMING
    return codec.encode(BinaryFrame(id=99, ref=ref, kind=kind, key=key, data=data, final=final))


def end(ref: int = 1) -> bytes:
    return codec.encode(BinaryFrame(id=98, ref=ref, kind=BinaryKind.NONE, final=True))


async def until(true: Callable[[], object], seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def write_for_ever(peer: Peer, endpoint: str) -> None:
    async with asyncio.timeout(5), peer.stream(endpoint) as out:
        while True:
            await out.write(bytes(50_000), ack=True)
