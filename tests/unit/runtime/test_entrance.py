"""Two paths on one port: what is spoken at each, and who owns a WebSocket opened there."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.mfp.settings import Settings
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.entrance import HUB_MESSAGE_BYTES, HubEntrance
from framehub.runtime.listen import Listener, listen
from framehub.runtime.websocket import WebSocketLink

from .raw import BINARY, CLOSE, FIN, TEXT, RawClient

VERSION = "X-Hub-Version: {}\r\n"
OFFER = "Sec-WebSocket-Protocol: {}\r\n"


class Echo:
    """The smallest hub: it says which version and user it was given, then everything again."""

    def __init__(self, link: WebSocketLink, *, version: int, user: int) -> None:
        self.link = link
        self.lost: list[tuple[int, str]] = []
        link.send(f"v{version} user {user}".encode())

    def frame_received(self, data: bytes | memoryview) -> None:
        self.link.send(bytes(data))

    def link_full(self) -> None: ...

    def link_ready(self) -> None: ...

    def link_lost(self, code: int, reason: str) -> None:
        self.lost.append((code, reason))


@pytest.fixture
async def owners() -> list[Echo]:
    return []


@pytest.fixture
async def server(owners: list[Echo]) -> AsyncIterator[Listener]:
    def own(link: WebSocketLink, *, version: int, user: int) -> Echo:
        owners.append(Echo(link, version=version, user=user))
        return owners[-1]

    app = Endpoints()
    app.on("echo")(lambda call: call.data)
    async with Listener("ws://127.0.0.1:0/mfp", app, hub=HubEntrance(own)) as listener:
        yield listener


@pytest.mark.parametrize(
    ("headers", "version", "echoed"),
    [
        ("", 2, None),
        (VERSION.format(1), 1, None),
        (VERSION.format(2), 2, None),
        (OFFER.format("hub.v1"), 1, "hub.v1"),
        (OFFER.format("chat, hub.v2, hub.v1"), 2, "hub.v2"),
        (OFFER.format("hub.v1, hub.v2") + VERSION.format(2), 2, "hub.v2"),
    ],
)
async def test_the_hub_is_told_version_and_user(
    server: Listener, headers: str, version: int, echoed: str | None
) -> None:
    """[HUB-6.1] [HUB-6.2]"""
    client, head = await RawClient.ask(server.port, path="/hub", headers=headers)
    assert re.findall("Sec-WebSocket-Protocol: (.*)\r\n", head) == ([echoed] if echoed else [])
    assert await client.receive() == (BINARY, f"v{version} user 0".encode())
    client.send(FIN | BINARY, b"hello")
    assert await client.receive() == (BINARY, b"hello")
    await client.end()


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/hub", VERSION.format(3)),
        ("/hub", VERSION.format("")),
        ("/hub", VERSION.format(1) + VERSION.format(2)),
        ("/hub", VERSION.format(1) + OFFER.format("hub.v2")),
        ("/hub", OFFER.format("hub.v3")),
        ("/hub", OFFER.format("mfp")),
        ("/mfp", OFFER.format("hub.v2")),
    ],
)
async def test_what_is_not_spoken_at_a_path_is_refused(server: Listener, path: str, headers: str) -> None:
    """[HUB-6.3]"""
    client, head = await RawClient.ask(server.port, path=path, headers=headers)
    assert head.startswith("HTTP/1.1 400 ")
    await client.end()


@pytest.mark.parametrize(
    ("ask", "status"),
    [
        ({"path": "/hub?token=secret"}, 400),
        ({"path": "/hub/"}, 404),
        ({"path": "/hub", "headers": "Origin: https://evil.example\r\n"}, 403),
    ],
)
async def test_the_other_rules_are_those_of_every_path(
    server: Listener, ask: dict[str, Any], status: int
) -> None:
    client, head = await RawClient.ask(server.port, **ask)
    assert int(head.split()[1]) == status
    await client.end()


async def test_mfp_goes_on_beside_it(server: Listener, owners: list[Echo]) -> None:
    hub = await RawClient.open(server.port, path="/hub")
    async with connect(server.url) as peer:
        assert (await peer.request("echo", 1)).data == 1
        assert len(server.peers) == len(owners) == 1
    await hub.end()
    assert server.hub_url == server.url.replace("/mfp", "/hub")


async def test_without_a_hub_there_is_nothing_at_its_path() -> None:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as server:
        client, head = await RawClient.ask(server.port, path="/hub")
        assert head.startswith("HTTP/1.1 404 ")
        await client.end()


@pytest.mark.parametrize(
    ("url", "text"),
    [("ws://127.0.0.1:0/hub", "/hub is the hub's"), ("tcp://127.0.0.1:0", "hub= goes with ws://")],
)
def test_a_hub_needs_a_path_of_its_own(url: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Listener(url, Endpoints(), hub=HubEntrance(Echo))


# --- the largest message of each path ----------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(("more", "is_taken"), [(-1, True), (0, True), (1, False), (70_000, False)])
async def test_a_message_of_the_hub_has_its_own_limit(
    server: Listener, owners: list[Echo], parts: int, more: int, is_taken: bool
) -> None:
    """[HUB-6.4]"""
    client = await RawClient.open(server.port, path="/hub")
    await client.receive()
    size = HUB_MESSAGE_BYTES + more
    for part in range(parts):
        last = part == parts - 1
        first = BINARY if part == 0 else 0
        client.send((FIN if last else 0) | first, bytes(size - (parts - 1) * 1000 if last else 1000))
    kind, data = await client.receive()
    if is_taken:
        assert (kind, len(data)) == (BINARY, size)
    else:
        assert (kind, data[:2]) == (CLOSE, (1009).to_bytes(2, "big"))
        await until_lost(owners[0])
        assert owners[0].lost[0][0] == 1009
    await client.end()


async def test_a_message_that_is_too_large_is_refused_before_it_is_whole(server: Listener) -> None:
    """[HUB-6.4] MFP takes 16 MiB on the same port; the hub reads no more than its own limit."""
    client = await RawClient.open(server.port, path="/hub")
    await client.receive()
    client.send(FIN | BINARY, bytes(HUB_MESSAGE_BYTES + 70_000), declared=10 * HUB_MESSAGE_BYTES)
    assert await client.close_code() == 1009
    await client.end()
    async with connect(server.url) as peer:
        assert len((await peer.request("echo", "x" * 2 * HUB_MESSAGE_BYTES)).data) == 2 * HUB_MESSAGE_BYTES


async def test_mfp_may_have_the_lower_limit_too() -> None:
    settings = Settings(max_frame_bytes=2000, max_payload_bytes=1000)
    async with Listener(
        "ws://127.0.0.1:0/mfp", Endpoints(), settings=settings, hub=HubEntrance(Echo)
    ) as server:
        client = await RawClient.open(server.port)
        client.send(FIN | BINARY, bytes(2001))
        assert await client.close_code() == 1009
        await client.end()


async def test_text_is_refused_at_both_paths(server: Listener) -> None:
    """[HUB-6.4]"""
    for path in ("/mfp", "/hub"):
        client = await RawClient.open(server.port, path=path)
        client.send(FIN | TEXT, b"hello")
        assert await client.close_code() == 1003
        await client.end()


async def until_lost(owner: Echo) -> None:
    while not owner.lost:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
