"""A bare picows WebSocket: what the transport alone can do.

Its server answers by path: ``/echo`` sends every message back at once, ``/coalesced`` all that came in one
read as one write, ``/sink`` swallows as many bytes as announced and then says so.
"""

import asyncio
import logging
import sys
from collections import deque
from time import perf_counter
from typing import Any

import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, WSUpgradeRequest, ws_connect, ws_create_server

from benchmarks.driving import Order, drive, obey, raise_file_limit, serving

LARGEST = 2**25
BUFFER_BYTES = 2**18
"""What may wait to be written before the sender does: as much as MFP allows itself."""

quiet = logging.getLogger("benchmarks.picows")
quiet.setLevel(logging.CRITICAL)


def head(size: int, *, masked: bool) -> bytes:
    """The head of a binary message; the mask is zero, so that the payload can follow as it is."""
    mask, key = (0x80, bytes(4)) if masked else (0, b"")
    if size < 126:
        return bytes((0x82, mask | size)) + key
    if size < 65_536:
        return bytes((0x82, mask | 126)) + size.to_bytes(2, "big") + key
    return bytes((0x82, mask | 127)) + size.to_bytes(8, "big") + key


class Echo(WSListener):
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        transport.send(WSMsgType.BINARY, frame.get_payload_as_bytes())


class CoalescedEcho(WSListener):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        self.parts += (head(frame.payload_size, masked=False), frame.get_payload_as_bytes())
        if frame.last_in_buffer:
            transport.underlying_transport.writelines(self.parts)
            self.parts = []


class Sink(WSListener):
    def __init__(self) -> None:
        super().__init__()
        self.missing = 0

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        data = frame.get_payload_as_bytes()
        if not self.missing:
            self.missing = int.from_bytes(data, "big")
            return
        self.missing -= len(data)
        if not self.missing:
            transport.send(WSMsgType.BINARY, b"all")


LISTENERS: dict[bytes, type[WSListener]] = {b"/echo": Echo, b"/coalesced": CoalescedEcho, b"/sink": Sink}


def admit(request: WSUpgradeRequest) -> WSListener:
    return LISTENERS[request.path]()


async def serve(read_buffer: str = "16384") -> None:
    raise_file_limit()
    server = await ws_create_server(
        admit,
        "127.0.0.1",
        0,
        max_frame_size=LARGEST,
        logger_name=quiet,
        backlog=1024,
        read_buffer_init_size=int(read_buffer),
    )
    await serving(server.sockets[0].getsockname()[1])


class Client(WSListener):
    def __init__(self) -> None:
        super().__init__()
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.writable = asyncio.Event()
        self.writable.set()
        self.parts: list[bytes] = []
        self.transport: WSTransport | None = None

    def on_ws_connected(self, transport: WSTransport) -> None:
        transport.underlying_transport.set_write_buffer_limits(high=BUFFER_BYTES)
        self.transport = transport

    def on_ws_frame(self, _transport: WSTransport, _frame: WSFrame) -> None:
        self.waiting.popleft().set_result(None)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def send(self, payload: bytes) -> None:
        assert self.transport is not None
        self.transport.send(WSMsgType.BINARY, payload)

    def send_coalesced(self, payload: bytes) -> None:
        """What one pass of the loop sends is one write."""
        if not self.parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self.parts += (head(len(payload), masked=True), payload)

    def flush(self) -> None:
        assert self.transport is not None
        self.transport.underlying_transport.writelines(self.parts)
        self.parts = []

    def answer(self) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        return future


async def stream(client: Client, order: Order) -> dict[str, Any]:
    """Send ``size`` bytes in pieces of ``chunk``, as fast as they are taken."""
    chunk = bytes(order["chunk"])
    began = perf_counter()
    answer = client.answer()
    client.send(order["size"].to_bytes(8, "big"))
    for _ in range(order["size"] // order["chunk"]):
        client.send(chunk)
        if not client.writable.is_set():
            await client.writable.wait()
    await answer
    return {"seconds": perf_counter() - began}


async def client(port: str, path: str) -> None:
    _, made = await ws_connect(
        Client, f"ws://127.0.0.1:{port}/{path}", max_frame_size=LARGEST, logger_name=quiet
    )
    assert isinstance(made, Client)
    send = made.send_coalesced if path == "coalesced" else made.send

    async def act(order: Order) -> dict[str, Any]:
        if path == "sink":
            return await stream(made, order)
        payload = bytes(order["size"])

        async def call() -> None:
            answer = made.answer()
            send(payload)
            await answer

        return await drive(call, order)

    await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    uvloop.run(serve(*words) if what == "serve" else client(*words))
