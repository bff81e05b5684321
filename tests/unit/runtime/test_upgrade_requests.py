"""Requests that no listener takes, at every path alike: of WebSockets and of pages, by GET and by HEAD."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from framehub.runtime.endpoints import Endpoints
from framehub.runtime.entrance import HubEntrance
from framehub.runtime.link import LinkOwner
from framehub.runtime.listen import Listener
from framehub.runtime.methods import MOST_BYTES, MOST_DRAINED
from framehub.runtime.pages import OpenPages, Page
from framehub.runtime.websocket import WebSocketLink

from .certificates import make_tls

PATHS = ("/mfp", "/hub", "/page", "/none")
RIGHT = {"/mfp": 101, "/hub": 101, "/page": 200, "/none": 404}
UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Version: {}\r\n"
)


class Silent:
    """An owner at the hub's path that says nothing."""

    def frame_received(self, data: bytes | memoryview) -> None: ...

    def link_full(self) -> None: ...

    def link_ready(self) -> None: ...

    def link_lost(self, code: int, reason: str) -> None: ...


def own(_link: WebSocketLink, *, version: int, user: int) -> LinkOwner:
    return Silent()


def listener(url: str = "ws://127.0.0.1:0/mfp", **more: object) -> Listener:
    pages = OpenPages({"/page": lambda: Page(body=b"hello")}, host="127.0.0.1")
    return Listener(url, Endpoints(), hub=HubEntrance(own), pages=pages, **more)  # type: ignore[arg-type]


@pytest.fixture
async def server() -> AsyncIterator[Listener]:
    async with listener() as server:
        yield server


def request(path: str, *, hosts: int = 1, version: str = "13", method: str = "GET", more: str = "") -> bytes:
    upgrade = UPGRADE.format(version) if path in ("/mfp", "/hub") and method == "GET" else ""
    named = "Host: 127.0.0.1\r\n" * hosts
    return f"{method} {path} HTTP/1.1\r\n{named}{upgrade}{more}\r\n".encode()


def of_size(path: str, size: int, *, method: str = "GET") -> bytes:
    """A request of so many bytes, its empty line included."""
    least = len(request(path, method=method, more="X: \r\n"))
    return request(path, method=method, more=f"X: {'x' * (size - least)}\r\n")


async def asked(server: Listener, *pieces: bytes, **tls: object) -> tuple[int, str, bytes]:
    """The answer to a request that is written in these pieces: status, headers, body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, **tls)  # type: ignore[arg-type]
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status = int(head.split()[1])
        return status, head, await reader.read() if status != 101 else b""
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("path", PATHS)
async def test_a_request_has_at_most_16_kib(server: Listener, path: str) -> None:
    """[MFP-9.6.1] [HUB-6.1] Its empty line included; a byte more is one too many, however they come."""
    for size, status in ((MOST_BYTES, RIGHT[path]), (MOST_BYTES + 1, 431), (40_000, 431)):
        whole = of_size(path, size)
        cuts = (1, 4, 30, 3_000, size - 3, size - 1)
        for pieces in ([whole], *([whole[:cut], whole[cut:]] for cut in cuts)):
            got, head, body = await asked(server, *pieces)
            assert got == status, (size, list(map(len, pieces)))
            if status == 431:
                assert body == b"over 16384 bytes of headers\n"
                assert "\r\nConnection: close\r\n" in head
                assert head.startswith("HTTP/1.1 431 Request Header Fields Too Large\r\n")


@pytest.mark.parametrize("path", PATHS)
async def test_headers_without_an_end_are_told_at_16_kib(server: Listener, path: str) -> None:
    """[MFP-9.6.1] Whoever sends on is still told, and nothing of it is kept."""
    begun = of_size(path, 2 * MOST_BYTES)
    for size in (MOST_BYTES, MOST_BYTES + 100, 2 * MOST_BYTES - 4):
        assert (await asked(server, begun[:size]))[0] == 431
    assert (await asked(server, begun[: 2 * MOST_BYTES - 4], b"X: 1\r\n" * 50_000))[0] == 431
    assert server.refused == {431: 4}


async def test_whoever_never_stops_is_cut_off(server: Listener) -> None:
    """[MFP-9.6.1]"""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /mfp HTTP/1.1\r\n")
    told = asyncio.ensure_future(reader.readexactly(12))

    async def send() -> None:
        for _ in range(100 * MOST_DRAINED // 60_000):
            writer.write(b"X: 1\r\n" * 10_000)
            await writer.drain()

    with pytest.raises(ConnectionError):
        await send()
    assert await told == b"HTTP/1.1 431"
    writer.transport.abort()


async def test_a_head_that_is_too_large_is_told_without_a_body(server: Listener) -> None:
    """[MFP-9.6.1]"""
    assert (await asked(server, of_size("/page", MOST_BYTES, method="HEAD")))[0] == 200
    status, head, body = await asked(server, of_size("/page", MOST_BYTES + 1, method="HEAD"))
    assert (status, body) == (431, b"")
    assert "\r\nContent-Length: 28\r\n" in head


async def test_another_method_may_be_as_large(server: Listener) -> None:
    """[MFP-9.6.1]"""
    for size, status in ((MOST_BYTES, 405), (MOST_BYTES + 1, 431)):
        assert (await asked(server, of_size("/page", size, method="POST")))[0] == status


async def test_over_tls_too_large_is_told_too() -> None:
    """[MFP-9.6.1]"""
    tls = make_tls("127.0.0.1")
    async with listener("wss://127.0.0.1:0/mfp", ssl=tls.server) as server:
        for path in ("/mfp", "/page"):
            assert (await asked(server, of_size(path, MOST_BYTES), ssl=tls.client))[0] == RIGHT[path]
            status, _, body = await asked(server, of_size(path, MOST_BYTES + 1), ssl=tls.client)
            assert (status, body) == (431, b"over 16384 bytes of headers\n")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_request_names_one_host(server: Listener, path: str, method: str) -> None:
    """[MFP-9.1.6] [HUB-6.1]"""
    for hosts in (0, 2, 3):
        status, _, body = await asked(server, request(path, hosts=hosts, method=method))
        assert (status, body) == (400, b"want one Host header\n" if method == "GET" else b"")


@pytest.mark.parametrize("path", PATHS)
async def test_a_page_has_at_most_64_headers_as_an_upgrade_has(server: Listener, path: str) -> None:
    """[MFP-9.6.1]"""
    own_headers = request(path).count(b"\r\n") - 2
    for more, status in ((64 - own_headers, RIGHT[path]), (65 - own_headers, 431)):
        headers = "".join(f"X-{n}: 1\r\n" for n in range(more))
        assert (await asked(server, request(path, more=headers)))[0] == status


@pytest.mark.parametrize("path", ["/mfp", "/hub"])
@pytest.mark.parametrize("version", ["7", "8", "12", "14", "0", "013", "", "13, 8", "x"])
async def test_another_version_of_websocket_is_told_which_one(
    server: Listener, path: str, version: str
) -> None:
    """[MFP-9.1.7] [HUB-6.1]"""
    status, head, body = await asked(server, request(path, version=version))
    assert (status, body) == (426, b"want version 13 of WebSocket\n")
    assert "\r\nSec-WebSocket-Version: 13\r\n" in head
    assert "\r\nUpgrade: websocket\r\n" in head


async def test_two_versions_are_another(server: Listener) -> None:
    """[MFP-9.1.7]"""
    twice = request("/mfp", more="Sec-WebSocket-Version: 8\r\n")
    assert (await asked(server, twice))[0] == 426


async def test_no_version_is_no_upgrade(server: Listener) -> None:
    without = request("/mfp").replace(b"Sec-WebSocket-Version: 13\r\n", b"")
    assert (await asked(server, without))[0] == 400


async def test_a_path_that_is_not_there_has_no_version(server: Listener) -> None:
    """[MFP-9.1.1] The path comes first."""
    wrong = request("/mfp", version="8").replace(b"/mfp", b"/nowhere")
    assert (await asked(server, wrong))[0] == 404
