"""The hub's three sides: a gateway, a bare echo service, and clients on one or many WebSockets.

Service and clients do nothing but speak, so that what is measured is the hub. The clients can also speak to
the bare echo of ``benchmarks.sides.bare``, with the same bytes and the same code.
"""

import asyncio
import logging
import sys
from pathlib import Path
from random import choice
from time import perf_counter
from typing import Any

import uvloop
import zmq
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect
from zmq.backend import Socket as Backend

from benchmarks.driving import Order, obey, raise_file_limit, serve_at_once, serving
from benchmarks.sides.bare import LARGEST, head
from framehub.codes import HubCommand, HubState
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.hub.headers import HubFrame, Settings, Way, encode

SERVICE = 7
PING = encode(HubFrame(0, HubState.COMMAND, HubCommand.PING), 2, Way.HUB_TO_SERVICE)
PONG = encode(HubFrame(0, HubState.COMMAND, HubCommand.PONG), 2, Way.SERVICE_TO_HUB)
FIRST = encode(HubFrame(1, HubState.FIRST, 1, b"", SERVICE), 2, Way.CLIENT_TO_HUB)
START = encode(HubFrame(1, HubState.MESSAGE, 0), 2, Way.CLIENT_TO_HUB)
SMALL = 64
READ_BUFFER = 4_096
AT_ONCE = 50
"""Connections that a crowd opens at the same time."""
TIMEOUT_MS = 3_600_000
"""Streams that say nothing for this long are ended: none during a benchmark."""

quiet = logging.getLogger("benchmarks.picows")
quiet.setLevel(logging.CRITICAL)


async def serve(journal: str = "") -> None:
    """Say the ports of clients and of services."""
    raise_file_limit()
    settings = GatewaySettings(
        listen="127.0.0.1:0",
        services="127.0.0.1:0",
        clients=None,
        workers=None,
        journal=Path(journal) if journal else None,
    )
    async with Gateway(settings) as gateway:
        assert gateway.hub is not None
        ports = gateway.url.rpartition(":")[2].partition("/")[0], gateway.hub.address.rpartition(":")[2]
        await serving(" ".join(ports))


def service(port: str) -> None:
    """Send every body back on its stream, as a message."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.connect(f"tcp://127.0.0.1:{port}")
    recv: Any = Backend.recv.__get__(socket)
    send: Any = Backend.send.__get__(socket)
    configuration = HubFrame(0, HubState.FIRST, 0, b"", None, Settings(2, TIMEOUT_MS, SERVICE))
    send(encode(configuration, 2, Way.SERVICE_TO_HUB))
    assert recv()[5] == HubCommand.READY

    def echo() -> None:
        while True:
            data = recv()
            state = data[4]
            if state == HubState.MESSAGE:
                send(data)
            elif state == HubState.FIRST:
                send(data[:4] + b"\0\0" + data[8:])
            elif data.startswith(PING):
                send(PONG + data[6:])

    serve_at_once("echoing", echo)


class Caller(WSListener):
    """Keeps calls in flight on one connection until the time is over."""

    def __init__(self, first: bytes, message: bytes) -> None:
        super().__init__()
        self.first = first
        self.message = message
        self.transport: WSTransport | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.idle: asyncio.Future[None] | None = None
        self.flying = 0
        self.calls = 0
        self.until = 0.0
        self.parts: list[bytes] = []

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        if not self.first:
            self.opened.set_result(None)
        else:
            transport.send(WSMsgType.BINARY, self.first)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.payload_size != len(self.message) or not self.opened.done():
            self._other(transport, frame.get_payload_as_bytes())
        else:
            self.calls += 1
            if perf_counter() < self.until:
                self.parts.append(self.framed)
            else:
                self.flying -= 1
                if not self.flying and self.idle is not None:
                    self.idle.set_result(None)
        if frame.last_in_buffer and self.parts:
            transport.underlying_transport.write(b"".join(self.parts))
            self.parts = []

    def _other(self, transport: WSTransport, data: bytes) -> None:
        if data.startswith(PING):
            transport.send(WSMsgType.BINARY, PONG + data[6:])
        elif not self.opened.done():
            self.opened.set_result(None)
        else:
            raise RuntimeError(f"the hub says {data[:100]!r}")

    def begin(self, flight: int, until: float) -> "asyncio.Future[None]":
        """Make so many calls at a time; what is given ends when the last is answered."""
        assert self.transport is not None
        self.framed = head(len(self.message), masked=True) + self.message
        self.flying, self.calls, self.until = flight, 0, until
        self.idle = asyncio.get_running_loop().create_future()
        self.transport.underlying_transport.write(self.framed * flight)
        return self.idle


async def join(port: str, path: str) -> Caller:
    """Connect; at the hub open a stream, too."""
    first = FIRST if path == "hub" else b""
    _, made = await ws_connect(
        lambda: Caller(first, b""),
        f"ws://127.0.0.1:{port}/{path}",
        max_frame_size=LARGEST,
        logger_name=quiet,
        read_buffer_init_size=READ_BUFFER,
    )
    assert isinstance(made, Caller)
    await made.opened
    return made


async def client(port: str, path: str, connections: str) -> None:
    raise_file_limit()
    callers = [await join(port, path) for _ in range(int(connections))]
    start = START if path == "hub" else bytes(len(START))

    async def act(order: Order) -> dict[str, Any]:
        message = start + bytes(order["size"])
        began = perf_counter()
        for caller in callers:
            caller.message = message
        await asyncio.gather(*(one.begin(order["flight"], began + order["seconds"]) for one in callers))
        return {"calls": sum(one.calls for one in callers), "seconds": perf_counter() - began}

    await obey(act)


async def crowd(port: str) -> None:
    """Many connections with a stream each: ``open`` so many more, or make some round ``trips``."""
    raise_file_limit()
    callers: list[Caller] = []

    async def trip(caller: Caller) -> float:
        began = perf_counter()
        caller.message = START + bytes(SMALL)
        await caller.begin(1, began)
        return perf_counter() - began

    async def act(order: Order) -> dict[str, Any]:
        if order["do"] == "trips":
            return {"waits": [await trip(choice(callers)) for _ in range(order["count"])]}
        for done in range(0, order["count"], AT_ONCE):
            joining = (join(port, "hub") for _ in range(min(AT_ONCE, order["count"] - done)))
            callers.extend(await asyncio.gather(*joining))
        return {"open": len(callers)}

    await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "service":
        service(*words)
    else:
        mains: dict[str, Any] = {"serve": serve, "client": client, "crowd": crowd}
        uvloop.run(mains[what](*words))
