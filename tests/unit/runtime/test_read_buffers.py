"""Buffers are counted together, and those that are not needed are made small, all by one timer."""

import asyncio

import pytest

from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame
from framehub.mfp.settings import Settings
from framehub.runtime import read_buffers
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import listen
from framehub.runtime.read_buffers import TRIM_BYTES, ReadBuffers, buffers_of

from .hub_parts import until


class Large:
    def __init__(self, uses: int = 0) -> None:
        self.uses = uses
        self.asked = 0

    def shrink(self) -> bool:
        self.asked += 1
        self.uses -= 1
        return self.uses < 0


@pytest.fixture(autouse=True)
def trims(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often memory was given back; and everything happens soon."""
    happened: list[str] = []
    monkeypatch.setattr(read_buffers, "QUIET_SECONDS", 0.01)
    monkeypatch.setattr(read_buffers, "trim", lambda: happened.append("trim"))
    return happened


async def test_each_is_asked_until_it_is_small() -> None:
    all_ = ReadBuffers()
    used, idle, gone = Large(uses=3), Large(), Large(uses=1000)
    for one in (used, idle, gone):
        all_.look_after(one)
    await until(lambda: gone.asked >= 5)
    all_.forget(gone)
    assert (used.asked, idle.asked) == (4, 1)
    asked = gone.asked
    all_.look_after(idle)
    await until(lambda: idle.asked == 2)
    assert gone.asked == asked


async def test_much_that_is_freed_is_given_back_once(trims: list[str]) -> None:
    all_ = ReadBuffers()
    all_.changed(0, 3 * TRIM_BYTES)
    all_.changed(TRIM_BYTES, 0)
    await asyncio.sleep(0.05)
    assert (all_.bytes, trims) == (2 * TRIM_BYTES, [])
    all_.changed(TRIM_BYTES, 0)
    all_.changed(TRIM_BYTES, 0)
    await until(lambda: trims)
    await asyncio.sleep(0.05)
    assert (all_.bytes, trims) == (0, ["trim"])


async def test_those_of_a_loop_are_the_same_ones() -> None:
    loop = asyncio.get_running_loop()
    assert buffers_of(loop) is buffers_of(loop)


async def test_what_waits_of_a_byte_stream_is_counted() -> None:
    counted = buffers_of(asyncio.get_running_loop())
    data = codec.encode(RequestFrame(1, bytes(1_000_000)))
    async with listen("tcp://127.0.0.1:0", Endpoints(), settings=Settings()) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(len(data).to_bytes(4, "big") + data[:-1])
        await until(lambda: counted.bytes > 1_000_000)
        writer.write(data[-1:])
        await until(lambda: counted.bytes == 0)
        (peer,) = server.peers
        peer.pause_reading()
        writer.write(b"\0\0")
        await asyncio.sleep(0.05)
        peer.resume_reading()
        await until(lambda: counted.bytes > 0)
        writer.close()
        await until(lambda: counted.bytes == 0 and not server.peers)
