"""Who is let in by tokens, at both paths of a listener, and who is shown out."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError, ConnectFailed, ConnectionClosed
from framehub.runtime import bearer, doorkeeper, tokens
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.doorkeeper import Doorkeeper, TokensInForce
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.entrance import HubEntrance, Refused
from framehub.runtime.listen import Listener, listen
from framehub.runtime.websocket import WebSocketLink

from .raw import RawClient

SECONDS = 10


class Said:
    """An owner at the hub's path that says whom it was given."""

    def __init__(self, link: WebSocketLink, *, version: int, user: int) -> None:
        self.lost: list[tuple[int, str]] = []
        link.send(f"v{version} user {user}".encode())

    def frame_received(self, data: bytes | memoryview) -> None: ...

    def link_full(self) -> None: ...

    def link_ready(self) -> None: ...

    def link_lost(self, code: int, reason: str) -> None:
        self.lost.append((code, reason))


def app() -> Endpoints:
    endpoints = Endpoints()

    @endpoints.on("who")
    def who(call: Call) -> list[int]:
        return [call.user, call.peer.user]

    return endpoints


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


@pytest.fixture
def anna(file: Path) -> str:
    return tokens.add(file, user=7, name="anna")[0]


@pytest.fixture
async def server(file: Path, anna: str) -> AsyncIterator[Listener]:
    async with Listener("ws://127.0.0.1:0/mfp", app(), tokens=file, hub=HubEntrance(Said)) as listener:
        yield listener


def put(file: Path, text: str | None) -> str:
    """Write it, or remove the file; what was there before."""
    before = file.read_text() if file.exists() else ""
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    return before


async def until(happens: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not happens():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def status(port: int, token: str | None = None, **ask: Any) -> int:
    headers = f"Authorization: Bearer {token}\r\n" if token is not None else ""
    client, head = await RawClient.ask(port, headers=headers, **ask)
    await client.end()
    return int(head.split()[1])


async def test_a_token_gives_its_user_to_handlers(server: Listener, file: Path, anna: str) -> None:
    """[MFP-9.7.1]"""
    bob, _ = tokens.add(file, user=65_535, name="bob")
    async with connect(server.url, token=anna) as one, connect(server.url, token=bob) as other:
        assert (await one.request("who")).data == [7, 7]
        assert (await other.request("who")).data == [65_535, 65_535]
    async with connect(server.url, token=anna, reconnect=True) as again:
        assert (await again.request("who")).data == [7, 7]


@pytest.mark.parametrize("path", ["/mfp", "/hub"])
async def test_without_a_token_or_with_a_wrong_one_nobody_gets_in(
    server: Listener, anna: str, path: str
) -> None:
    """[MFP-9.7.3] [HUB-6.5]"""
    assert await status(server.port, path=path) == 401
    assert await status(server.port, anna[:-1], path=path) == 401
    assert await status(server.port, anna + "x", path=path) == 401
    assert await status(server.port, anna.lower(), path=path) == 401
    assert await status(server.port, anna, path=path) == 101
    client, head = await RawClient.ask(server.port, path=path, headers="Authorization: Basic dTpw\r\n")
    assert head.startswith("HTTP/1.1 401 ")
    assert "\r\nWWW-Authenticate: Bearer\r\n" in head
    await client.end()
    assert await status(server.port, "two words", path=path) == 400


@pytest.mark.parametrize(("path", "speaks"), [("/mfp", "mfp.crc32"), ("/hub", "hub.v1")])
async def test_a_browser_offers_its_token_as_a_subprotocol(
    server: Listener, anna: str, path: str, speaks: str
) -> None:
    """[MFP-9.7.1] It is never answered with; without another offer there is no sub-protocol at all."""
    for offer, echoed in ((f"{bearer.subprotocol(anna)}, {speaks}", True), (bearer.subprotocol(anna), False)):
        client, head = await RawClient.ask(
            server.port, path=path, headers=f"Sec-WebSocket-Protocol: {offer}\r\n"
        )
        assert head.startswith("HTTP/1.1 101 ")
        assert (f"\r\nSec-WebSocket-Protocol: {speaks}\r\n" in head) == echoed
        assert "token." not in head
        await client.end()


async def test_the_hub_is_told_the_user(server: Listener, anna: str) -> None:
    """[HUB-6.5]"""
    headers = f"Authorization: Bearer {anna}\r\nX-Hub-Version: 1\r\n"
    client = await RawClient.open(server.port, path="/hub", headers=headers)
    assert (await client.receive())[1] == b"v1 user 7"
    await client.end()


async def test_who_is_refused_is_told_why(server: Listener) -> None:
    for token, said in ((None, "HTTP 401 a token is needed"), ("x", "HTTP 401 no such token")):
        with pytest.raises(ConnectFailed, match=said) as caught:
            async with connect(server.url, token=token):
                pass
        assert caught.value.status == 401


async def test_anybody_may_be_let_in_beside_those_with_tokens(file: Path, anna: str) -> None:
    """[MFP-9.7.3] A wrong token is refused all the same."""
    async with listen("ws://127.0.0.1:0/mfp", app(), tokens=file, allow_anonymous=True) as server:
        async with connect(server.url) as peer:
            assert (await peer.request("who")).data == [0, 0]
        async with connect(server.url, token=anna) as peer:
            assert (await peer.request("who")).data == [7, 7]
        assert await status(server.port, "wrong") == 401


async def test_where_there_are_no_tokens_none_is_looked_at() -> None:
    async with listen("ws://127.0.0.1:0/mfp", app()) as server, connect(server.url, token="any") as peer:
        assert (await peer.request("who")).data == [0, 0]


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:0", "unix:///x"])
def test_byte_streams_have_no_tokens(url: str, file: Path) -> None:
    with pytest.raises(ConfigError, match="tokens= goes with ws://"):
        listen(url, Endpoints(), tokens=file)


# --- guessing ----------------------------------------------------------------------------------------------


async def asked_from(address: str, port: int, token: str) -> str:
    """The head of the answer to an upgrade from another address of this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    writer.write(
        f"GET /mfp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        f"Authorization: Bearer {token}\r\n\r\n".encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return head.decode()


async def test_after_ten_wrong_tokens_no_more_are_heard_and_a_right_one_gets_in(
    server: Listener, anna: str
) -> None:
    """[MFP-9.7.5] At both paths together; what is no try at all does not count."""
    for n in range(10):
        assert await status(server.port, f"guess-{n}", path=("/mfp", "/hub")[n % 2]) == 401
        assert await status(server.port, anna, path=("/mfp", "/hub")[n % 2]) == 101
        assert await status(server.port) == 401
    head = await asked_from("127.0.0.1", server.port, "guess-10")
    assert head.startswith("HTTP/1.1 429 ")
    (wait,) = (line for line in head.split("\r\n") if line.startswith("Retry-After: "))
    assert 1 <= int(wait.split()[1]) <= 60
    assert (await asked_from("127.0.0.2", server.port, "guess-10")).startswith("HTTP/1.1 401 ")
    with pytest.raises(ConnectFailed, match="HTTP 429 too many wrong tokens from your address") as caught:
        async with connect(server.url, token="guess-0"):
            pass
    assert caught.value.status == 429
    for path in ("/mfp", "/hub"):
        assert await status(server.port, anna, path=path) == 101


async def test_somebody_with_an_old_token_is_one_try_however_often_it_comes(
    server: Listener, file: Path, anna: str
) -> None:
    """[MFP-9.7.5] A device that was revoked asks on and on: its neighbours' mistakes are answered as ever."""
    old, _ = tokens.add(file, user=8, name="old")
    tokens.revoke(file, "old")
    for _ in range(30):
        assert await status(server.port, old) == 401
    assert await status(server.port, "mistyped") == 401
    assert await status(server.port, anna) == 101


async def test_a_token_that_becomes_good_gets_in_after_it_was_wrong(server: Listener, file: Path) -> None:
    """[MFP-9.7.5] What was tried is no list of what is refused."""
    made, _ = tokens.add(file, user=8, name="bob")
    good = put(file, "# nobody for now\n")
    for token in (made, *(f"guess-{n}" for n in range(9))):
        assert await status(server.port, token) == 401
    assert await status(server.port, made) == 429
    put(file, good)
    assert await status(server.port, made) == 101


async def test_who_needs_no_token_comes_in_whatever_others_at_that_address_tried(
    file: Path, anna: str
) -> None:
    async with listen("ws://127.0.0.1:0/mfp", app(), tokens=file, allow_anonymous=True) as server:
        for n in range(11):
            assert await status(server.port, f"guess-{n}") == (401 if n < 10 else 429)
        async with connect(server.url) as peer:
            assert (await peer.request("who")).data == [0, 0]


# --- changes of the file -----------------------------------------------------------------------------------


async def test_a_token_made_while_it_runs_is_good_at_once(server: Listener, file: Path) -> None:
    bob, _ = tokens.add(file, user=8, name="bob")
    async with connect(server.url, token=bob) as peer:
        assert (await peer.request("who")).data == [8, 8]


async def test_a_revoked_token_closes_its_connections_and_no_others(
    server: Listener, file: Path, anna: str, caplog: pytest.LogCaptureFixture
) -> None:
    """[MFP-9.7.6] [HUB-6.6]"""
    bob, _ = tokens.add(file, user=8, name="bob")
    hub = await RawClient.open(server.port, path="/hub", headers=f"Authorization: Bearer {anna}\r\n")
    async with (
        connect(server.url, token=anna) as one,
        connect(server.url, token=anna, reconnect=True) as again,
        connect(server.url, token=bob) as other,
    ):
        tokens.revoke(file, "anna")
        async with asyncio.timeout(SECONDS):
            lost = await one.closed
            assert (lost.code, lost.reason) == (1008, "token revoked")
            assert await hub.close_code() == 1008
            over = await again.closed  # it tried again
        assert isinstance(over, ConnectFailed)
        assert over.status == 401
        assert (await other.request("who")).data == [8, 8]
        with pytest.raises(ConnectionClosed, match="token revoked"):
            await one.request("who")
    await hub.end()
    assert await status(server.port, anna) == 401
    assert "(anna) of user 7 is revoked" in caplog.text
    assert anna not in caplog.text


async def test_a_token_that_becomes_another_users_is_revoked_too(
    server: Listener, file: Path, anna: str
) -> None:
    async with connect(server.url, token=anna) as peer:
        before = put(file, "# nothing for a moment\n")
        put(file, before.replace("\n7 ", "\n9 "))
        async with asyncio.timeout(SECONDS):
            assert (await peer.closed).reason == "token revoked"
    async with connect(server.url, token=anna) as peer:
        assert (await peer.request("who")).data == [9, 9]


@pytest.mark.parametrize("broken", ["nonsense\n", "", None], ids=["nonsense", "empty", "gone"])
async def test_a_file_that_breaks_is_told_and_what_was_good_stays(
    server: Listener, file: Path, anna: str, broken: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(server.url, token=anna) as peer:
        good = put(file, broken)
        await until(lambda: "stay in force" in caplog.text)
        async with connect(server.url, token=anna) as another:
            assert (await another.request("who")).data == [7, 7]
        assert str(file) in caplog.text
        told = len(caplog.records)
        for _ in range(3):
            assert await status(server.port, anna) == 101
        assert len(caplog.records) == told  # once for each change
        put(file, good)
        bob, _ = tokens.add(file, user=8, name="bob")
        assert await status(server.port, bob) == 101
        assert (await peer.request("who")).data == [7, 7]


def test_a_file_that_is_wrong_at_the_start_is_an_error(file: Path) -> None:
    put(file, "# mine\nnonsense\n")
    with pytest.raises(ConfigError, match=r"tokens, line 2: want USER WHEN SHA256 NAME"):
        listen("ws://127.0.0.1:0/mfp", Endpoints(), tokens=file)


async def test_a_file_without_tokens_lets_nobody_in(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(file, "# none yet\n")
    async with listen("ws://127.0.0.1:0/mfp", app(), tokens=file) as server:
        assert "there is no token in" in caplog.text
        assert await status(server.port, "x") == 401
        bob, _ = tokens.add(file, user=8, name="bob")
        assert await status(server.port, bob) == 101


def test_a_file_that_is_as_it_was_is_not_read(file: Path, anna: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0

    def counted(path: Path) -> list[tokens.Entry]:
        nonlocal reads
        reads += 1
        return tokens.read(path)

    monkeypatch.setattr(doorkeeper, "read", counted)
    force = TokensInForce(file)
    assert [force.look() for _ in range(5)] == [[]] * 5
    assert reads == 1
    tokens.add(file, user=8, name="bob")
    assert (force.look(), reads) == ([], 2)
    gone = tokens.revoke(file, "anna")
    assert force.look() == [gone]
    assert force.look() == []
    assert force.find(anna) is None


async def test_nothing_is_kept_of_links_that_are_gone(server: Listener, anna: str) -> None:
    keeper = server._server._doorkeeper  # type: ignore[union-attr]
    for _ in range(5):
        async with connect(server.url, token=anna) as peer:
            await peer.ping()
    del peer

    def kept() -> int:
        gc.collect()
        return sum(map(len, keeper._inside.values()))

    await until(lambda: kept() == 0)


# --- what is written down ----------------------------------------------------------------------------------


async def test_no_log_has_a_token_whatever_becomes_of_it(
    server: Listener, file: Path, anna: str, caplog: pytest.LogCaptureFixture
) -> None:
    """[MFP-9.7.4]"""
    secrets = [anna, "s3cret-guess", bearer.subprotocol(anna), bearer.subprotocol("s3cret-guess")]
    with caplog.at_level(logging.DEBUG):
        for token in (anna, "s3cret-guess"):
            await status(server.port, token)
            await status(server.port, token, path=f"/mfp?{token}")
            await status(server.port, token, path=f"/{token}")
            client, head = await RawClient.ask(
                server.port, headers=f"Sec-WebSocket-Protocol: mfp, {bearer.subprotocol(token)}\r\n"
            )
            assert token not in head
            await client.end()
        tokens.revoke(file, "anna")
        assert await status(server.port, anna) == 401
    assert caplog.records
    assert [secret for secret in secrets if secret in caplog.text] == []


def test_a_refusal_has_no_token_in_it(file: Path, anna: str) -> None:
    keeper = Doorkeeper(file)
    with pytest.raises(Refused) as caught:
        keeper.ask("s3cret-guess", "10.0.0.1")
    assert "s3cret" not in f"{caught.value!r} {caught.value.text} {caught.value.headers}"
    assert anna not in repr(keeper.ask(anna, "10.0.0.1"))
