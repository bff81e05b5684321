"""A router where a hub could be: it says and hears bytes, and knows nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from framehub.codes import HubCommand, HubState
from framehub.hub.headers import HubFrame, Settings, Way, decode, encode
from framehub.runtime.service import Service
from framehub.runtime.zmq_socket import MessageSocket, Sent

FREE = "tcp://127.0.0.1:0"
READY = HubFrame(0, HubState.COMMAND, HubCommand.READY, Settings(2, 30_000, 7).encode())
USER = 42


class RawHub:
    """For one service at a time: the last one that said something."""

    def __init__(
        self, address: str = FREE, *, version: int = 2, is_polite: bool = True, **others: Any
    ) -> None:
        """A polite one answers configurations and pings by itself."""
        self.frames: list[HubFrame] = []
        """What came, but for what was answered politely."""
        self.registered: list[HubFrame] = []
        self.identity = b""
        self.identities: set[bytes] = set()
        self.is_polite = is_polite
        self._version = version
        self._news = asyncio.Event()
        self._socket = MessageSocket("router", self._take, **others)
        self.address = self._socket.bind(address)

    def says(self, frame: HubFrame) -> Sent:
        return self.says_bytes(encode(frame, self._version, Way.HUB_TO_SERVICE))

    def says_bytes(self, *parts: bytes) -> Sent:
        return self._socket.send([self.identity, *parts])

    def opens(self, stream: int, function: int = 1, body: bytes = b"") -> None:
        self.says(HubFrame(stream, HubState.FIRST, function, body, USER))

    def tells(self, stream: int, body: bytes, state: HubState = HubState.MESSAGE) -> None:
        self.says(HubFrame(stream, state, 1, body))

    async def hears(self, count: int = 1) -> list[HubFrame]:
        """The next ``count`` frames."""
        async with asyncio.timeout(20):
            while len(self.frames) < count:
                self._news.clear()
                await self._news.wait()
        heard, self.frames = self.frames[:count], self.frames[count:]
        return heard

    async def hears_bodies(self, count: int = 1) -> list[tuple[int, HubState, bytes]]:
        return [(frame.stream, frame.state, frame.body) for frame in await self.hears(count)]

    async def is_quiet(self, seconds: float = 0.2) -> bool:
        """Whether nothing comes for so long."""
        await asyncio.sleep(seconds)
        return not self.frames

    def pause(self) -> None:
        self._socket.pause()

    def resume(self) -> None:
        self._socket.resume()

    def close(self) -> None:
        self._socket.close()

    def _take(self, batch: list[list[bytes]]) -> None:
        for identity, data in batch:
            self.identity = identity
            self.identities.add(identity)
            frame = decode(data, self._version, Way.SERVICE_TO_HUB)
            if frame.state is HubState.FIRST:
                self.registered.append(frame)
                if self.is_polite:
                    self.says(READY)
            elif self.is_polite and (frame.state, frame.parameter) == (HubState.COMMAND, HubCommand.PING):
                self.says(HubFrame(0, HubState.COMMAND, HubCommand.PONG, frame.body))
            else:
                self.frames.append(frame)
        self._news.set()


@asynccontextmanager
async def raw_hub(**others: Any) -> AsyncIterator[RawHub]:
    made = RawHub(**others)
    try:
        yield made
    finally:
        made.close()


@asynccontextmanager
async def attended(service: Service, address: str) -> AsyncIterator["asyncio.Task[None]"]:
    """A service at work, once the hub has it."""
    ready = asyncio.Event()
    task = asyncio.ensure_future(service.serve(address, on_ready=lambda _address: ready.set()))
    waiting = asyncio.ensure_future(ready.wait())
    async with asyncio.timeout(20):
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        task.result()
    try:
        yield task
    finally:
        service.stop()
        service.stop()
        await asyncio.wait_for(task, 20)
