"""aiohttp: a bare WebSocket echo, without compression, on uvloop."""

import asyncio
import sys
from collections import deque
from typing import Any

import uvloop
from aiohttp import ClientSession, web

from benchmarks.driving import Order, drive, obey, raise_file_limit, serving

LARGEST = 2**25


async def echo(request: web.Request) -> web.WebSocketResponse:
    connection = web.WebSocketResponse(compress=False, max_msg_size=LARGEST)
    await connection.prepare(request)
    async for message in connection:
        await connection.send_bytes(message.data)
    return connection


async def serve() -> None:
    raise_file_limit()
    app = web.Application()
    app.add_routes([web.get("/", echo)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    await serving(runner.addresses[0][1])


async def client(port: str) -> None:
    url = f"http://127.0.0.1:{port}/"
    async with ClientSession() as session, session.ws_connect(url, max_msg_size=LARGEST) as connection:
        waiting: deque[asyncio.Future[None]] = deque()

        async def receive() -> None:
            async for _ in connection:
                waiting.popleft().set_result(None)

        async def act(order: Order) -> dict[str, Any]:
            payload = bytes(order["size"])

            async def call() -> None:
                answer = asyncio.get_running_loop().create_future()
                waiting.append(answer)
                await connection.send_bytes(payload)
                await answer

            return await drive(call, order)

        receiving = asyncio.create_task(receive())
        await obey(act)
        receiving.cancel()


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    uvloop.run(serve() if what == "serve" else client(*words))
