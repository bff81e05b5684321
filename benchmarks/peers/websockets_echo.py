"""websockets: a bare echo, tuned (no compression, no pings of its own), on uvloop."""

import asyncio
import sys
from collections import deque
from typing import Any

import uvloop
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve as listen

from benchmarks.driving import Order, drive, obey, raise_file_limit, serving

TUNED: dict[str, Any] = {"compression": None, "max_queue": 64, "max_size": 2**25, "ping_interval": None}


async def echo(connection: Any) -> None:
    async for message in connection:
        await connection.send(message)


async def serve() -> None:
    raise_file_limit()
    async with listen(echo, "127.0.0.1", 0, backlog=1024, **TUNED) as server:
        await serving(server.sockets[0].getsockname()[1])


async def client(port: str) -> None:
    async with connect(f"ws://127.0.0.1:{port}/", **TUNED) as connection:
        waiting: deque[asyncio.Future[None]] = deque()

        async def receive() -> None:
            async for _ in connection:
                waiting.popleft().set_result(None)

        async def act(order: Order) -> dict[str, Any]:
            payload = bytes(order["size"])

            async def call() -> None:
                answer = asyncio.get_running_loop().create_future()
                waiting.append(answer)
                await connection.send(payload)
                await answer

            return await drive(call, order)

        receiving = asyncio.create_task(receive())
        await obey(act)
        receiving.cancel()


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    uvloop.run(serve() if what == "serve" else client(*words))
