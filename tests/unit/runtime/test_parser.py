"""picows' parser and what stands before it: its buffer is filled in pieces, counted, and made small again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from framehub.codes import CloseCode
from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame
from framehub.mfp.settings import Settings
from framehub.runtime import read_buffers
from framehub.runtime.calls import Reply
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File
from framehub.runtime.listen import Listener, listen
from framehub.runtime.parser import READ_BUFFER, Watched
from framehub.runtime.peer import Peer
from framehub.runtime.read_buffers import KEPT_BYTES, ReadBuffers, buffers_of
from framehub.runtime.share import LEAST_PIECE, MOST_PIECE, Share
from framehub.runtime.websocket import WebSocketLink

from .certificates import make_tls
from .hub_parts import until
from .raw import BINARY, FIN, PING, PONG, RawClient, frame

CONTINUATION = 0
LARGE = bytes(4_000_000)
ROOMY = Settings(max_frame_bytes=8 << 20)


def buffers() -> ReadBuffers:
    return buffers_of(asyncio.get_running_loop())


class Parser(asyncio.BufferedProtocol):
    def __init__(self, room: int = 2 * MOST_PIECE) -> None:
        self.room = bytearray(room)
        self.happened: list[str] = []

    def get_buffer(self, sizehint: int) -> bytearray:
        self.happened.append("buffer")
        return self.room

    def buffer_updated(self, nbytes: int) -> None:
        self.happened.append(f"parse {nbytes}")

    def connection_lost(self, exc: Exception | None) -> None:
        self.happened.append("lost")


def watched(parser: Parser, waiting: int = 0, *, listening: bool = True) -> Watched:
    def came(size: int) -> int:
        parser.happened.append(f"came {size}")
        return waiting

    return Watched(parser, Share(), came, 1000, listening)


async def test_the_parser_gets_everything_and_then_it_is_told() -> None:
    parser = Parser()
    it = watched(parser)
    parser.happened.clear()
    it.get_buffer(4)
    it.buffer_updated(4)
    it.connection_lost(None)
    assert parser.happened == ["buffer", "parse 4", "came 4", "lost"]


async def test_a_parser_is_filled_in_pieces_and_not_at_all_once_it_is_deaf() -> None:
    parser = Parser()
    it = watched(parser)
    piece = it.get_buffer(-1)
    assert len(piece) == LEAST_PIECE
    piece[0] = 7
    assert parser.room[0] == 7
    parser.happened.clear()
    it.buffer_updated(5)
    it.deaf = True
    it.buffer_updated(6)
    assert parser.happened == ["parse 5", "came 5"]


async def test_what_a_parser_has_room_for_is_counted_until_the_end() -> None:
    parser = Parser(1000)
    it = watched(parser, waiting=600)
    assert buffers().bytes == 1000
    it.get_buffer(-1)
    it.buffer_updated(600)
    parser.room = bytearray(1400)  # of 2,000: 600 are in use
    it.get_buffer(-1)
    assert buffers().bytes == 2000
    it.collected(300)
    assert buffers().bytes == 2300
    it.connection_lost(None)
    assert buffers().bytes == 0


# --- picows' own ---------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers are made small soon."""
    monkeypatch.setattr(read_buffers, "QUIET_SECONDS", 0.02)


@pytest.fixture
def when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are when a test says so, and not by themselves."""
    monkeypatch.setattr(read_buffers, "QUIET_SECONDS", 3600)


def echo() -> Endpoints:
    app = Endpoints()
    app.on("echo")(lambda call: Reply(files=call.files))
    return app


@asynccontextmanager
async def conversation(scheme: str, settings: Settings = ROOMY) -> AsyncIterator[tuple[Listener, Peer]]:
    tls = make_tls("localhost") if scheme == "wss" else None
    url = f"{scheme}://localhost:0/mfp"
    async with (
        listen(url, echo(), settings=settings, ssl=tls.server if tls else None) as server,
        connect(server.url, settings=settings, ssl=tls.client if tls else None) as peer,
    ):
        yield server, peer


async def echoed(peer: Peer, data: bytes) -> None:
    assert (await peer.request("echo", files={1: File(data)})).files[1].data == data


@pytest.mark.usefixtures("when_told")
@pytest.mark.parametrize("scheme", ["ws", "wss"])
async def test_both_sides_need_little_again_after_a_large_frame_and_go_on(scheme: str) -> None:
    async with conversation(scheme) as (_, peer):
        for _ in range(3):
            await echoed(peer, LARGE)
            assert buffers().bytes > 2 * len(LARGE)
            buffers()._look()
            assert buffers().bytes > 2 * len(LARGE)  # they were in use since the last time
            buffers()._look()
            assert buffers().bytes < 2 * KEPT_BYTES
            await echoed(peer, b"small")
            assert await peer.ping() > 0
    await until(lambda: buffers().bytes == 0)


@pytest.mark.usefixtures("when_told")
async def test_a_frame_that_has_come_in_part_is_not_lost() -> None:
    async with listen("ws://127.0.0.1:0/mfp", echo(), settings=ROOMY) as server:
        raw = await RawClient.open(server.port)
        large, ping = frame(FIN | BINARY, codec.encode(RequestFrame(1, LARGE))), frame(FIN | PING, b"1")
        for part in (large, ping[:3]):
            raw.writer.write(part)
        await raw.receive()  # what is wrong with the large one
        (peer,) = server.peers
        await until(lambda: peer._link._watched._waiting == 3)  # type: ignore[attr-defined]
        for _ in range(3):
            buffers()._look()
            assert buffers().bytes > len(LARGE)
        raw.writer.write(ping[3:])
        assert await raw.receive() == (PONG, b"1")
        for _ in range(2):
            buffers()._look()
        assert buffers().bytes < KEPT_BYTES
        raw.writer.write(ping)
        assert await raw.receive() == (PONG, b"1")
        await raw.end()
        await until(lambda: buffers().bytes == 0)


@pytest.mark.usefixtures("when_told")
async def test_who_needs_a_large_buffer_all_the_time_keeps_it() -> None:
    async with conversation("ws") as (server, peer):
        (other,) = server.peers
        one = other._link._watched  # type: ignore[attr-defined]
        for _ in range(5):
            await echoed(peer, LARGE)
            before = buffers().bytes
            assert not one.shrink()
            assert buffers().bytes == before
        assert one.shrink()
        assert buffers().bytes < before - len(LARGE)


@pytest.mark.usefixtures("quick")
async def test_the_limits_hold_for_a_smaller_parser_too() -> None:
    async with conversation("ws") as (server, peer):
        await echoed(peer, LARGE)
        await until(lambda: buffers().bytes < 2 * KEPT_BYTES)
        link = peer._link
        assert isinstance(link, WebSocketLink)
        link.send(bytes(9 << 20))
        assert (await peer.closed).code == CloseCode.TOO_BIG
        await until(lambda: not server.peers)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("end", ["client", "server", "lost"])
async def test_a_connection_with_a_smaller_parser_ends_as_others_do(end: str) -> None:
    async with conversation("ws") as (server, peer):
        await echoed(peer, LARGE)
        await until(lambda: buffers().bytes < 2 * KEPT_BYTES)
        (other,) = server.peers
        if end == "lost":
            other._link._transport.underlying_transport.abort()  # type: ignore[attr-defined]
        else:
            await (peer if end == "client" else other).close(CloseCode.GOING_AWAY, "enough")
        code = 1006 if end == "lost" else CloseCode.GOING_AWAY
        assert [(await one.closed).code for one in (peer, other)] == (
            [code] * 2 if end != "lost" else [1006] * 2
        )


async def test_fragments_that_are_kept_are_counted() -> None:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints(), settings=ROOMY) as server:
        raw = await RawClient.open(server.port)
        raw.send(BINARY, bytes(10_000))
        await until(lambda: buffers().bytes > 10_000 + READ_BUFFER)
        before = buffers().bytes
        raw.send(FIN | CONTINUATION, b"")
        await until(lambda: buffers().bytes == before - 10_000 or not server.peers)
        await raw.end()
        await until(lambda: buffers().bytes == 0)


@pytest.mark.parametrize(
    ("came", "listening", "parsed"),
    [
        pytest.param("8880 00000000", True, 6, id="alone"),
        pytest.param("8880 00000000 82", True, 6, id="and more"),
        pytest.param("8882 00000000 03e8 ff", True, 8, id="with a code, and more"),
        pytest.param("8802 03e8 ff", True, 4, id="without a mask"),
        pytest.param("8882 00000000 03", True, 7, id="not whole"),
        pytest.param("88", True, 1, id="a byte of it"),
        pytest.param("88fe 007e 00000000 ff", True, 9, id="too long to be one"),
        pytest.param("8880 00000000 82", False, 7, id="to a client"),
        pytest.param("8280 00000000 88", True, 7, id="after something else"),
    ],
)
async def test_a_goodbye_is_parsed_alone(came: str, listening: bool, parsed: int) -> None:
    parser = Parser()
    it = watched(parser, listening=listening)
    data = bytes.fromhex(came)
    it.get_buffer(-1)[: len(data)] = data
    parser.happened.clear()
    it.buffer_updated(len(data))
    assert parser.happened == [f"parse {parsed}", f"came {parsed}"]


async def test_inside_a_frame_nothing_is_taken_for_a_goodbye() -> None:
    parser = Parser()
    it = watched(parser, waiting=600)
    it.get_buffer(-1)[0] = 0x82
    it.buffer_updated(1)
    it.get_buffer(-1)[:7] = bytes.fromhex("8880 00000000 82")
    parser.happened.clear()
    it.buffer_updated(7)
    assert parser.happened == ["parse 7", "came 7"]
