"""Honest callers in a process of their own: ``python -m tests.attacks.rpc_honest ADDRESS [KEYS]``.

Each keeps calling all that can be called, and checks every answer. A line ``start`` on stdin begins; while
they work ``report`` is answered with what was done so far, and ``stop`` with the same at the end.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import uvloop

import framehub
from framehub.errors import RemoteFunctionError, UnsupportedFunctionName
from framehub.runtime.curve import CurveClient, read_public, read_secret

CLIENTS = 20
PAUSE_SECONDS = 0.1
PATIENCE = 60.0


class Client:
    """One of them."""

    def __init__(self, number: int, address: str, keys: Path | None) -> None:
        self.rounds = 0
        self.waits: list[float] = []
        self._random = Random(number)
        curve = None
        if keys is not None:
            (server,) = read_public(keys / "server.pub")
            curve = CurveClient(server, read_secret(keys / "client"))
        self.functions = framehub.Functions(address, curve=curve, timeout=PATIENCE)

    async def round(self) -> None:
        """One of everything, each with its answer checked."""
        blob = self._random.randbytes(self._random.randrange(4_000))
        began = perf_counter()
        same = await self.functions.call_bytes("echo", blob)
        self.waits.append(perf_counter() - began)
        self._check("echo", same == blob)
        number = self._random.randrange(10**6)
        self._check("square", await self.functions.call("square", number) == number * number)
        try:
            await self.functions.call("fail", f"for {number}")
        except RemoteFunctionError as exc:
            self._check("fail", exc.message == f"ValueError: for {number}")
        else:
            self._check("fail", right=False)
        try:
            await self.functions.call_bytes("nobody", b"")
        except UnsupportedFunctionName:
            pass
        else:
            self._check("nobody", right=False)
        self._check("coders", await self.functions.coders("typed") == ("Int", "Int"))
        self.rounds += 1

    @staticmethod
    def _check(what: str, right: bool) -> None:
        if not right:
            raise ValueError(f"a wrong answer of {what}")


class Crowd:
    """All of them."""

    def __init__(self, address: str, keys: Path | None) -> None:
        self._clients = [Client(number, address, keys) for number in range(CLIENTS)]
        self._failures: list[str] = []
        self._stopping = False

    async def work(self, orders: AsyncIterator[str]) -> None:
        """Until the order to stop."""
        async with AsyncExitStack() as stack:
            for client in self._clients:
                await stack.enter_async_context(client.functions)
            await asyncio.gather(*(client.round() for client in self._clients))
            print("started", flush=True)
            tasks = [asyncio.create_task(self._work(client)) for client in self._clients]
            async for order in orders:
                if order == "stop":
                    break
                self._tell()
            self._stopping = True
            await asyncio.gather(*tasks)
        self._tell()

    async def _work(self, client: Client) -> None:
        try:
            while not self._stopping:
                await client.round()
                await asyncio.sleep(PAUSE_SECONDS)
        except Exception as exc:
            self._failures.append(repr(exc))

    def _tell(self) -> None:
        waits = [wait for client in self._clients for wait in client.waits]
        for client in self._clients:
            client.waits.clear()
        rounds = [client.rounds for client in self._clients]
        told: dict[str, Any] = {"rounds": rounds, "failures": self._failures, "waits": waits}
        print(json.dumps(told), flush=True)


async def lines() -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield line.strip()


async def main() -> None:
    orders = lines()
    async for order in orders:
        if order == "start":
            await Crowd(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None).work(orders)


if __name__ == "__main__":
    uvloop.run(main())
