"""MFP as a user would have it: ``framehub.listen`` and ``framehub.connect``, nothing from inside."""

import asyncio
import sys
from contextlib import AsyncExitStack
from random import choice
from time import perf_counter
from typing import Any

import uvloop

import framehub
from benchmarks.driving import Call, Order, drive, obey, raise_file_limit, serving

ENVELOPE_BYTES = 40
"""About what the envelope takes of the smallest calls, so that 64 bytes are 64 bytes."""
PAUSE_SECONDS = 0.002
"""Between two timed requests: a user who clicks, not a load."""
AT_ONCE = 50
"""Connections that a crowd opens at the same time."""


async def serve() -> None:
    raise_file_limit()
    app = framehub.Endpoints()
    streamed: asyncio.Queue[int] = asyncio.Queue()

    @app.on("echo")
    def echo(call: framehub.Call) -> Any:
        return call.data

    @app.on("echo.async")
    async def echo_async(call: framehub.Call) -> Any:
        return call.data

    @app.on("echo.files")
    def echo_files(call: framehub.Call) -> framehub.Reply:
        return framehub.Reply(files=call.files)

    @app.on_stream("sink")
    async def sink(stream: framehub.InStream) -> None:
        streamed.put_nowait(sum([len(chunk.data) async for chunk in stream]))

    @app.on("streamed")
    async def how_much(_call: framehub.Call) -> int:
        return await streamed.get()

    async with framehub.listen("ws://127.0.0.1:0/mfp", app) as listener:
        await serving(listener.port)


def calls(peer: framehub.Peer, order: Order) -> Call:
    """A call as ordered: ``as`` is data (JSON), async (the same, to a coroutine) or file."""
    size = order["size"]
    if order["as"] == "file":
        files = {0: framehub.File(bytes(size))}

        async def call_file() -> None:
            reply = await peer.request("echo.files", files=files)
            assert len(reply.files[0].data) == size

        return call_file
    endpoint = "echo.async" if order["as"] == "async" else "echo"
    data = "x" * max(1, size - ENVELOPE_BYTES)

    async def call_data() -> None:
        await peer.request(endpoint, data)

    return call_data


async def stream(peer: framehub.Peer, order: Order) -> dict[str, Any]:
    """Send ``size`` bytes in pieces of ``chunk``; over when the handler has had them all."""
    chunk = bytes(order["chunk"])
    began = perf_counter()
    async with peer.stream("sink") as out:
        for _ in range(order["size"] // order["chunk"]):
            await out.write(chunk)
    reply = await peer.request("streamed")
    assert reply.data == order["size"], reply.data
    return {"seconds": perf_counter() - began}


async def waits(peer: framehub.Peer, order: Order) -> dict[str, Any]:
    """How long small requests take: ``count`` of them, or as many as fit while a stream runs."""
    streaming = asyncio.create_task(stream(peer, order)) if "size" in order else None
    taken: list[float] = []
    while not streaming.done() if streaming else len(taken) < order["count"]:
        began = perf_counter()
        await peer.request("echo", "hello")
        taken.append(perf_counter() - began)
        await asyncio.sleep(PAUSE_SECONDS)
    if streaming:
        await streaming
    return {"waits": taken}


async def client(port: str, *checksum: str) -> None:
    async with framehub.connect(
        f"ws://127.0.0.1:{port}/mfp", checksum=checksum[0] if checksum else None
    ) as peer:

        async def act(order: Order) -> dict[str, Any]:
            if order.get("do") == "stream":
                return await stream(peer, order)
            if order.get("do") == "waits":
                return await waits(peer, order)
            return await drive(calls(peer, order), order)

        await obey(act)


async def crowd(port: str) -> None:
    """Many connections from one process: ``open`` so many more, ``use`` each once, ``ping`` some."""
    raise_file_limit()
    peers: list[framehub.Peer] = []
    async with AsyncExitStack() as stack:

        async def join() -> None:
            peers.append(await stack.enter_async_context(framehub.connect(f"ws://127.0.0.1:{port}/mfp")))

        async def act(order: Order) -> dict[str, Any]:
            if order["do"] == "ping":
                return {"waits": [await choice(peers).ping() for _ in range(order["count"])]}
            if order["do"] == "use":
                for peer in peers:
                    await peer.request("echo", "hello")
            else:
                for done in range(0, order["count"], AT_ONCE):
                    await asyncio.gather(*(join() for _ in range(min(AT_ONCE, order["count"] - done))))
            return {"open": len(peers)}

        await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "serve":
        uvloop.run(serve())
    else:
        uvloop.run(crowd(*words) if what == "crowd" else client(*words))
