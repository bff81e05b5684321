"""rsocket-py: request and response, over TCP or over WebSocket (aiohttp), on uvloop."""

import asyncio
import sys
from datetime import timedelta
from typing import Any

import uvloop
from aiohttp import web
from rsocket.helpers import create_response, single_transport_provider
from rsocket.payload import Payload
from rsocket.request_handler import BaseRequestHandler
from rsocket.rsocket_client import RSocketClient
from rsocket.rsocket_server import RSocketServer
from rsocket.transports.aiohttp_websocket import TransportAioHttpClient, websocket_handler_factory
from rsocket.transports.tcp import TransportTCP

from benchmarks.driving import Order, drive, obey, serving

LONG = timedelta(minutes=10)


class Echo(BaseRequestHandler):  # type: ignore[misc]
    async def request_response(self, payload: Any) -> Any:
        return create_response(payload.data)


async def serve(over: str) -> None:
    if over == "tcp":
        server = await asyncio.start_server(
            lambda *pair: RSocketServer(TransportTCP(*pair), handler_factory=Echo), "127.0.0.1", 0
        )
        await serving(server.sockets[0].getsockname()[1])
    app = web.Application()
    app.add_routes([web.get("/", websocket_handler_factory(handler_factory=Echo))])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await serving(runner.addresses[0][1])


async def client(port: str, over: str) -> None:
    if over == "tcp":
        transport = TransportTCP(*await asyncio.open_connection("127.0.0.1", int(port)))
    else:
        transport = TransportAioHttpClient(f"ws://127.0.0.1:{port}/")
    provider = single_transport_provider(transport)
    async with RSocketClient(provider, keep_alive_period=LONG, max_lifetime_period=LONG) as peer:
        assert (await peer.request_response(Payload(b"hello"))).data == b"hello"

        async def act(order: Order) -> dict[str, Any]:
            data = bytes(order["size"])

            async def call() -> None:
                await peer.request_response(Payload(data))

            return await drive(call, order)

        await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    uvloop.run(serve(*words) if what == "serve" else client(*words))
