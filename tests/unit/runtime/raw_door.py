"""A WebSocket listener where a hub could be: it says and hears bytes, and knows nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from framehub.codes import HubCommand, HubState
from framehub.hub.headers import HubFrame, Way, decode, encode
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.entrance import HubEntrance
from framehub.runtime.hub_client import HubClient
from framehub.runtime.listen import Listener
from framehub.runtime.websocket import WebSocketLink


class RawDoor:
    """For one client at a time: the last one that came."""

    def __init__(self, *, is_polite: bool = True) -> None:
        """A polite one answers pings by itself."""
        self.frames: list[HubFrame] = []
        self.url = ""
        self.version = 0
        self.came = 0
        self.lost: list[tuple[int, str]] = []
        self.is_polite = is_polite
        self._news = asyncio.Event()

    def own(self, link: WebSocketLink, *, version: int, user: int) -> "RawDoor":
        self.link, self.version = link, version
        self.came += 1
        return self

    def says(self, frame: HubFrame) -> None:
        self.link.send(encode(frame, self.version, Way.HUB_TO_CLIENT))

    def answers(
        self, body: bytes, state: HubState = HubState.MESSAGE, *, stream: int = 1, parameter: int = 0
    ) -> None:
        self.says(HubFrame(stream, state, parameter, body))

    async def hears(self, count: int = 1) -> list[HubFrame]:
        async with asyncio.timeout(20):
            while len(self.frames) < count:
                self._news.clear()
                await self._news.wait()
        heard, self.frames = self.frames[:count], self.frames[count:]
        return heard

    # --- LinkOwner -------------------------------------------------------------------------------------

    def frame_received(self, data: bytes | memoryview) -> None:
        frame = decode(bytes(data), self.version, Way.CLIENT_TO_HUB)
        if self.is_polite and (frame.state, frame.parameter) == (HubState.COMMAND, HubCommand.PING):
            self.says(HubFrame(0, HubState.COMMAND, HubCommand.PONG, frame.body))
            return
        self.frames.append(frame)
        self._news.set()

    def link_full(self) -> None: ...

    def link_ready(self) -> None: ...

    def link_lost(self, code: int, reason: str) -> None:
        self.lost.append((code, reason))


@asynccontextmanager
async def raw_door(**others: Any) -> AsyncIterator[RawDoor]:
    made = RawDoor(**others)
    async with Listener("ws://127.0.0.1:0/mfp", Endpoints(), hub=HubEntrance(made.own)) as listener:
        made.url = listener.hub_url
        yield made


@asynccontextmanager
async def visited(**others: Any) -> AsyncIterator[tuple[RawDoor, HubClient]]:
    """A door and a client inside."""
    async with raw_door() as door, HubClient(door.url, **others) as hub:
        yield door, hub
