"""Twenty honest clients in a process of their own: ``python -m tests.attacks.honest PORT [TOKEN]``.

Each keeps doing all that a client does, and checks every answer. A line ``start`` on stdin begins, ``stop``
ends; ``stop`` is answered with what was done, what failed and how long the requests took.
"""

import asyncio
import json
import sys
from collections import Counter
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from hashlib import sha256
from random import Random
from time import perf_counter
from typing import Any

import uvloop

import framehub

CLIENTS = 20
PAUSE_SECONDS = 0.02
"""After each round: fewer than 50 pings a second, which is half of what a connection may send."""


class Client:
    """One of them."""

    def __init__(self, number: int, url: str, token: str | None) -> None:
        self.done: Counter[str] = Counter()
        self.waits: list[float] = []
        self._random = Random(number)
        self._url = url
        self._token = token
        self._sunk: asyncio.Queue[Any] = asyncio.Queue()
        self._endpoints = framehub.Endpoints()
        self._endpoints.on("sink.done")(lambda call: self._sunk.put_nowait(call.data))
        self._endpoints.on("who.are.you")(lambda _call: number)
        self._number = number

    def connected(self) -> AbstractAsyncContextManager[framehub.Peer]:
        checksum = (None, "crc32", "crc32.always")[self._number % 3]
        return framehub.connect(self._url, endpoints=self._endpoints, checksum=checksum, token=self._token)

    async def round(self, peer: framehub.Peer) -> None:
        """One of everything, each with its answer checked."""
        data = {"n": self._random.random(), "text": "x" * self._random.randrange(200)}
        began = perf_counter()
        reply = await peer.request("echo", data)
        self.waits.append(perf_counter() - began)
        self._right("requests", reply.data == data)
        await peer.send("note", data, ack=True)
        self._right("messages", right=True)
        blob = self._random.randbytes(self._random.randrange(4_000))
        async with peer.stream("sink") as out:
            await out.write(blob[:1_000])
            await out.write(blob[1_000:])
        self._right("streams", await self._sunk.get() == [len(blob), sha256(blob).hexdigest()])
        self._right("questions", (await peer.request("ask.back")).data == self._number)
        self._right("pings", await peer.ping() >= 0)

    def _right(self, what: str, right: bool) -> None:
        if not right:
            raise ValueError(f"client {self._number}: a wrong answer to one of its {what}")
        self.done[what] += 1


async def crowd(url: str, token: str | None, orders: "asyncio.Queue[str]") -> dict[str, Any]:
    """Work until the next order; what was done."""
    clients = [Client(number, url, token) for number in range(CLIENTS)]
    failures: list[str] = []
    stopping = False

    async def work(client: Client, peer: framehub.Peer) -> None:
        try:
            while not stopping:
                await client.round(peer)
                await asyncio.sleep(PAUSE_SECONDS)
        except Exception as exc:
            failures.append(repr(exc))

    async with AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(client.connected()) for client in clients]
        for client, peer in zip(clients, peers, strict=True):
            await client.round(peer)
        print("started", flush=True)
        tasks = [asyncio.create_task(work(*pair)) for pair in zip(clients, peers, strict=True)]
        await orders.get()
        stopping = True
        await asyncio.gather(*tasks)
    done = sum((client.done for client in clients), Counter())
    waits = [wait for client in clients for wait in client.waits]
    return {"done": done, "failures": failures, "waits": waits, "clients": len(clients)}


async def main() -> None:
    orders: asyncio.Queue[str] = asyncio.Queue()
    token = sys.argv[2] if len(sys.argv) > 2 else None
    loop = asyncio.get_running_loop()

    async def listen() -> None:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            orders.put_nowait(line.strip())

    listening = asyncio.create_task(listen())
    while not listening.done():
        taking = asyncio.create_task(orders.get())
        await asyncio.wait((taking, listening), return_when=asyncio.FIRST_COMPLETED)
        if not taking.done():
            taking.cancel()
        elif taking.result() == "start":
            told = await crowd(f"ws://127.0.0.1:{sys.argv[1]}/mfp", token, orders)
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
