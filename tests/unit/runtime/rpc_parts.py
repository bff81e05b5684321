"""A proxy, workers and clients in this process, for tests of each."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from framehub.rpc.settings import ProxySettings
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.worker import Worker
from framehub.runtime.zmq_socket import MessageSocket

FREE = "tcp://127.0.0.1:0"


@asynccontextmanager
async def proxy(settings: ProxySettings | None = None, **others: Any) -> AsyncIterator[RpcProxy]:
    """A proxy on free ports."""
    made = RpcProxy(clients=FREE, workers=FREE, settings=settings, **others)
    await made.start()
    try:
        yield made
    finally:
        made.close()


@asynccontextmanager
async def serving(worker: Worker, address: str) -> AsyncIterator[Worker]:
    """A worker at work, once its functions can be called."""
    ready = asyncio.Event()
    task = asyncio.ensure_future(worker.serve(address, on_ready=lambda _address: ready.set()))
    waiting = asyncio.ensure_future(ready.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        task.result()
    try:
        yield worker
    finally:
        worker.stop()
        await task


class RawPeer:
    """A dealer that says what a test wants, and keeps what it hears."""

    def __init__(self, address: str, identity: bytes | None = None) -> None:
        self.heard: list[list[bytes]] = []
        self._news = asyncio.Event()
        self._socket = MessageSocket("dealer", self._take, identity=identity)
        self._socket.connect(address)

    def says(self, *parts: bytes) -> None:
        self._socket.send(parts)

    async def hears(self, count: int = 1) -> list[list[bytes]]:
        """The next ``count`` messages."""
        async with asyncio.timeout(20):
            while len(self.heard) < count:
                self._news.clear()
                await self._news.wait()
        heard, self.heard = self.heard[:count], self.heard[count:]
        return heard

    def close(self) -> None:
        self._socket.close(linger=0.2)

    def _take(self, batch: list[list[bytes]]) -> None:
        self.heard += batch
        self._news.set()


async def until(condition: Callable[[], object]) -> None:
    """Wait for it."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
