"""How much of the peer's streams may wait to be read, and for how long."""

import asyncio

import pytest

from framehub.codes import Service
from framehub.errors import StreamAborted
from framehub.mfp import codec
from framehub.mfp.frames import ServiceFrame
from framehub.mfp.settings import Settings
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.streams import CHUNK_BYTES, CHUNK_COST, HIGH_BYTES, LOW_BYTES, InStream

from .streaming import OPENING, Taker, alone, chunk, end, until


async def test_reading_stops_above_the_high_mark_and_goes_on_below_the_low_one() -> None:
    """[MFP-8.6.9]"""
    taker = Taker()
    taker.go.clear()
    peer, wire = alone(taker.app)
    peer.frame_received(codec.encode(OPENING))
    await asyncio.sleep(0)
    each = 16_384 - CHUNK_COST
    for _ in range(HIGH_BYTES // 16_384):
        peer.frame_received(chunk(bytes(each)))
    assert not wire.paused
    peer.frame_received(chunk(b""))
    assert wire.paused
    (stream,) = taker.streams
    while peer._inflow._bytes > LOW_BYTES + 16_384:
        await anext(stream)
    assert wire.paused
    await anext(stream)
    assert peer._inflow._bytes <= LOW_BYTES
    assert not wire.paused
    assert peer._inflow._timer is None
    peer.frame_received(end())
    taker.go.set()
    await until(lambda: taker.ends)
    assert peer._inflow._bytes == 0


async def test_a_slow_reader_holds_back_the_writer_and_loses_nothing() -> None:
    taker = Taker()
    taker.go.clear()
    client, server = pair(theirs=taker.app)

    async def send() -> None:
        async with client.stream("up") as out:
            for n in range(400):
                await out.write(bytes([n % 256]) * 20_000)

    sending = asyncio.create_task(send())
    await asyncio.sleep(0.05)
    assert not sending.done()
    assert server._inflow._bytes < HIGH_BYTES + CHUNK_BYTES
    taker.go.set()
    await sending
    await until(lambda: taker.ends)
    assert taker.data == b"".join(bytes([n % 256]) * 20_000 for n in range(400))


async def test_empty_chunks_are_not_free() -> None:
    """A peer cannot fill our memory with chunks of no bytes."""
    taker = Taker()
    taker.go.clear()
    peer, wire = alone(taker.app)
    peer.frame_received(codec.encode(OPENING))
    empty, sent = chunk(b""), 0
    while not wire.paused and sent < 10_000:
        peer.frame_received(empty)
        sent += 1
    assert wire.paused
    peer.link_lost(1006, "")
    taker.go.set()
    await until(lambda: taker.ends)


@pytest.mark.parametrize("last", ["nothing", "ended", "given up"])
async def test_a_handler_that_never_reads_loses_its_stream_and_the_connection_goes_on(last: str) -> None:
    """[MFP-8.6.10] Also when all of it has come: what waits still holds up the connection."""
    taker = Taker()
    taker.go.clear()
    peer, wire = alone(taker.app, progress_timeout=0.05)
    peer.frame_received(codec.encode(OPENING))
    for _ in range(HIGH_BYTES // CHUNK_BYTES):
        peer.frame_received(chunk(bytes(CHUNK_BYTES)))
    assert wire.paused
    if last == "ended":
        peer.frame_received(chunk(b"x", final=True))
    elif last == "given up":
        peer.frame_received(codec.encode(ServiceFrame(id=9, code=Service.ABORT, ref=1, own=True)))
    await asyncio.sleep(0.01)
    assert wire.paused
    await until(lambda: not wire.paused)
    assert wire.sent == ([ServiceFrame(id=1, code=Service.ABORT, ref=1)] if last == "nothing" else [])
    assert (peer._inflow._bytes, peer._inflow._unread, peer._inflow._open) == (0, {}, {})
    taker.go.set()
    await until(lambda: taker.ends)
    reason = "the sender gave it up" if last == "given up" else r"nobody read this stream for 0.05 s"
    assert reason in str(taker.ends[0])
    assert taker.data == b""
    assert peer.pending == 0


async def test_only_who_does_not_read_loses_its_stream() -> None:
    app = Endpoints()
    read: list[int] = []
    stuck = asyncio.Event()

    @app.on_stream("stuck")
    async def never(stream: InStream) -> None:
        await stuck.wait()

    @app.on_stream("up")
    async def slow(stream: InStream) -> None:
        async for piece in stream:
            read.append(len(piece.data))
            await asyncio.sleep(0.01)

    client, server = pair(theirs=app, settings=Settings(progress_timeout=0.1))

    async def send(endpoint: str, size: int) -> None:
        async with client.stream(endpoint) as out:
            for _ in range(20):
                await out.write(bytes(size))

    first = asyncio.create_task(send("stuck", CHUNK_BYTES))
    second = asyncio.create_task(send("up", CHUNK_BYTES))
    with pytest.raises(StreamAborted):
        await first
    await second
    await until(lambda: len(read) == 20)
    stuck.set()
    await until(lambda: client.pending == server.pending == 0)
    assert server._inflow._bytes == 0


async def test_while_too_much_waits_the_check_is_repeated() -> None:
    """One that read a moment ago is asked again later."""
    taker = Taker()
    taker.go.clear()
    peer, wire = alone(taker.app, progress_timeout=0.08)
    peer.frame_received(codec.encode(OPENING))
    await asyncio.sleep(0)
    for _ in range(HIGH_BYTES // CHUNK_BYTES):
        peer.frame_received(chunk(bytes(CHUNK_BYTES)))
    await asyncio.sleep(0.05)
    await anext(taker.streams[0])
    await asyncio.sleep(0.05)
    assert wire.paused  # the first check let it pass
    await until(lambda: not wire.paused)
    taker.go.set()
    await until(lambda: taker.ends)


async def test_closing_leaves_no_timer_and_no_stream() -> None:
    taker = Taker()
    taker.go.clear()
    peer, wire = alone(taker.app, progress_timeout=30)
    peer.frame_received(codec.encode(OPENING))
    for _ in range(HIGH_BYTES // CHUNK_BYTES):
        peer.frame_received(chunk(bytes(CHUNK_BYTES)))
    assert wire.paused
    peer.link_lost(1006, "")
    assert (peer._inflow._timer, peer._inflow._open) == (None, {})
    taker.go.set()
    await until(lambda: taker.ends)
    assert (peer._inflow._unread, peer._inflow._bytes, peer.pending) == ({}, 0, 0)


async def test_when_too_many_handlers_of_ended_streams_run_the_peer_is_not_read() -> None:
    go = asyncio.Event()
    begun: list[InStream] = []
    app = Endpoints()

    @app.on_stream("wait")
    async def wait(stream: InStream) -> None:
        begun.append(stream)
        await go.wait()

    client, server = pair(theirs=app, settings=Settings(max_requests=4, max_streams=2))
    for _ in range(20):
        async with client.stream("wait"):
            await asyncio.sleep(0.001)
    assert len(begun) == 6
    go.set()
    await until(lambda: len(begun) == 20 and server.pending == 0)
