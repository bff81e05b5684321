"""One link on a byte stream: pauses, room, and its end."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiofastnet
import pytest

from framehub.runtime import bytestream
from framehub.runtime.behind import HARD_BYTES, PROVOKED_BYTES
from framehub.runtime.bytestream import ByteStreamLink

from .stream_client import StreamClient, framed


class Owner:
    """Keeps what it is told, and does what a test wants."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.told: list[str] = []
        self.gone: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self.on_frame: Callable[[bytes], None] = lambda frame: None

    def frame_received(self, data: bytes | memoryview) -> None:
        self.frames.append(bytes(data))
        self.on_frame(bytes(data))

    def link_full(self) -> None:
        self.told.append("full")

    def link_ready(self) -> None:
        self.told.append("ready")

    def link_lost(self, code: int, reason: str) -> None:
        self.gone.set_result((code, reason))


class Bench:
    """A link on a real socket, and the other end of it."""

    def __init__(self, *, listening: bool = True, max_bytes: int = 1_000) -> None:
        self.owner = Owner()
        self.link = ByteStreamLink(lambda _: self.owner, max_bytes=max_bytes, patience=5, listening=listening)

    async def __aenter__(self) -> "Bench":
        arrived: asyncio.Future[StreamClient] = asyncio.get_running_loop().create_future()
        self.server = await asyncio.start_server(
            lambda *ends: arrived.set_result(StreamClient(*ends)), "127.0.0.1", 0
        )
        loop = asyncio.get_running_loop()
        address = self.server.sockets[0].getsockname()
        await aiofastnet.create_connection(loop, lambda: self.link, *address)  # as ``connect`` does
        self.client = await arrived
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.writer.transport.abort()
        await self.owner.gone
        self.server.close()


async def test_a_paused_link_delivers_nothing_until_every_reason_is_gone() -> None:
    async with Bench() as bench:

        def stop(frame: bytes) -> None:
            if frame == b"two":
                bench.link.pause("a")
                bench.link.pause("b")

        bench.owner.on_frame = stop
        bench.client.write(framed(b"one", b"two", b"three", b"four") + b"\x00")
        await asyncio.sleep(0.05)
        assert bench.owner.frames == [b"one", b"two"]
        bench.link.resume("a")
        bench.link.resume("never given")
        await asyncio.sleep(0.02)
        assert bench.owner.frames == [b"one", b"two"]
        bench.link.resume("b")
        bench.client.write(framed(b"five")[1:])
        while len(bench.owner.frames) < 5:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert bench.owner.frames == [b"one", b"two", b"three", b"four", b"five"]


async def test_a_frame_that_pauses_and_resumes_at_once_holds_up_nothing() -> None:
    async with Bench() as bench:

        def twitch(_: bytes) -> None:
            bench.link.pause("a")
            bench.link.resume("a")

        bench.owner.on_frame = twitch
        bench.client.write(framed(*(b"%d" % n for n in range(20))))
        while len(bench.owner.frames) < 20:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert bench.owner.frames == [b"%d" % n for n in range(20)]


async def test_frames_of_one_turn_go_out_by_eights(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Bench() as bench:
        writes: list[int] = []
        transport: Any = bench.link._transport
        write = transport.write

        def count(data: bytes) -> None:
            writes.append(len(data))
            write(data)

        monkeypatch.setattr(transport, "write", count)
        for n in range(50):
            assert bench.link.send(b"%02d" % n)
        assert [await bench.client.frame() for _ in range(50)] == [b"%02d" % n for n in range(50)]
        assert writes == [8 * 6] * 6 + [2 * 6]


async def test_a_frame_in_pieces_is_one_frame() -> None:
    async with Bench() as bench:
        bench.link.send(b"he", b"", b"llo")
        bench.link.send(b"a", bytes(200_000), b"z")
        assert await bench.client.frame() == b"hello"
        assert await bench.client.frame() == b"a" + bytes(200_000) + b"z"


async def test_large_frames_come_whole_however_they_are_cut() -> None:
    async with Bench(max_bytes=400_000) as bench:
        sent = [bytes([n]) * size for n, size in enumerate((300_000, 5, 20_000, 17_000, 400_000, 1))]
        whole = framed(*sent)
        for at in range(0, len(whole), 70_001):
            bench.client.write(whole[at : at + 70_001])
            await bench.client.writer.drain()
            await asyncio.sleep(0.001)
        while len(bench.owner.frames) < len(sent):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert bench.owner.frames == sent


async def test_a_peer_that_ends_and_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytestream, "CLOSING_SECONDS", 0.05)
    async with Bench() as bench:
        while "full" not in bench.owner.told:
            bench.link.send(bytes(100_000))
        bench.client.writer.write_eof()
        assert await bench.owner.gone == (1000, "the peer ended the connection")


async def test_a_full_link_says_so_and_a_ready_one_too() -> None:
    async with Bench() as bench:
        sent = 0
        while "full" not in bench.owner.told:
            bench.link.send(bytes(100_000))
            sent += 1
        for _ in range(sent):
            await bench.client.frame()
        assert bench.owner.told == ["full", "ready"]


@pytest.mark.parametrize("listening", [True, False])
async def test_who_does_not_read_is_not_read_and_then_cut_off(listening: bool) -> None:
    async with Bench(listening=listening, max_bytes=1_000) as bench:
        transport: Any = bench.link._transport
        sent = 0
        while bench.link.send(bytes(50_000)):
            sent += 1
            waits = transport.get_write_buffer_size()
            if PROVOKED_BYTES + 100_000 < waits < HARD_BYTES:
                assert transport.is_reading() != listening
        assert HARD_BYTES < waits < HARD_BYTES + 200_000
        bench.client.writer.transport.abort()
        assert (await bench.owner.gone) == (1008, "the peer does not read")


async def test_a_bug_of_ours_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with Bench() as bench:
        bench.owner.on_frame = lambda _: 1 // 0  # type: ignore[assignment]
        bench.client.write(framed(b"one", b"two"))
        assert await bench.client.reader.read() == b""
        await bench.client.end()
        assert await bench.owner.gone == (1011, "internal error")
        assert bench.owner.frames == [b"one"]
    assert "ZeroDivisionError" in caplog.text


async def test_nothing_is_sent_on_a_link_that_is_gone() -> None:
    async with Bench() as bench:
        bench.link.close(1000, "bye")
        assert not bench.link.send(b"late")
        bench.link.close(1002, "only the first counts")
        await bench.client.end()
        assert await bench.owner.gone == (1000, "bye")
        bench.link.close(1000, "")
        bench.link.resume("x")
        assert not bench.link.send(b"later")
