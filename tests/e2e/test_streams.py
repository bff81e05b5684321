"""Big streams over a real socket: whole, in bounded memory, and with room for others."""

import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator
from time import monotonic

import pytest

from framehub.errors import StreamAborted
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener, listen
from framehub.runtime.peer import Peer
from framehub.runtime.streams import InStream

MIB = 2**20
PIECE = bytes(range(256)) * 4096


class Reader:
    """Endpoints that weigh what is streamed to them, and answer small questions."""

    def __init__(self) -> None:
        self.app = Endpoints()
        self.app.on_stream("weigh")(self.weigh)
        self.app.on("echo")(self.echo)
        self.size = 0
        self.digest = hashlib.sha256()
        self.done = asyncio.Event()

    async def weigh(self, stream: InStream) -> None:
        async for chunk in stream:
            self.size += len(chunk.data)
            self.digest.update(chunk.data)
        self.done.set()

    def echo(self, call: Call) -> object:
        return call.data


@pytest.fixture
async def here() -> Reader:
    return Reader()


@pytest.fixture
async def there() -> Reader:
    return Reader()


@pytest.fixture
async def listener(there: Reader) -> AsyncIterator[Listener]:
    async with listen("ws://127.0.0.1:0/mfp", there.app, settings=Settings(progress_timeout=5)) as listener:
        yield listener


async def send(peer: Peer, mib: int) -> None:
    async with peer.stream("weigh") as out:
        for _ in range(mib):
            await out.write(PIECE)


async def test_64_mib_each_way_at_once_in_bounded_memory(
    here: Reader, there: Reader, listener: Listener
) -> None:
    want = hashlib.sha256()
    for _ in range(64):
        want.update(PIECE)
    async with connect(listener.url, endpoints=here.app) as client:
        await client.ping()
        (server,) = listener.peers
        tracemalloc.start()
        try:
            await asyncio.gather(send(client, 64), send(server, 64))
            await asyncio.gather(here.done.wait(), there.done.wait())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 30 * MIB
    for reader in (here, there):
        assert (reader.size, reader.digest.digest()) == (64 * MIB, want.digest())


async def test_small_requests_are_not_held_up_by_a_stream(there: Reader, listener: Listener) -> None:
    async with connect(listener.url) as client:
        sending = asyncio.create_task(send(client, 128))
        waits = []
        while not sending.done():
            asked = monotonic()
            await client.request("echo", 1)
            waits.append(monotonic() - asked)
        await sending
        await there.done.wait()
    waits.sort()
    assert len(waits) > 20
    assert waits[len(waits) // 2] < 0.05


async def test_many_streams_share_a_connection(there: Reader, listener: Listener) -> None:
    async with connect(listener.url) as client:
        await asyncio.gather(*(send(client, 1) for _ in range(32)))
        async with asyncio.timeout(10):
            while there.size < 32 * MIB:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_a_stream_sent_back_as_it_comes_does_not_lock_up(there: Reader, listener: Listener) -> None:
    """Both ends are full, in both directions: reading has to go on where writing waits."""
    mine = Endpoints()

    @mine.on_stream("back")
    async def back(stream: InStream) -> None:
        async with stream.peer.stream("weigh") as out:
            async for chunk in stream:
                await out.write(chunk.data)

    async with connect(listener.url, endpoints=mine) as client:
        await client.ping()
        (server,) = listener.peers
        async with asyncio.timeout(20):
            async with server.stream("back") as out:
                for _ in range(32):
                    await out.write(PIECE)
            await there.done.wait()
    assert there.size == 32 * MIB


async def test_a_reader_that_stands_still_loses_its_stream_not_its_connection(listener: Listener) -> None:
    mine = Reader()

    @mine.app.on_stream("stuck")
    async def stuck(stream: InStream) -> None:
        await asyncio.Event().wait()

    async with connect(listener.url, endpoints=mine.app, settings=Settings(progress_timeout=0.3)) as client:
        await client.ping()
        (server,) = listener.peers

        async def feed() -> None:
            async with server.stream("stuck") as out:
                while True:
                    await out.write(PIECE)

        with pytest.raises(StreamAborted):
            await asyncio.wait_for(feed(), 10)
        assert (await server.request("echo", 5)).data == 5


async def test_a_listener_that_stops_lets_the_streams_of_the_gone_be_read() -> None:
    app = Endpoints()
    read: list[int] = []

    @app.on_stream("slow")
    async def slow(stream: InStream) -> None:
        async for chunk in stream:
            await asyncio.sleep(0.02)
            read.append(len(chunk.data))

    listener = listen("ws://127.0.0.1:0/mfp", app)
    await listener.start()
    async with connect(listener.url) as client, client.stream("slow") as out:
        await out.write(bytes(600_000))
    await listener.close()
    assert sum(read) == 600_000
