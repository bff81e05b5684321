"""grpcio: unary calls of grpc.aio, bytes as they are."""

import asyncio
import sys
from typing import Any

import grpc

from benchmarks.driving import Order, drive, obey, serving

SERVICE, METHOD = "benchmarks.Echo", "Call"


async def echo(data: bytes, _context: Any) -> bytes:
    return data


async def serve() -> None:
    server = grpc.aio.server()
    methods = {METHOD: grpc.unary_unary_rpc_method_handler(echo)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    await serving(port)


async def client(port: str) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        method = channel.unary_unary(f"/{SERVICE}/{METHOD}")
        assert await method(b"hello") == b"hello"

        async def act(order: Order) -> dict[str, Any]:
            data = bytes(order["size"])

            async def call() -> None:
                await method(data)

            return await drive(call, order)

        await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    asyncio.run(serve() if what == "serve" else client(*words))
