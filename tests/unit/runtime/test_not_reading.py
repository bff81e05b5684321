"""A peer that is sent much and never reads does not stay for ever, over whatever it came."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener, listen

from . import raw
from .raw import FIN, RawClient


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def much() -> Endpoints:
    app = Endpoints()

    @app.on("much")
    def answer(_call: Call) -> str:
        return "x" * 100_000

    return app


async def flood(server: Listener, writer: asyncio.StreamWriter, send: Callable[[bytes], None]) -> None:
    for id_ in range(1, 200):
        send(codec.encode(RequestFrame(id_, b'{"endpoint":"much"}')))
    async with asyncio.timeout(20):
        await until(lambda: not server.peers)
    writer.transport.abort()


@pytest.mark.parametrize("scheme", ["ws", "unix"])
async def test_who_takes_nothing_is_ended(scheme: str, tmp_path: Path) -> None:
    """[MFP-8.7.5]"""
    url = "ws://127.0.0.1:0/mfp" if scheme == "ws" else f"unix://{tmp_path}/socket"
    async with listen(url, much(), settings=Settings(progress_timeout=0.2)) as server:
        if scheme == "ws":
            client = await RawClient.open(server.port)
            writer = client.writer

            def send(data: bytes) -> None:
                client.send(FIN | raw.BINARY, data)

        else:
            _, writer = await asyncio.open_unix_connection(tmp_path / "socket", limit=1)

            def send(data: bytes) -> None:
                writer.write(len(data).to_bytes(4, "big") + data)

        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await until(lambda: len(server.peers) == 1)
        await flood(server, writer, send)
