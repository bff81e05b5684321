"""A hub in this process, and services and clients that say what a test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Settings, Way, decode, encode
from framehub.journal.columns import to_batch
from framehub.journal.record import Row
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.hub import Hub
from framehub.runtime.hub_tap import HubTap
from framehub.runtime.listen import Listener
from framehub.runtime.zmq_socket import MessageSocket

from .raw import BINARY, FIN, RawClient

FREE = "tcp://127.0.0.1:0"
FIRST, MESSAGE, LAST = HubState.FIRST, HubState.MESSAGE, HubState.LAST
COMMAND, STREAM_ERROR = HubState.COMMAND, HubState.STREAM_ERROR
NUMBER = 7
INTERFACE = b'{"name": "calc", "functions": [{"number": 1, "name": "add"}]}'


class Rows:
    """Stands where the journal's tap is."""

    takes_brief = False

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def append(self, row: Row) -> None:
        self.rows.append(row)

    append_link = append

    @property
    def told(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = to_batch(self.rows).to_pylist()
        return rows

    @property
    def last(self) -> dict[str, Any]:
        return self.told[-1]


def tapped() -> tuple[HubTap, Rows]:
    rows = Rows()
    return HubTap(rows), rows  # type: ignore[arg-type]


@asynccontextmanager
async def hub_at_work(**how: Any) -> AsyncIterator[tuple[Hub, Listener]]:
    """A hub with a listener on free ports."""
    hub = Hub(services=FREE, **how)
    await hub.start()
    listener = Listener("ws://127.0.0.1:0/mfp", Endpoints(), hub=hub.entrance)
    await listener.start()
    try:
        yield hub, listener
    finally:
        await listener.close(drain=0)
        await hub.close()


class RawService:
    """A dealer that speaks the hub's frames, and answers PINGs unless told not to."""

    def __init__(
        self, hub: Hub, *, version: int = 2, identity: bytes | None = None, is_polite: bool = True, **how: Any
    ) -> None:
        self.version = version
        self.is_polite = is_polite
        self.frames: list[HubFrame] = []
        self._news = asyncio.Event()
        self.socket = MessageSocket("dealer", self._take, identity=identity, **how)
        self.socket.connect(hub.address)

    async def registers(
        self, number: int = NUMBER, *, interface: bytes = b"", timeout_ms: int = 0
    ) -> "RawService":
        self.configures(number, interface=interface, timeout_ms=timeout_ms)
        (ready,) = await self.hears()
        assert (ready.stream, ready.state, ready.parameter) == (0, COMMAND, HubCommand.READY)
        return self

    def configures(self, number: int = NUMBER, *, interface: bytes = b"", timeout_ms: int = 0) -> None:
        settings = Settings(self.version, timeout_ms, number)
        self.says(HubFrame(0, FIRST, 0, interface, None, settings))

    def says(self, frame: HubFrame) -> None:
        self.socket.send([encode(frame, self.version, Way.SERVICE_TO_HUB)])

    def answers(self, frame: HubFrame, body: bytes, state: HubState = MESSAGE) -> None:
        self.says(HubFrame(frame.stream, state, 0, body))

    async def hears(self, count: int = 1) -> list[HubFrame]:
        async with asyncio.timeout(20):
            while len(self.frames) < count:
                self._news.clear()
                await self._news.wait()
        heard, self.frames = self.frames[:count], self.frames[count:]
        return heard

    def close(self) -> None:
        self.socket.close()

    def _take(self, batch: list[list[bytes]]) -> None:
        for (data,) in batch:
            frame = decode(data, self.version, Way.HUB_TO_SERVICE)
            if (frame.stream, frame.state, frame.parameter) == (0, COMMAND, HubCommand.PING):
                if self.is_polite:
                    self.says(HubFrame(0, COMMAND, HubCommand.PONG, frame.body))
            else:
                self.frames.append(frame)
        self._news.set()


class Caller:
    """A client's WebSocket at the hub."""

    def __init__(self, raw: RawClient, version: int) -> None:
        self.raw = raw
        self.version = version

    @classmethod
    async def open(cls, listener: Listener, *, version: int = 2, headers: str = "") -> "Caller":
        told = f"X-Hub-Version: {version}\r\n{headers}"
        return cls(await RawClient.open(listener.port, path="/hub", headers=told), version)

    def says(self, frame: HubFrame) -> None:
        self.says_bytes(encode(frame, self.version, Way.CLIENT_TO_HUB))

    def says_bytes(self, data: bytes) -> None:
        self.raw.send(FIN | BINARY, data)

    def opens(
        self, stream: int, body: bytes = b"", *, function: int = 1, service: int = NUMBER, timeout_ms: int = 0
    ) -> None:
        if self.version == 1:
            settings = Settings(1, timeout_ms, service)
            self.says(HubFrame(stream, FIRST, function, body, None, settings))
        else:
            self.says(HubFrame(stream, FIRST, function, body, service))

    def tells(self, stream: int, body: bytes, state: HubState = MESSAGE) -> None:
        self.says(HubFrame(stream, state, 0, body))

    async def hears(self) -> HubFrame:
        async with asyncio.timeout(20):
            kind, data = await self.raw.receive()
        assert kind == BINARY, (kind, data)
        return decode(data, self.version, Way.HUB_TO_CLIENT)

    async def hears_error(self) -> tuple[int, HubError]:
        frame = await self.hears()
        assert frame.state is STREAM_ERROR, frame
        return frame.stream, HubError(frame.parameter)

    async def end(self) -> None:
        await self.raw.end()


async def until(condition: Callable[[], object]) -> None:
    """Wait for it."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
