"""Reaching a listener by any transport, and being told why not."""

import asyncio
import socket
import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError, ConnectFailed
from framehub.runtime.dial import Dialer, dialer, open_websocket
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.entrance import HubEntrance
from framehub.runtime.listen import Listener, listen
from framehub.runtime.websocket import WebSocketLink


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("tcp://127.0.0.1:1", "Connection refused"),
        ("ws://127.0.0.1:1/mfp", "Connection refused"),
        ("unix:///no/such/socket", "No such file or directory"),
        (f"unix:///{'x' * 120}", "too long"),
        ("tcp://no.such.host.invalid:1", ""),
    ],
)
async def test_nobody_there_is_said_so(url: str, reason: str) -> None:
    with pytest.raises(ConnectFailed) as caught:
        await dialer(url).dial()
    assert str(caught.value).startswith(f"cannot connect to {url}: ")
    assert reason in caught.value.reason
    assert "Unknown error" not in caught.value.reason
    assert caught.value.status is None


@pytest.mark.parametrize("form", ["tcp://127.0.0.1:{}", "ws://127.0.0.1:{}/mfp"])
async def test_who_never_answers_is_not_waited_for(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framehub.runtime.dial.CONNECT_SECONDS", 0.2)
    with ExitStack() as open_sockets:
        full = open_sockets.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # more than its queue takes: those behind get no answer at all
            before = open_sockets.enter_context(socket.socket())
            before.setblocking(False)
            before.connect_ex(full.getsockname())
        async with asyncio.timeout(10):
            with pytest.raises(ConnectFailed, match="no answer in time"):
                await dialer(form.format(full.getsockname()[1])).dial()


async def test_a_socket_file_that_nobody_listens_at(tmp_path: Path) -> None:
    path = tmp_path / "hub"
    with socket.socket(socket.AF_UNIX) as crashed:
        crashed.bind(str(path))
    with pytest.raises(ConnectFailed, match="Connection refused"):
        await dialer(f"unix://{path}").dial()


async def test_a_refusal_has_its_status() -> None:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as server:
        with pytest.raises(ConnectFailed) as caught:
            await dialer(f"ws://127.0.0.1:{server.port}/other").dial()
        assert caught.value.status == 404


@pytest.mark.parametrize(
    ("url", "options", "text"),
    [
        ("tcp://127.0.0.1:1", {"token": "t"}, "token= goes with ws://"),
        ("unix:///x", {"ssl": ssl.create_default_context()}, "ssl= goes with wss://"),
        ("ws://127.0.0.1:1/", {"ssl": ssl.create_default_context()}, "ssl= goes with wss://"),
        ("tcp://127.0.0.1:1?checksum=crc32", {"checksum": "xor8"}, "disagree"),
        ("tcp://127.0.0.1:1", {"checksum": "md5"}, "none of None, 'crc32'"),
        ("ws://127.0.0.1:1/mfp?token=t", {}, "without a query"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(
    url: str, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        dialer(url, **options)


def test_a_token_is_not_shown() -> None:
    there = dialer("ws://127.0.0.1:1/mfp", token="secret")
    assert isinstance(there, Dialer)
    assert "secret" not in repr(there)


@pytest.mark.parametrize("token", ["", "two words", "a\r\nX-Evil: 1"])
def test_a_token_that_cannot_be_one_is_refused_before_anything_is_sent(token: str) -> None:
    with pytest.raises(ConfigError, match="token: want"):
        dialer("ws://127.0.0.1:1/mfp", token=token)


# --- any WebSocket -----------------------------------------------------------------------------------------


class Ear:
    """Keeps the first message that comes."""

    def __init__(self, link: WebSocketLink) -> None:
        self.link = link
        self.heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def frame_received(self, data: bytes | memoryview) -> None:
        self.heard.set_result(bytes(data))

    def link_full(self) -> None: ...

    def link_ready(self) -> None: ...

    def link_lost(self, code: int, reason: str) -> None: ...


def greeting(link: WebSocketLink, *, version: int, user: int) -> Ear:
    link.send(f"v{version} for {user}".encode())
    return Ear(link)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, b"v2 for 0"),
        ({"subprotocols": ("hub.v1",)}, b"v1 for 0"),
        ({"headers": {"X-Hub-Version": "1"}}, b"v1 for 0"),
        ({"headers": {"X-Hub-Version": "1"}, "subprotocols": ("hub.v2", "hub.v1")}, b"v1 for 0"),
    ],
)
async def test_any_websocket_can_be_dialled_with_headers_and_subprotocols(
    options: dict[str, Any], said: bytes
) -> None:
    async with Listener("ws://127.0.0.1:0/mfp", Endpoints(), hub=HubEntrance(greeting)) as server:
        owner = await open_websocket(server.hub_url, Ear, max_bytes=100, patience=1.0, **options)
        assert await owner.heard == said
        owner.link.close(1000, "")


async def test_a_refusal_has_its_status_whatever_is_spoken() -> None:
    async with Listener("ws://127.0.0.1:0/mfp", Endpoints(), hub=HubEntrance(greeting)) as server:
        with pytest.raises(ConnectFailed, match="HTTP 400 speak one of") as caught:
            await open_websocket(server.hub_url, Ear, max_bytes=100, patience=1.0, subprotocols=("hub.v7",))
        assert caught.value.status == 400
