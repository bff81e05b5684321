"""A place where replayed traffic goes, and rows to replay."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from framehub.codes import BinaryKind
from framehub.journal.acts import COLUMNS, MfpActs
from framehub.journal.compared import Tally
from framehub.mfp import envelope
from framehub.mfp.frames import BinaryFrame, MessageFrame
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener
from framehub.runtime.replay import Replay
from framehub.runtime.replay_doors import MfpDoor
from framehub.runtime.streams import InStream
from tests.unit.console.rows import CLIENT, Script


class Place:
    """Where traffic goes: it notes what came, and in which order it was begun and done."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.links: list[str] = []
        self.app = Endpoints()
        self.app.on("nap")(self.nap)
        self.app.on("wait")(self.wait)
        self.app.on_stream("upload")(self.upload)
        self.app.on_stream("full")(self.full)
        self.app.on_stream("noted")(self.noted)
        self.app.on_stream("stuck")(self.stuck)
        self.go_on = asyncio.Event()
        self.server: Listener | None = None
        self.most_open = 0

    async def nap(self, call: Call) -> str:
        self.links.append(call.peer.link)
        if self.server:
            self.most_open = max(self.most_open, len(self.server.peers))
        self.seen.append(("nap", call.data))
        await asyncio.sleep(0.01)
        self.seen.append(("woke", call.data))
        return "well"

    async def wait(self, call: Call) -> None:
        self.seen.append("waits")
        try:
            await asyncio.Event().wait()
        finally:
            self.seen.append("given up")

    async def upload(self, stream: InStream) -> None:
        try:
            async for chunk in stream:
                self.seen.append((chunk.key, chunk.data))
            self.seen.append("whole")
        except BaseException:
            self.seen.append("broken")
            raise

    async def noted(self, stream: InStream) -> None:
        self.seen.append("noted")
        async for _ in stream:
            pass

    async def stuck(self, stream: InStream) -> None:
        self.seen.append("stuck")
        await self.go_on.wait()
        stream.abort()

    async def full(self, stream: InStream) -> None:
        stream.abort()


class Everything:
    """All is wanted."""

    def __call__(self, _name: str, _exchange: bytes) -> bool:
        return True

    def begin(self) -> bool:
        return True


everything = partial(MfpActs, Everything())


async def sent_to(url: str, script: Script, *, speed: float = 0.0, timeout: float = 10.0) -> Tally:
    tally = Tally()
    again = Replay(partial(MfpDoor, {"url": url}, timeout, ()), everything, tally, speed=speed)
    try:
        for row in script.read:
            await again.take({key: row[key] for key in COLUMNS})
        await again.finish()
    finally:
        await again.stop()
    return tally


Do: TypeAlias = Callable[..., Coroutine[Any, Any, Tally]]


def exchange(number: int, link: bytes = CLIENT) -> bytes:
    return link + number.to_bytes(8, "big")


def say(script: Script, way: int, frame: Any, number: int = 1, **labels: Any) -> None:
    script.say(len(script.rows), way, frame, exchange(number), **labels)


def opening(name: str = "upload") -> MessageFrame:
    return MessageFrame(id=1, payload=envelope.encode(name), streaming=True)


def chunk(data: bytes, key: int | None = None, *, final: bool = False) -> BinaryFrame:
    kind = BinaryKind.DATA if key is None else BinaryKind.STREAMING
    return BinaryFrame(id=2, ref=1, kind=kind, key=key, data=data, final=final)


async def all_of(script: Script, again: Replay) -> None:
    for row in script.read:
        await again.take(row)
    await again.finish()
