"""Who is let in, and how a listener goes away."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError, ConnectFailed, ConnectionClosed
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener, listen

from .raw import RawClient


@pytest.fixture
async def server() -> AsyncIterator[Listener]:
    app = Endpoints()

    @app.on("wait")
    async def wait(call: Call) -> str:
        await asyncio.sleep(call.data)
        return "done"

    async with listen("ws://127.0.0.1:0/mfp", app, origins=["https://good.example"]) as listener:
        yield listener


@pytest.mark.parametrize(
    ("ask", "status"),
    [
        ({"path": "/elsewhere"}, 404),
        ({"path": "/mfp?token=secret"}, 400),
        ({"headers": "Sec-WebSocket-Protocol: chat, soap\r\n"}, 400),
        ({"headers": "Origin: https://evil.example\r\n"}, 403),
        ({"headers": "Origin: null\r\n"}, 403),
        ({"headers": "Origin: https://good.example\r\n"}, 101),
        ({}, 101),
        ({"headers": "Sec-WebSocket-Protocol: soap, mfp.xor8\r\n"}, 101),
    ],
)
async def test_an_upgrade_is_decided_before_anything_is_made(
    server: Listener, ask: dict[str, Any], status: int
) -> None:
    client, head = await RawClient.ask(server.port, **ask)
    assert int(head.split()[1]) == status
    if "mfp.xor8" in ask.get("headers", ""):
        assert "Sec-WebSocket-Protocol: mfp.xor8" in head
    await client.end()


async def test_a_page_may_connect_to_where_it_came_from(server: Listener) -> None:
    client, head = await RawClient.ask(server.port, headers=f"Origin: http://127.0.0.1:{server.port}\r\n")
    assert " 101 " in head
    await client.end()


async def test_what_a_request_calls_its_host_proves_nothing(server: Listener) -> None:
    """A page of another site whose name was made to point here still says where it came from."""
    asked = f"Origin: http://evil.example:{server.port}\r\nHost: evil.example:{server.port}\r\n"
    client, head = await RawClient.ask(server.port, headers=asked)
    assert int(head.split()[1]) in (400, 403)
    await client.end()


async def test_who_connects_while_everybody_is_held_back_is_held_back_too(server: Listener) -> None:
    server.pause()
    async with connect(server.url) as peer:
        asking = asyncio.create_task(peer.request("wait", 0))
        await asyncio.sleep(0.05)
        assert not asking.done()
        server.resume()
        assert (await asking).data == "done"


async def test_who_offered_a_subprotocol_is_greeted_and_others_are_not(server: Listener) -> None:
    async with connect(server.url, checksum="crc32.always") as peer:
        await peer.ping()
        assert peer.hello is not None
        assert peer.hello["checksum"] == {"mode": "always", "algorithm": "crc32"}
        (other,) = server.peers
        assert peer.link == other.link
    silent = await RawClient.open(server.port)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(silent.receive(), 0.05)
    await silent.end()


async def test_closing_lets_what_runs_finish_and_takes_nothing_new(server: Listener) -> None:
    async with connect(server.url) as peer:
        asking = asyncio.create_task(peer.request("wait", 0.2))
        await asyncio.sleep(0.05)
        closing = asyncio.create_task(server.close())
        assert (await asking).data == "done"
        await closing
        assert (await peer.closed).code == 1001
    with pytest.raises(ConnectFailed):
        async with connect(server.url):
            pass


async def test_what_does_not_finish_in_time_is_cut_off(server: Listener) -> None:
    async with connect(server.url) as peer:
        asking = asyncio.create_task(peer.request("wait", 60))
        await asyncio.sleep(0.05)
        await server.close(drain=0.05)
        with pytest.raises(ConnectionClosed):
            await asking


@pytest.mark.parametrize(
    ("url", "options", "text"),
    [
        ("http://127.0.0.1:1/mfp", {}, "want ws://HOST:PORT/PATH"),
        ("ws:///mfp", {}, "want ws://HOST:PORT/PATH"),
        ("ws://127.0.0.1:1/mfp?x=1", {}, "want ws://HOST:PORT/PATH without a query"),
        ("wss://127.0.0.1:1/mfp", {}, "go together"),
        ("ws://127.0.0.1:1/mfp", {"ssl": ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)}, "go together"),
        ("tcp://127.0.0.1:1", {"ssl": ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)}, "go together"),
        ("unix:///x", {"origins": ["https://good.example"]}, "origins= goes with ws://"),
        ("tcp://127.0.0.1:1?key=x", {}, "'key' is none of checksum and timeout"),
    ],
)
def test_an_address_that_cannot_be_is_refused(url: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        listen(url, Endpoints(), **options)


async def test_a_taken_port_is_a_clear_error(server: Listener) -> None:
    second = listen(server.url, Endpoints())
    with pytest.raises(ConfigError, match="cannot listen on ws://127"):
        await second.start()


async def test_the_address_told_is_the_real_one(tmp_path: Path) -> None:
    async with listen("tcp://127.0.0.1:0?checksum=crc32", Endpoints()) as server:
        assert server.port > 0
        assert server.url == f"tcp://127.0.0.1:{server.port}?checksum=crc32"
    async with listen(f"unix://{tmp_path}/my%20hub?timeout=3", Endpoints()) as server:
        assert server.url == f"unix://{tmp_path}/my%20hub?timeout=3"


@pytest.mark.parametrize("kind", ["tcp://127.0.0.1:0", "unix"])
async def test_byte_streams_are_drained_and_left_in_the_same_way(tmp_path: Path, kind: str) -> None:
    app = Endpoints()

    @app.on("wait")
    async def wait(call: Call) -> str:
        await asyncio.sleep(call.data)
        return "done"

    listener = listen(kind if ":" in kind else f"unix://{tmp_path}/hub", app)
    await listener.start()
    async with connect(listener.url) as peer:
        asking = asyncio.create_task(peer.request("wait", 0.1))
        await asyncio.sleep(0.05)
        closing = asyncio.create_task(listener.close())
        assert (await asking).data == "done"
        await closing
        assert (await peer.closed).reason == "the peer ended the connection"
    with pytest.raises(ConnectFailed):
        async with connect(listener.url):
            pass
    assert not (tmp_path / "hub").exists()


def test_ipv6_addresses_stand_in_brackets() -> None:
    assert listen("ws://[::1]:7/mfp", Endpoints()).url == "ws://[::1]:7/mfp"


async def test_everybody_can_be_held_back_and_let_go(server: Listener) -> None:
    async with connect(server.url) as peer:
        await peer.ping()
        server.pause()
        asking = asyncio.create_task(peer.request("wait", 0))
        await asyncio.sleep(0.05)
        assert not asking.done()
        server.resume()
        assert (await asking).data == "done"


@pytest.mark.parametrize("limit", ["max_frame_bytes", "max_payload_bytes"])
async def test_limits_too_low_for_the_hello_are_said_so_and_the_least_will_do(limit: str) -> None:
    limits: dict[str, Any] = {limit: 100}
    with pytest.raises(ConfigError, match=f"{limit} (must be )?at least") as caught:
        listen("ws://127.0.0.1:0/mfp", Endpoints(), settings=Settings(**limits))
    limits[limit] = int(str(caught.value).split()[4]) + (32 if limit == "max_frame_bytes" else 0)
    async with (
        listen("ws://127.0.0.1:0/mfp", Endpoints(), settings=Settings(**limits)) as server,
        connect(server.url, checksum="crc32.always") as peer,
    ):
        assert await peer.ping() >= 0
