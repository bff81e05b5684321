"""Honest clients of a hub in a process of their own: ``python -m tests.attacks.hub_honest PORT``.

Each keeps one stream open all the time, opens others to both services, half of them in version 1, and checks
every frame; ``shift`` says what else happens.
"""

import asyncio
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random
from time import perf_counter

import uvloop

from tests.attacks.attacker import PATIENCE
from tests.attacks.hub_attacker import CLOSE, COMMAND, LAST, MESSAGE, PONG, Told, Visitor
from tests.attacks.hub_attacker import PING as ASK
from tests.attacks.hub_service import COUNT, ECHO, INTERFACE, NEW, OLD, TALK
from tests.attacks.shift import obey


class Client:
    """One of them."""

    def __init__(self, number: int, port: int) -> None:
        self.rounds = 0
        self.waits: list[float] = []
        self._number = number
        self._port = port
        self._random = Random(number)
        self._last = 0
        self._heard: dict[int, asyncio.Queue[Told]] = {}

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        self._visitor = await Visitor.come(self._port, 1 + self._number % 2)
        listening = asyncio.create_task(self._listen())
        self._link = self._heard[0] = asyncio.Queue()
        self._talk = await self._open((NEW, OLD)[self._number // 2 % 2], TALK, b"hello")
        self._right("talk", await self._next(self._talk), MESSAGE, b"hello")
        try:
            yield
        finally:
            await self._visitor.says_on(self._talk, LAST)
            self._right("talk", await self._next(self._talk), LAST)
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening
            self._visitor.leave()

    async def round(self) -> None:
        """One of everything, each with its answer checked."""
        visitor, blob = self._visitor, self._random.randbytes(self._random.randrange(4_000))
        began = perf_counter()
        echoed = await self._open(self._some(), ECHO, blob)
        told = await self._next(echoed)
        self.waits.append(perf_counter() - began)
        self._right("echo", told, LAST, blob)
        for n in range(3):
            await visitor.says_on(self._talk, MESSAGE, 0, b"%d " % n + blob)
        for n in range(3):
            self._right("talk", await self._next(self._talk), MESSAGE, b"%d " % n + blob)
        counted, many = await self._open(self._some(), COUNT, struct.pack(">I", 20)), range(20)
        for n in many:
            self._right("count", await self._next(counted), MESSAGE, struct.pack(">I", n))
        self._right("count", await self._next(counted), LAST)
        closed = await self._open(self._some(), TALK, b"")
        self._right("close", await self._next(closed), MESSAGE)
        await visitor.says_on(closed, COMMAND, CLOSE)
        self._right("close", await self._next(closed), COMMAND)
        described = await self._open(self._some(), 0, b"")
        self._right("interface", await self._next(described), LAST, INTERFACE)
        await visitor.says_on(0, COMMAND, ASK, blob[:8])
        self._right("ping", await self._next(0), COMMAND, blob[:8], PONG)
        for stream in (echoed, counted, closed, described):
            del self._heard[stream]  # what comes there from now on is one frame too many
        self.rounds += 1

    def _some(self) -> int:
        return self._random.choice((NEW, OLD))

    async def _open(self, service: int, function: int, body: bytes) -> int:
        self._last += 1
        self._heard[self._last] = asyncio.Queue()
        await self._visitor.opens(self._last, service, function, body)
        return self._last

    async def _next(self, stream: int) -> Told:
        async with asyncio.timeout(PATIENCE):
            return await self._heard[stream].get()

    async def _listen(self) -> None:
        """What comes on a stream that is not open is told with what comes next on the link."""
        try:
            while True:
                told = await self._visitor.hears()
                self._heard.get(told.stream, self._link).put_nowait(told)
        except EOFError as end:
            for queue in self._heard.values():
                queue.put_nowait(Told(-1, -1, -1, f"the connection ended: {end}".encode()))

    def _right(self, what: str, told: Told, state: int, body: bytes = b"", parameter: int = -1) -> None:
        right = (state, body) == (told.state, told.body) and parameter in {-1, told.parameter}
        if not right:
            raise ValueError(f"client {self._number}: a wrong answer of {what}: {told!r:.200}")


async def main() -> None:
    await obey(lambda number: Client(number, int(sys.argv[1])))


if __name__ == "__main__":
    uvloop.run(main())
