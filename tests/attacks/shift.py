"""Honest peers that work in a process of their own until they are told to stop.

A line ``start`` on stdin begins; while they work ``report`` is answered with what was done so far, and
``stop`` with the same at the end.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Protocol

CLIENTS = 20
PAUSE_SECONDS = 0.1


class Honest(Protocol):
    """One of them."""

    rounds: int
    """What it did."""
    waits: list[float]
    """How long some of it took."""

    def connected(self) -> AbstractAsyncContextManager[object]:
        """It works inside."""

    async def round(self) -> None:
        """One of everything, each with its answer checked."""


class Shift:
    """All of them."""

    def __init__(self, honest: list[Honest]) -> None:
        self._honest = honest
        self._failures: list[str] = []
        self._stopping = False

    async def work(self, orders: AsyncIterator[str]) -> None:
        """Until the order to stop."""
        async with AsyncExitStack() as stack:
            for one in self._honest:
                await stack.enter_async_context(one.connected())
            await asyncio.gather(*(one.round() for one in self._honest))
            print("started", flush=True)
            tasks = [asyncio.create_task(self._work(one)) for one in self._honest]
            async for order in orders:
                if order == "stop":
                    break
                self._tell()
            self._stopping = True
            await asyncio.gather(*tasks)
        self._tell()

    async def _work(self, one: Honest) -> None:
        try:
            while not self._stopping:
                await one.round()
                await asyncio.sleep(PAUSE_SECONDS)
        except Exception as exc:
            self._failures.append(repr(exc))

    def _tell(self) -> None:
        waits = [wait for one in self._honest for wait in one.waits]
        for one in self._honest:
            one.waits.clear()
        rounds = [one.rounds for one in self._honest]
        told: dict[str, Any] = {"rounds": rounds, "failures": self._failures, "waits": waits}
        print(json.dumps(told), flush=True)


async def obey(make: Callable[[int], Honest]) -> None:
    """Let new ones work, given their numbers, each time that a line says so."""
    orders = _lines()
    async for order in orders:
        if order == "start":
            await Shift([make(number) for number in range(CLIENTS)]).work(orders)


async def _lines() -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield line.strip()
