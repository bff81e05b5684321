"""The other edge: what a listener may do to a client on a WebSocket."""

import asyncio
import base64
import hashlib
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from framehub.mfp import codec
from framehub.mfp.frames import MessageFrame
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import listen

LARGE = codec.encode(MessageFrame(id=1, payload=b'{"endpoint":"large","data":"%s"}' % (b"x" * 100_000)))
HEAD = struct.pack(">BBQ", 0x82, 127, len(LARGE))


@asynccontextmanager
async def raw_listener() -> AsyncIterator[tuple[str, asyncio.Queue[asyncio.StreamWriter]]]:
    """A listener that does nothing by itself; where it is, and who came."""
    came: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        key = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
        told = hashlib.sha1(key.split()[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: mfp\r\n\r\n" % base64.b64encode(told)
        )
        came.put_nowait(writer)
        while await reader.read(65_536):
            pass
        writer.close()

    server = await asyncio.start_server(welcome, "127.0.0.1", 0)
    async with server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/mfp", came


async def test_a_slow_message_is_a_sign_of_life_and_silence_is_none() -> None:
    """[MFP-8.7.2] [MFP-8.7.3]"""
    app = Endpoints()
    whole = asyncio.Event()

    @app.on("large")
    def large(_: Call) -> None:
        whole.set()

    async with (
        raw_listener() as (url, came),
        connect(url, endpoints=app, settings=Settings(keepalive=0.05)) as peer,
    ):
        listener = await came.get()
        listener.write(HEAD + LARGE[:50_000])
        await asyncio.sleep(0.5)
        listener.write(LARGE[50_000:])
        await asyncio.wait_for(whole.wait(), 5)
        assert (await asyncio.wait_for(asyncio.shield(peer.closed), 5)).code == 1001


async def test_a_message_that_never_ends_is_not_waited_for() -> None:
    async with (
        raw_listener() as (url, came),
        connect(url, settings=Settings(progress_timeout=0.1)) as peer,
    ):
        (await came.get()).write(HEAD)
        assert (await asyncio.wait_for(asyncio.shield(peer.closed), 5)).code == 1008


@pytest.mark.parametrize("form", ["ws://127.0.0.1:0/mfp", "tcp://127.0.0.1:0"])
async def test_a_client_reads_on_however_far_the_listener_is_behind(form: str) -> None:
    ours, got = Endpoints(), [0]

    @ours.on("take")
    def take(call: Call) -> None:
        got[0] += len(call.data)

    theirs = Endpoints()

    @theirs.on("take")
    def drop(_: Call) -> None: ...

    async with listen(form, theirs) as server, connect(server.url, endpoints=ours) as client:
        await client.ping()
        (peer,) = server.peers
        peer.pause_reading()
        sending = asyncio.gather(*(client.send("take", "x" * 1_000_000) for _ in range(20)))
        async with asyncio.timeout(20):
            for _ in range(20):  # far more than a listener would read from a peer that is behind
                await peer.send("take", "x" * 1_000_000)
            while got[0] < 20_000_000:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert not sending.done()
        peer.resume_reading()
        await sending
