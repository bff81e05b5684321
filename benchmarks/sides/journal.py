"""A whole gateway, with or without a journal, and an MFP client that does nothing but speak.

``serve FOLDER`` keeps a journal in that folder, ``serve`` none. The client sends requests that were made
beforehand but for their numbers and looks at no answer, so that it takes less CPU time than the gateway does.
"""

import asyncio
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from picows import WSFrame, WSListener, WSTransport, ws_connect

import framehub
from benchmarks.driving import Order, obey, raise_file_limit, serving
from benchmarks.sides.bare import LARGEST, head, quiet
from benchmarks.sides.rpc import port_of
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import AdminSettings, GatewaySettings
from framehub.mfp import envelope
from framehub.mfp.layout import HEAD_SIZE, REQUEST, RESPONSE

FREE = "127.0.0.1:0"
HEAD_BYTES = HEAD_SIZE.size
app = framehub.Endpoints()


@app.on("echo")
def echo(call: framehub.Call) -> Any:
    """Answer with what was asked."""
    return call.data


async def serve(journal: str = "") -> None:
    """Say the ports of MFP and hub clients, of services, of callers of functions and of workers."""
    raise_file_limit()
    settings = GatewaySettings(
        app="benchmarks.sides.journal:app",
        listen=FREE,
        services=FREE,
        clients=FREE,
        workers=FREE,
        admin=AdminSettings(listen=None),
        journal=Path(journal) if journal else None,
    )
    async with Gateway(settings) as ours:
        assert ours.functions is not None
        assert ours.hub is not None
        addresses = (
            ours.url.removesuffix("/mfp"),
            ours.hub.address,
            ours.functions.clients_address,
            ours.functions.workers_address,
        )
        await serving(" ".join(map(port_of, addresses)))


class Asker(WSListener):
    """Keeps requests in flight until the time is over."""

    def __init__(self) -> None:
        super().__init__()
        self.transport: WSTransport | None = None
        self.idle: asyncio.Future[None] | None = None
        self.last = 0
        self.flying = self.calls = self.due = 0
        self.until = 0.0
        self.before = self.payload = b""

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport

    def on_ws_frame(self, _transport: WSTransport, frame: WSFrame) -> None:
        if frame.get_payload_as_memoryview()[0] != RESPONSE:
            return  # the greeting
        self.calls += 1
        if perf_counter() < self.until:
            self.due += 1
        else:
            self.flying -= 1
            if not self.flying and self.idle is not None:
                self.idle.set_result(None)
        if frame.last_in_buffer and self.due:
            self._ask(self.due)
            self.due = 0

    def begin(self, flight: int, payload: bytes, until: float) -> "asyncio.Future[None]":
        """Make so many calls at a time; what is given ends when the last is answered."""
        self.payload = payload
        self.before = head(HEAD_BYTES + len(payload), masked=True)
        self.flying, self.calls, self.due, self.until = flight, 0, 0, until
        self.idle = asyncio.get_running_loop().create_future()
        self._ask(flight)
        return self.idle

    def _ask(self, count: int) -> None:
        assert self.transport is not None
        size = len(self.payload)
        pieces: list[bytes] = []
        for number in range(self.last + 1, self.last + 1 + count):
            pieces += (self.before, HEAD_SIZE.pack(REQUEST, number, size), self.payload)
        self.last += count
        self.transport.underlying_transport.write(b"".join(pieces))


async def client(port: str) -> None:
    """Requests whose frames have as many bytes as ordered."""
    _, made = await ws_connect(Asker, f"ws://127.0.0.1:{port}/mfp", max_frame_size=LARGEST, logger_name=quiet)
    assert isinstance(made, Asker)
    around = HEAD_BYTES + len(envelope.encode("echo", ""))

    async def act(order: Order) -> dict[str, Any]:
        payload = envelope.encode("echo", "x" * max(1, order["size"] - around))
        began = perf_counter()
        await made.begin(order["flight"], payload, began + order["seconds"])
        return {"calls": made.calls, "seconds": perf_counter() - began}

    await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    uvloop.run(serve(*words) if what == "serve" else client(*words))
