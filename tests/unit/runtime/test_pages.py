"""Plain HTTP on a port of WebSockets."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path

import pytest

from framehub.runtime import upgrade
from framehub.runtime.address import Address
from framehub.runtime.doorkeeper import Doorkeeper
from framehub.runtime.pages import HEADERS, JSON, OpenPages, Page, Pages, asked_again
from framehub.runtime.tokens import add
from framehub.runtime.upgrade import WebSocketServer
from tests.unit.gateway.asking import get

PAGES = {
    "/a": lambda: Page(body=b"{}", type=JSON),
    "/kept": lambda: Page(body=b"again", headers=asked_again(b"again")),
    "/open": lambda: Page(body=b"x" * 1_000_000, status=HTTPStatus.SERVICE_UNAVAILABLE, headers={"X-Y": "z"}),
}


@pytest.fixture
async def url() -> AsyncIterator[str]:
    server = WebSocketServer(Address(scheme="ws", host="127.0.0.1"), {}, pages=Pages(PAGES, host="127.0.0.1"))
    await server.start()
    yield f"http://127.0.0.1:{server.port}"
    await server.close()


async def test_a_page_is_answered_with_strict_headers(url: str) -> None:
    status, headers, body = await get(f"{url}/a?x=y")
    assert (status, body, headers["Content-Type"]) == (200, b"{}", JSON)
    assert all(headers[name] == value for name, value in HEADERS.items())


async def test_a_page_has_its_own_status_headers_and_any_size(url: str) -> None:
    status, headers, body = await get(f"{url}/open")
    assert (status, len(body), headers["X-Y"]) == (503, 1_000_000, "z")


async def test_what_is_not_there_is_404(url: str) -> None:
    status, _, body = await get(f"{url}/../etc/passwd")
    assert (status, body) == (404, b"there are /a /kept /open\n")


async def test_a_page_that_may_be_kept_is_not_sent_to_who_has_it(url: str) -> None:
    status, headers, body = await get(f"{url}/kept")
    tag = headers["ETag"]
    assert (status, headers["Cache-Control"], body) == (200, "no-cache", b"again")
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        status, headers, body = await get(f"{url}/kept", {"If-None-Match": known})
        assert (status, headers["ETag"], body) == (304, tag, b"")
    for other in ('"other"', tag[:-2] + '"', "", "*"):
        assert (await get(f"{url}/kept", {"If-None-Match": other}))[::2] == (200, b"again")
    assert (await get(f"{url}/a", {"If-None-Match": tag}))[0] == 200


async def test_open_pages_leave_other_paths_alone() -> None:
    files = {"/file": Page(body=b"file", headers=asked_again(b"file"))}
    pages = OpenPages(PAGES, files=files.get, host="127.0.0.1", names=["our.example"])
    server = WebSocketServer(Address(scheme="ws", host="127.0.0.1"), {}, pages=pages)
    await server.start()
    try:
        url = f"http://127.0.0.1:{server.port}"
        assert (await get(f"{url}/a", {"Host": "any.example"}))[0] == 200
        status, headers, body = await get(f"{url}/file")
        assert (status, body) == (200, b"file")
        assert (await get(f"{url}/file", {"If-None-Match": headers["ETag"]}))[0] == 304
        assert (await get(f"{url}/file", {"Host": "our.example:443"}))[0] == 200
        assert (await get(f"{url}/file", {"Host": "any.example"}))[0] == 403
        assert (await get(f"{url}/b"))[::2] == (404, b"nothing at /b; want \n")
        assert server.refused == {404: 1}
    finally:
        await server.close()


async def test_open_pages_without_files() -> None:
    server = WebSocketServer(Address(scheme="ws", host="127.0.0.1"), {}, pages=OpenPages(PAGES))
    await server.start()
    try:
        assert (await get(f"http://127.0.0.1:{server.port}/file", {"Host": "any.example"}))[0] == 404
    finally:
        await server.close()


async def test_pages_that_are_not_read_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel does not take waits with us; it is given back when whoever asked is gone."""
    monkeypatch.setattr(upgrade, "MOST_TELLING", 12_000_000)
    big = {"/big": lambda: Page(body=bytes(10_000_000)), "/small": lambda: Page(body=b"x")}
    server = WebSocketServer(Address(scheme="ws", host="127.0.0.1"), {}, pages=Pages(big, host="127.0.0.1"))
    await server.start()
    url = f"http://127.0.0.1:{server.port}"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1_000)
        writer.write(b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readexactly(100)
        status, headers, _ = await get(f"{url}/big")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert (await get(f"{url}/small"))[0] == 200
        writer.transport.abort()
        for _ in range(1_000):
            if (await get(f"{url}/big"))[0] == 200:
                break
        else:
            pytest.fail("what was not read is not given back")
    finally:
        await server.close()


async def test_an_upgrade_is_none_of_the_pages(url: str) -> None:
    status, _, body = await get(f"{url}/a", {"Upgrade": "websocket", "Connection": "Upgrade"})
    assert (status, body) == (404, b"nothing at /a; want \n")


@pytest.mark.parametrize("host", ["localhost", "localhost:80", "127.0.0.1:7404", "[::1]:1", "[::1]"])
async def test_this_machine_by_any_of_its_names(url: str, host: str) -> None:
    assert (await get(f"{url}/a", {"Host": host}))[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7404", "192.168.0.1:7404", ":1"])
async def test_not_by_the_name_of_some_web_site(url: str, host: str) -> None:
    assert (await get(f"{url}/a", {"Host": host}))[0] == 403


async def test_tokens_are_needed_where_there_are_some(tmp_path: Path) -> None:
    token = add(tmp_path / "tokens", user=1, name="ops")[0]
    doorkeeper = Doorkeeper(tmp_path / "tokens")
    pages = Pages(PAGES, doorkeeper=doorkeeper, public=["/open"], host="127.0.0.1")
    server = WebSocketServer(Address(scheme="ws", host="127.0.0.1"), {}, doorkeeper=doorkeeper, pages=pages)
    await server.start()
    url = f"http://127.0.0.1:{server.port}"
    try:
        assert (await get(f"{url}/open"))[0] == 503
        status, headers, _ = await get(f"{url}/a")
        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        assert (await get(f"{url}/nowhere"))[0] == 401
        assert (await get(f"{url}/a", {"Authorization": f"Bearer {token}"}))[0] == 200
        for n in range(19):
            assert (await get(f"{url}/a", {"Authorization": f"Bearer wrong-{n // 2}"}))[0] == 401
        assert (await get(f"{url}/a", {"Authorization": "Bearer wrong-10"}))[0] == 429
        assert (await get(f"{url}/a", {"Authorization": f"Bearer {token}"}))[0] == 200
    finally:
        await server.close()
