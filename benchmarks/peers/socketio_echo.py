"""python-socketio: a call with an acknowledgement, over WebSocket only, on aiohttp and uvloop."""

import sys
from typing import Any

import socketio
import uvloop
from aiohttp import web

from benchmarks.driving import Order, drive, obey, serving


async def serve() -> None:
    # No long polling first, and no task for each event: a tenth faster than with.
    hub = socketio.AsyncServer(async_mode="aiohttp", transports=["websocket"], async_handlers=False)

    @hub.event  # type: ignore[untyped-decorator]
    async def echo(_sid: str, data: str) -> str:
        return data

    app = web.Application()
    hub.attach(app)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    await serving(runner.addresses[0][1])


async def client(port: str) -> None:
    peer = socketio.AsyncClient()
    await peer.connect(f"http://127.0.0.1:{port}", transports=["websocket"])

    assert await peer.call("echo", "hello") == "hello"

    async def act(order: Order) -> dict[str, Any]:
        data = "x" * order["size"]

        async def call() -> None:
            await peer.call("echo", data)

        return await drive(call, order)

    await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    uvloop.run(serve() if what == "serve" else client(*words))
