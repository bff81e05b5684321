"""A connection that has ended leaves nothing behind, its buffers least of all: reference counts will do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop

from framehub.codes import CloseCode
from framehub.errors import ConnectFailed, ConnectionClosed
from framehub.hub.headers import HubFrame
from framehub.journal.writer import JournalWriter
from framehub.runtime.accounts import LimitSettings
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File
from framehub.runtime.hub_client import HubClient
from framehub.runtime.listen import Listener, listen
from framehub.runtime.peer import Peer
from framehub.runtime.streams import InStream
from framehub.runtime.tally import Tally
from framehub.runtime.tap import Tap
from framehub.runtime.tokens import add

from .certificates import make_tls
from .hub_parts import FIRST, RawService, hub_at_work, until
from .leftovers import uncollected
from .raw import BINARY, FIN, TEXT, RawClient, frame

LARGE = bytes(1_000_000)

End = Callable[[Listener, Peer], Awaitable[object]]
Dial = Callable[[], AbstractAsyncContextManager[Peer]]


def application() -> Endpoints:
    app = Endpoints()

    @app.on("take")
    def take(call: Call) -> int:
        return len(call.files[1].data)

    @app.on("sleep")
    async def sleep(_call: Call) -> None:
        await asyncio.sleep(60)

    @app.on_stream("upload")
    async def upload(stream: InStream) -> None:
        await stream.read()

    return app


async def client_leaves(_server: Listener, peer: Peer) -> None:
    await peer.close()


async def server_ends_it(server: Listener, _peer: Peer) -> None:
    (other,) = server.peers
    await other.close(CloseCode.GOING_AWAY, "enough")


async def client_is_reset(_server: Listener, peer: Peer) -> None:
    transport_of(peer).abort()


async def server_is_reset(server: Listener, _peer: Peer) -> None:
    (other,) = server.peers
    transport_of(other).abort()


async def server_stops(server: Listener, _peer: Peer) -> None:
    await server.close(drain=0)


async def client_breaks_the_rules(_server: Listener, peer: Peer) -> None:
    peer._link.send(b"\xff\xff\xff")


def transport_of(peer: Peer) -> Any:
    transport = peer._link._transport  # type: ignore[attr-defined]
    return getattr(transport, "underlying_transport", transport)


ENDS = [
    client_leaves, server_ends_it, client_is_reset, server_is_reset, server_stops, client_breaks_the_rules,
]  # fmt: skip


@asynccontextmanager
async def listening(scheme: str, folder: Path) -> AsyncIterator[tuple[Listener, Dial]]:
    tls = make_tls("localhost") if scheme == "wss" else None
    url = {
        "ws": "ws://127.0.0.1:0/mfp",
        "wss": "wss://localhost:0/mfp",
        "tcp": "tcp://127.0.0.1:0",
        "unix": f"unix://{folder}/socket",
    }[scheme]
    async with listen(url, application(), ssl=tls.server if tls else None) as server:
        yield server, lambda: connect(server.url, ssl=tls.client if tls else None)


async def converse(peer: Peer) -> list["asyncio.Task[object]"]:
    """A large frame, a stream that is whole, one that is not, and a request that is under way at the end."""
    assert await peer.request("take", files={1: File(LARGE)}) is not None
    async with peer.stream("upload") as out:
        await out.write(LARGE)
    under_way: list[asyncio.Task[object]] = [
        asyncio.create_task(peer.request("sleep")),
        asyncio.create_task(stream_on(peer)),
    ]
    await asyncio.sleep(0.05)
    return under_way


async def stream_on(peer: Peer) -> None:
    async with peer.stream("upload") as out:
        while True:
            await out.write(b"more")
            await asyncio.sleep(0.01)


async def one_connection(server: Listener, dial: Dial, end: End) -> None:
    async with AsyncExitStack() as stack:
        peer = await stack.enter_async_context(dial())
        under_way = await converse(peer)
        await end(server, peer)
        await asyncio.wait(under_way)
        assert all(isinstance(task.exception(), ConnectionClosed) for task in under_way)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("scheme", ["ws", "wss", "tcp", "unix"])
async def test_nothing_of_a_connection_is_left(scheme: str, end: End, tmp_path: Path) -> None:
    async with listening(scheme, tmp_path) as (server, dial):
        await one_connection(server, dial, client_leaves)  # what is made once is there
        with uncollected() as left:
            await one_connection(server, dial, end)
            await left.gone()


@pytest.mark.parametrize("end", [client_leaves, server_is_reset])
@pytest.mark.parametrize("scheme", ["ws", "wss", "unix"])
def test_nothing_of_a_connection_is_left_under_uvloop(scheme: str, end: End, tmp_path: Path) -> None:
    uvloop.run(test_nothing_of_a_connection_is_left(scheme, end, tmp_path))


BROKEN = [
    lambda raw: raw.send(FIN | BINARY, b"\xff"),  # no frame of MFP
    lambda raw: raw.send(FIN | TEXT, b"text"),
    lambda raw: raw.send(FIN | BINARY, b"unmasked", masked=False),
    lambda raw: raw.send(FIN | BINARY, b"", declared=1 << 40),
    lambda raw: raw.send(BINARY, b"a part"),
    lambda raw: raw.writer.transport.abort(),
]


@pytest.mark.parametrize("way", range(len(BROKEN)))
@pytest.mark.parametrize("path", ["/mfp", "/hub"])
async def test_nothing_of_a_bad_client_is_left(path: str, way: int) -> None:
    async with hub_at_work() as (_, server):

        async def once() -> None:
            raw = await RawClient.open(
                server.port, path=path, headers="X-Hub-Version: 2\r\n" * (path == "/hub")
            )
            BROKEN[way](raw)
            if not raw.writer.is_closing():
                raw.writer.write(frame(FIN | BINARY, LARGE)[:500_000])  # and half of a large one
            await asyncio.sleep(0.01)
            raw.writer.transport.abort()

        await once()
        await until(lambda: not server.peers)
        with uncollected() as left:
            await once()
            await left.gone()


def openings(service: RawService) -> list[HubFrame]:
    return [frame for frame in service.frames if frame.state is FIRST]


@pytest.mark.parametrize("is_hub_first", [False, True])
async def test_nothing_of_a_client_of_the_hub_is_left(*, is_hub_first: bool) -> None:
    async with hub_at_work() as (hub, server):
        service = await RawService(hub).registers()

        async def once() -> None:
            async with HubClient(server.hub_url) as client:
                waiting = client.open(7, 1, LARGE)
                async with client.open(7, 1, LARGE) as stream, waiting:
                    await until(lambda: len(openings(service)) == 2)
                    service.answers(openings(service)[0], LARGE)
                    async for _answer in stream:
                        break
                    if is_hub_first:
                        for one in list(hub.switch.clients):
                            one.owner.close(CloseCode.GOING_AWAY, "enough")  # type: ignore[attr-defined]
                        with pytest.raises(ConnectionClosed):
                            async for _answer in waiting:
                                pass
            await until(lambda: not hub.switch.clients)

        await once()
        service.frames.clear()
        with uncollected() as left:
            await once()
            service.frames.clear()
            await left.gone()
        service.close()


@pytest.mark.parametrize("token", [None, "framehub_wrong"])
@pytest.mark.parametrize("path", ["/mfp", "/hub", "/nowhere"])
async def test_nothing_of_who_may_not_come_in_is_left(path: str, token: str | None, tmp_path: Path) -> None:
    add(tmp_path / "tokens", user=7, name="seven")
    async with listen("ws://127.0.0.1:0/mfp", application(), tokens=tmp_path / "tokens") as server:

        async def once() -> None:
            with pytest.raises(ConnectFailed):
                async with connect(f"ws://127.0.0.1:{server.port}{path}", token=token):
                    pass

        await once()
        with uncollected() as left:
            await once()
            await left.gone()


async def test_nothing_of_an_opening_that_ends_is_left() -> None:
    async with listen("ws://127.0.0.1:0/mfp", application()) as server:

        async def once() -> None:
            for said in (b"", b"GET /mfp HTTP/1.1\r\n", b"POST /mfp HTTP/1.1\r\n\r\n", b"\x00" * 20_000):
                _, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(said)
                await asyncio.sleep(0.01)
                writer.transport.abort()

        await once()
        await asyncio.sleep(0.1)
        with uncollected() as left:
            await once()
            await left.gone()


async def test_nothing_is_left_where_users_have_limits_and_it_is_recorded(tmp_path: Path) -> None:
    limits = LimitSettings(max_connections=10, bytes_per_second=1e9)
    app = application()
    app.tally = Tally(lambda _name: True)
    with JournalWriter(tmp_path, node="n") as writer:
        async with Listener("ws://127.0.0.1:0/mfp", app, tap=Tap(writer), limits=limits) as server:
            dial = partial(connect, server.url)
            await one_connection(server, dial, client_leaves)
            with uncollected() as left:
                await one_connection(server, dial, client_leaves)
                await left.gone()
