"""A workshop with futures, for tests."""

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from framehub.runtime.workdone import Outcome
from framehub.runtime.workshop import Workshop
from framehub.runtime.workthreads import ThreadWorkshop

from . import workfunctions

SOURCE = str(Path(__file__).with_name("workfunctions.py"))


class Died(Exception):
    """The child that had begun it died."""


class Bench:
    """Submit, and await what comes of it."""

    def __init__(self) -> None:
        self.shop: Workshop | ThreadWorkshop
        self.broken: list[str] = []
        self.outcomes: list[bytes] = []
        self._futures: dict[bytes, asyncio.Future[Outcome]] = {}
        self._wids = count()

    def make(self, processes: int = 1, source: str = SOURCE, **options: Any) -> Workshop:
        functions = options.pop("functions", workfunctions.functions)
        self.shop = shop = Workshop(
            source,
            functions,
            processes=processes,
            on_outcome=self._outcome,
            on_died=self._died,
            on_broken=self.broken.append,
            **options,
        )
        return shop

    def make_threads(self, threads: int, **options: Any) -> ThreadWorkshop:
        self.shop = shop = ThreadWorkshop(
            workfunctions.functions, threads=threads, on_outcome=self._outcome, **options
        )
        return shop

    async def all_ready(self, processes: int) -> None:
        await until(lambda: self.shop.alive == processes)

    def submit(self, name: str, *args: Any) -> tuple[bytes, "asyncio.Future[Outcome]"]:
        """JSON arguments, or one of bytes."""
        if len(args) == 1 and isinstance(args[0], bytes):
            argument = args[0]
        else:
            argument = msgspec.json.encode(args[0] if len(args) == 1 else list(args) or None)
        wid = next(self._wids).to_bytes(16, "big")
        future = asyncio.get_running_loop().create_future()
        self._futures[wid] = future
        self.shop.submit(wid, name, argument)
        return wid, future

    async def outcome(self, name: str, *args: Any) -> Outcome:
        return await self.submit(name, *args)[1]

    async def call(self, name: str, *args: Any) -> Any:
        """Its result, read as JSON."""
        return value(await self.outcome(name, *args))

    async def stop(self, grace: float = 0) -> None:
        pids = self.shop.pids
        await self.shop.stop(grace)
        assert [pid for pid in pids if lives(pid)] == []

    def _outcome(self, wid: bytes, outcome: Outcome) -> None:
        self.outcomes.append(wid)
        self._futures.pop(wid).set_result(outcome)

    def _died(self, wids: list[bytes]) -> None:
        for wid in wids:
            self._futures.pop(wid).set_exception(Died())


def value(outcome: Outcome) -> Any:
    assert outcome.result is not None, outcome.error
    return msgspec.json.decode(outcome.result)


def lives(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def kill(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        os.kill(pid, number)


async def until(condition: Callable[[], object], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
