"""The edge: what a peer may do on a WebSocket, lawful or not, and what it is told."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame, ResponseFrame
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener, listen
from framehub.runtime.websocket import WebSocketLink

from . import raw
from .raw import FIN, RawClient

REQUEST = codec.encode(RequestFrame(id=1, payload=b'{"endpoint":"echo","data":5}'))
ANSWER = ResponseFrame(id=1, ref=1, payload=b'{"endpoint":"echo","data":5}')


@pytest.fixture
async def server() -> AsyncIterator[Listener]:
    app = Endpoints()

    @app.on("echo")
    def echo(call: Call) -> object:
        return call.data

    async with listen("ws://127.0.0.1:0/mfp", app, settings=Settings(max_frame_bytes=100_000)) as listener:
        yield listener


async def test_one_binary_message_is_one_frame(server: Listener) -> None:
    client = await RawClient.open(server.port)
    client.send(FIN | raw.BINARY, REQUEST)
    kind, payload = await client.receive()
    assert (kind, codec.decode(payload)) == (raw.BINARY, ANSWER)
    await client.end()


async def test_fragments_make_one_message_with_pings_between(server: Listener) -> None:
    client = await RawClient.open(server.port)
    client.send(raw.BINARY, REQUEST[:4])
    client.send(FIN | raw.PING, b"there?")
    client.send(0, REQUEST[4:9])
    client.send(FIN, REQUEST[9:])
    assert await client.receive() == (raw.PONG, b"there?")
    assert codec.decode((await client.receive())[1]) == ANSWER
    await client.end()


BESIDE = len(ANSWER.payload) - 1 + len('""') + 13
"""What a frame that echoes a text has besides it."""


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 16_384, 16_385, 20_000, 65_535, 65_536, 65_537])
async def test_messages_of_every_size_have_the_one_lawful_head(server: Listener, size: int) -> None:
    client = await RawClient.open(server.port)
    text = "x" * max(0, size - BESIDE)
    client.send(
        FIN | raw.BINARY, codec.encode(RequestFrame(1, b'{"endpoint":"echo","data":"%s"}' % text.encode()))
    )
    _, payload = await client.receive()
    assert len(payload) == BESIDE + len(text)
    await client.end()


@pytest.mark.parametrize(
    ("first", "payload", "options", "code"),
    [
        pytest.param(FIN | 1, b"text", {}, 1003, id="text"),
        pytest.param(FIN | 0x40 | 2, REQUEST, {}, 1002, id="reserved bit 1: compressed"),
        pytest.param(FIN | 0x20 | 2, REQUEST, {}, 1002, id="reserved bit 2"),
        pytest.param(FIN | 0x10 | 9, b"", {}, 1002, id="reserved bit 3 on a ping"),
        pytest.param(FIN, REQUEST, {}, 1002, id="a continuation of nothing"),
        pytest.param(FIN | 2, REQUEST, {"masked": False}, 1002, id="not masked"),
        pytest.param(FIN | 2, b"", {"declared": 100_001}, 1009, id="over the limit, declared only"),
        pytest.param(FIN | 2, b"", {"declared": 2**62}, 1009, id="far over the limit"),
        pytest.param(FIN | 2, b"\x00\x00", {}, 1002, id="no MFP frame"),
        pytest.param(FIN | 3, b"", {}, 1002, id="an opcode that is not in use"),
    ],
)
async def test_what_is_not_lawful_is_closed_with_its_code(
    server: Listener, first: int, payload: bytes, options: dict[str, Any], code: int
) -> None:
    client = await RawClient.open(server.port)
    client.send(first, payload, **options)
    assert await client.close_code() == code
    client.send(FIN | 2, REQUEST)  # nothing is answered any more
    assert await client.reader.read() == b""
    await client.end()
    while server.peers:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_a_message_inside_a_message_is_refused(server: Listener) -> None:
    client = await RawClient.open(server.port)
    client.send(raw.BINARY, REQUEST[:4])
    client.send(FIN | raw.BINARY, REQUEST)
    assert await client.close_code() == 1002
    await client.end()


async def test_fragments_over_the_limit_are_refused_before_they_are_whole(server: Listener) -> None:
    client = await RawClient.open(server.port)
    client.send(raw.BINARY, bytes(60_000))
    client.send(0, bytes(60_000))
    assert await client.close_code() == 1009
    await client.end()


async def test_too_many_fragments_are_refused(server: Listener) -> None:
    client = await RawClient.open(server.port)
    client.send(raw.BINARY, b"a")
    for _ in range(1_024):
        client.send(0, b"a")
    assert await client.close_code() == 1009
    await client.end()


async def test_a_goodbye_is_answered_with_the_same_code(server: Listener) -> None:
    client = await RawClient.open(server.port)
    (peer,) = server.peers
    client.send(FIN | raw.CLOSE, (1001).to_bytes(2, "big") + b"leaving")
    assert await client.close_code() == 1001
    gone = await peer.closed
    assert (gone.code, gone.reason) == (1001, "leaving")
    await client.end()


async def test_an_answer_goes_out_before_the_goodbye(server: Listener) -> None:
    client = await RawClient.open(server.port)
    client.writer.write(raw.frame(FIN | raw.BINARY, REQUEST) + raw.frame(FIN | raw.CLOSE, b"\x03\xe8"))
    assert codec.decode((await client.receive())[1]) == ANSWER
    assert await client.close_code() == 1000
    await client.end()


@pytest.mark.parametrize("first", [FIN | raw.CLOSE, FIN | 3], ids=["a goodbye", "a broken frame"])
async def test_a_peer_that_ends_and_does_not_read_is_not_waited_for(first: int) -> None:
    app = Endpoints()

    @app.on("large")
    def large(_: Call) -> object:
        return "x" * 100_000

    async with listen("ws://127.0.0.1:0/mfp", app) as listener:
        client = await RawClient.open(listener.port)
        (peer,) = listener.peers
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for id_ in range(1, 201):
            client.send(FIN | raw.BINARY, codec.encode(RequestFrame(id_, b'{"endpoint":"large"}')))
        while not peer.pending:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        client.send(first, b"\x03\xe8")
        async with asyncio.timeout(10):
            await asyncio.shield(peer.closed)
        client.writer.transport.abort()


async def test_a_lost_connection_is_1006(server: Listener) -> None:
    client = await RawClient.open(server.port)
    (peer,) = server.peers
    client.writer.transport.abort()
    assert (await peer.closed).code == 1006


async def test_nothing_is_written_to_a_socket_that_is_lost(
    server: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    """A moment before we are told that it is: the transport would log every try."""
    client = await RawClient.open(server.port)
    (peer,) = server.peers
    link = peer._link
    assert isinstance(link, WebSocketLink)
    assert link._transport is not None
    link._transport.underlying_transport.abort()
    for _ in range(20):
        link.send(bytes(10))
        link.send(bytes(100_000))
    assert caplog.messages == []
    await peer.closed
    await client.end()


async def test_a_peer_that_provokes_answers_and_does_not_read_is_cut_off(server: Listener) -> None:
    client = await RawClient.open(server.port)
    (peer,) = server.peers
    try:
        for _ in range(4_000):
            for _ in range(100):
                client.send(FIN | raw.PING, bytes(125))
            # Not drain(): this client never reads, so only the kernel's buffers take what the server says.
            await asyncio.sleep(0)
            if peer.closed.done() or client.writer.transport.get_write_buffer_size() > 64 << 20:
                break
    except ConnectionError:
        pass
    # Either it was cut off, or the server stopped reading from it: nothing grew on the server's side.
    assert peer.closed.done() or client.writer.transport.get_write_buffer_size() > 1 << 20
    client.writer.transport.abort()
    assert (await peer.closed).code in (1006, 1008)


async def test_a_slow_reader_holds_back_the_sender_and_loses_nothing(server: Listener) -> None:
    got: list[int] = []
    me = Endpoints()

    @me.on("take")
    def take(call: Call) -> None:
        got.append(call.data[0])

    async with connect(server.url, endpoints=me) as client:
        await client.ping()
        (peer,) = server.peers
        client.pause_reading()
        sending = asyncio.create_task(_send_all(peer, 300))
        done, _ = await asyncio.wait([sending], timeout=0.3)
        assert not done  # 30 MB do not fit anywhere: the sender waits
        client.resume_reading()
        await sending
        await peer.ping()
    assert got == list(range(300))


async def _send_all(peer: Any, count: int) -> None:
    for n in range(count):
        await peer.send("take", [n, "x" * 90_000])


async def test_a_handler_bug_of_ours_closes_with_1011(
    server: Listener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = await RawClient.open(server.port)
    (peer,) = server.peers
    monkeypatch.setattr(peer, "frame_received", lambda data: 1 / 0)
    client.send(FIN | raw.BINARY, REQUEST)
    assert await client.close_code() == 1011
    assert "ZeroDivisionError" in caplog.text
    await client.end()


async def test_more_control_frames_in_a_second_than_anybody_needs(server: Listener) -> None:
    client = await RawClient.open(server.port)
    for n in range(100):
        client.send(FIN | (raw.PING if n % 2 else raw.PONG), b"")
    client.send(FIN | raw.BINARY, REQUEST)
    while (await client.receive())[0] != raw.BINARY:
        pass
    client.send(FIN | raw.PONG, b"")
    assert await client.close_code() == 1008
    await client.end()


@pytest.mark.parametrize("part", ["a frame that is never whole", "a fragment that is never the last"])
async def test_a_message_that_drips_is_not_waited_for(part: str) -> None:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints(), settings=Settings(progress_timeout=0.3)) as slow:
        client = await RawClient.open(slow.port)
        if part == "a frame that is never whole":
            client.send(FIN | raw.BINARY, REQUEST, declared=1_000_000)
            drip = bytes(1)
        else:
            client.send(raw.BINARY, REQUEST[:4])
            drip = bytes((FIN | raw.PING, 0x80, 0, 0, 0, 0))
        told = asyncio.ensure_future(client.close_code())
        while not told.done():
            client.writer.write(drip)
            await asyncio.sleep(0.02)
        assert await told == 1008
        await client.end()


async def test_a_client_that_says_nothing_is_no_slow_client(server: Listener) -> None:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints(), settings=Settings(progress_timeout=0.1)) as quick:
        client = await RawClient.open(quick.port)
        client.send(FIN | raw.BINARY, REQUEST)
        await client.receive()
        await asyncio.sleep(0.4)
        client.send(FIN | raw.BINARY, REQUEST)
        assert (await client.receive())[0] == raw.BINARY
        await client.end()


async def test_a_slow_message_is_a_sign_of_life_and_silence_is_none() -> None:
    """[MFP-8.7.2] [MFP-8.7.3]"""
    async with listen("ws://127.0.0.1:0/mfp", Endpoints(), settings=Settings(keepalive=0.02)) as quick:
        client = await RawClient.open(quick.port)
        client.send(raw.BINARY, REQUEST[:4])
        await asyncio.sleep(0.2)
        (peer,) = quick.peers
        assert not peer.closed.done()
        client.send(FIN, REQUEST[4:])
        assert await client.close_code() == 1001
        await client.end()


async def test_nothing_follows_a_goodbye_that_a_broken_frame_caused(server: Listener) -> None:
    client = await RawClient.open(server.port)
    broken = bytes((FIN | 3, 0x80, 0, 0, 0, 0))
    client.writer.write(bytes((FIN | raw.BINARY, 0x80 | len(REQUEST), 0, 0, 0, 0)) + REQUEST + broken)
    kind, _ = await client.receive()
    assert kind == raw.CLOSE
    client.writer.write(broken * 1_000)  # each of them would be refused anew
    assert await client.reader.read() == b""
    await client.end()


@pytest.mark.parametrize("first", [FIN | raw.CLOSE, FIN | 3])
async def test_a_goodbye_ends_a_connection_whose_peer_reads_nothing(server: Listener, first: int) -> None:
    client = await RawClient.open(server.port)
    (peer,) = server.peers
    link: Any = peer._link
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    while not link._transport.underlying_transport.get_write_buffer_size():
        link._transport.underlying_transport.write(bytes(65_536))  # more than the kernel takes
        await asyncio.sleep(0)
    client.writer.write(bytes((first, 0x80, 0, 0, 0, 0)))
    async with asyncio.timeout(5):
        await peer.closed
    client.writer.transport.abort()


@pytest.mark.parametrize(
    ("first", "code", "answer"),
    [
        pytest.param(FIN | raw.CLOSE, 4000, 1000, id="an application's own"),
        pytest.param(FIN | raw.CLOSE, 0, 1002, id="no code"),
        pytest.param(FIN | raw.CLOSE, 1006, 1002, id="what programs tell each other only"),
        pytest.param(FIN | raw.CLOSE, 5000, 1002, id="nobody's"),
        pytest.param(FIN | 0x40 | raw.CLOSE, 1000, 1002, id="reserved bits"),
    ],
)
async def test_a_goodbye_is_answered_by_its_code(
    server: Listener, first: int, code: int, answer: int
) -> None:
    client = await RawClient.open(server.port)
    (peer,) = server.peers
    client.send(first, code.to_bytes(2, "big"))
    assert await client.close_code() == answer
    assert (await peer.closed).code == (code if answer != 1002 else 1002)
    await client.end()
