"""The way from a socket to a WebSocket, and what cannot hold it up."""

import asyncio
import logging
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from framehub.errors import ConnectFailed
from framehub.runtime import tokens, upgrade
from framehub.runtime.accept import MOST_OPENING, Acceptor
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener, listen

from .certificates import make_tls
from .raw import RawClient

RESET = struct.pack("ii", 1, 0)


def app() -> Endpoints:
    endpoints = Endpoints()
    endpoints.on("echo")(lambda call: call.data)
    return endpoints


@pytest.fixture
async def server() -> AsyncIterator[Listener]:
    async with listen("ws://127.0.0.1:0/mfp", app()) as listener:
        yield listener


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


async def until(happens: Callable[[], bool]) -> None:
    while not happens():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def leave(*writers: asyncio.StreamWriter) -> None:
    for writer in writers:
        writer.close()
    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


@pytest.mark.parametrize(("extra", "status"), [(59, 101), (60, 431), (200, 400)])
async def test_a_request_has_at_most_64_headers(server: Listener, extra: int, status: int) -> None:
    """[MFP-9.6.1] Five of them are what an upgrade needs; picows itself refuses far more."""
    headers = "".join(f"X-{n}: 1\r\n" for n in range(extra))
    client, head = await RawClient.ask(server.port, headers=headers)
    assert int(head.split()[1]) == status
    await client.end()


async def test_an_upgrade_that_takes_too_long_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """[MFP-9.6.2]"""
    monkeypatch.setattr(upgrade, "Acceptor", partial(Acceptor, seconds=0.1))
    async with listen("ws://127.0.0.1:0/mfp", app()) as server:
        with caplog.at_level(logging.INFO, "framehub"):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET /mfp HTTP/1.1\r\n")
            assert await reader.read() == b""
            await leave(writer)
        assert "not open after 0.1 s" in caplog.text
        async with connect(server.url) as peer:
            await asyncio.sleep(0.2)  # who is open has all the time it likes
            assert (await peer.request("echo", 1)).data == 1


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is slow to open is slow because the machine has other work."""
    monkeypatch.setattr(upgrade, "Acceptor", partial(Acceptor, seconds=600))


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("said", ["", "GET /mfp HTTP/1.1\r\nHost: x\r\n"])
async def test_an_honest_client_gets_in_at_once_while_others_hold_all_places(
    said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """[MFP-9.6.2] The oldest of those that are opening makes room."""
    async with listen("ws://127.0.0.1:0/mfp", app()) as server:
        base = descriptors()
        held = []
        for _ in range(MOST_OPENING + 44):
            held.append(await asyncio.open_connection("127.0.0.1", server.port))
            held[-1][1].write(said.encode())
        await until(lambda: descriptors() == base + len(held) + MOST_OPENING)
        async with connect(server.url) as peer:
            assert (await peer.request("echo", 1)).data == 1
        assert all([await reader.read() == b"" for reader, _ in held[:45]])
        assert not any(reader.at_eof() for reader, _ in held[45:])
        dropped = [record for record in caplog.records if "were opening" in record.getMessage()]
        assert 1 <= len(dropped) <= 60  # a line a second
        await leave(*(writer for _, writer in held))


@pytest.mark.usefixtures("patient")
async def test_those_that_are_still_in_tls_count_too() -> None:
    tls = make_tls("127.0.0.1")
    async with listen("wss://127.0.0.1:0/mfp", app(), ssl=tls.server) as server:
        base = descriptors()
        held = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(MOST_OPENING + 10)]
        await until(lambda: descriptors() == base + len(held) + MOST_OPENING)
        async with connect(server.url, ssl=tls.client) as peer:
            assert (await peer.request("echo", 1)).data == 1
        await leave(*(writer for _, writer in held))


async def test_two_thousand_connections_that_are_reset_leave_a_few_lines_and_nothing_else(
    server: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    beginnings = [
        b"",
        b"GET /mfp HTTP/1.1\r\n",
        b"GET /mfp?token=secret HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01",
    ]
    async with connect(server.url) as honest:
        base = descriptors()
        with caplog.at_level(logging.INFO):
            for n in range(2_000):
                client = socket.socket()
                client.setblocking(False)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                await loop.sock_connect(client, ("127.0.0.1", server.port))
                client.send(beginnings[n % len(beginnings)])
                client.close()
            assert (await honest.request("echo", 1)).data == 1
            await until(lambda: descriptors() == base)
    kinds = {"gone before", "refused with", "failed while", "were opening", "not open after"}
    told = [record.getMessage() for record in caplog.records]
    assert all(any(kind in line for kind in kinds) for line in told)
    assert 1 <= len(told) <= 60  # a line a second for each kind, on a machine that takes ten seconds
    assert "secret" not in caplog.text


async def test_the_log_says_why_somebody_was_kept_out(
    server: Listener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first of each kind within a second, at a level that is seen by default; never a token."""
    tokens.add(tmp_path / "tokens", user=7, name="anna")
    async with Listener("ws://127.0.0.1:0/mfp", app(), tokens=tmp_path / "tokens") as guarded:
        guesses = [(guarded, f"Authorization: Bearer secret-{n}\r\n") for n in range(12)]
        asked = [(server, "Origin: https://evil.example\r\n"), (guarded, ""), *guesses]
        for listener, headers in asked:
            client, _ = await RawClient.ask(listener.port, headers=headers)
            await client.end()
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [line.partition("connection ")[2] for line in told if "refused" in line] == [
        "refused with HTTP 403: origin https://evil.example is not allowed (from 127.0.0.1)",
        "refused with HTTP 401: a token is needed (from 127.0.0.1)",
        "refused with HTTP 429: too many wrong tokens from your address, and this one is wrong too"
        " (from 127.0.0.1)",
        "refused with HTTP 401",
        "refused with HTTP 429",
    ]
    assert "secret" not in caplog.text


async def test_a_listener_that_stops_cuts_off_who_is_opening(server: Listener) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    await asyncio.sleep(0.05)
    await server.close()
    assert await reader.read() == b""
    await leave(writer)


async def test_who_asks_while_a_listener_stops_is_told_so() -> None:
    never = asyncio.Event()
    endpoints = app()

    @endpoints.on("wait")
    async def wait(_call: object) -> None:
        await never.wait()

    async with listen("ws://127.0.0.1:0/mfp", endpoints) as server, connect(server.url) as busy:
        asking = asyncio.create_task(busy.request("wait"))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.sleep(0.05)
        closing = asyncio.create_task(server.close())
        await asyncio.sleep(0.05)
        writer.write(b"GET /mfp HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 503")
        await leave(writer)
        never.set()
        await asking
        await closing


async def test_over_tls_requests_and_streams_go_both_ways() -> None:
    tls = make_tls("127.0.0.1", "localhost")
    endpoints = app()
    got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    @endpoints.on_stream("up")
    async def up(stream: object) -> None:
        got.set_result(await stream.read())  # type: ignore[attr-defined]

    async with listen("wss://127.0.0.1:0/mfp", endpoints, ssl=tls.server) as server:
        assert server.url.startswith("wss://127.0.0.1:")
        async with connect(server.url, ssl=tls.client, checksum="crc32") as peer:
            assert (await peer.request("echo", "x" * 500_000)).data == "x" * 500_000
            async with peer.stream("up") as out:
                await out.write(bytes(2_000_000))
            assert len(await got) == 2_000_000
            (other,) = server.peers
            assert await other.ping() >= 0
        assert (await peer.closed).code == 1000


async def test_a_certificate_that_is_not_trusted_says_so(caplog: pytest.LogCaptureFixture) -> None:
    tls = make_tls("127.0.0.1")
    async with listen("wss://127.0.0.1:0/mfp", app(), ssl=tls.server) as server:
        with caplog.at_level(logging.INFO, "framehub"):
            with pytest.raises(ConnectFailed) as caught:
                async with connect(server.url, ssl=tls.stranger):
                    pass
            await until(lambda: "failed while opening" in caplog.text)
        assert caught.value.reason == "its certificate is not trusted: unable to get local issuer certificate"
        async with connect(server.url, ssl=tls.client) as peer:  # and the listener goes on
            await peer.ping()


async def test_a_certificate_of_another_host_says_so() -> None:
    tls = make_tls("other.example")
    async with listen("wss://127.0.0.1:0/mfp", app(), ssl=tls.server) as server:
        with pytest.raises(ConnectFailed, match="certificate is not trusted: IP address mismatch"):
            async with connect(server.url, ssl=tls.client):
                pass


async def test_tls_to_a_plain_listener_and_the_other_way_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "Acceptor", partial(Acceptor, seconds=0.2))
    async with listen("ws://127.0.0.1:0/mfp", app()) as plain:
        with pytest.raises(ConnectFailed) as caught:
            async with connect(plain.url.replace("ws:", "wss:")):
                pass
        assert "Operation not permitted" not in caught.value.reason
    tls = make_tls("127.0.0.1")
    async with listen("wss://127.0.0.1:0/mfp", app(), ssl=tls.server) as secure:
        with pytest.raises(ConnectFailed):
            async with connect(secure.url.replace("wss:", "ws:")):
                pass
