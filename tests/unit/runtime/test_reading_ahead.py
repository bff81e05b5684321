"""A listener does not read for ever from a peer that reads no answers."""

import asyncio
from typing import Any

import pytest

from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.link import AHEAD_BYTES
from framehub.runtime.listen import listen

from .raw import BINARY, FIN, RawClient

MANY = 100
PAYLOAD = b'{"endpoint":"echo","data":"%s"}' % (b"x" * 200_000)


def request(id_: int, url: str) -> bytes:
    frame = codec.encode(RequestFrame(id=id_, payload=PAYLOAD))
    if url.startswith("tcp"):
        return len(frame).to_bytes(4, "big") + frame
    return bytes((FIN | BINARY, 0xFF)) + len(frame).to_bytes(8, "big") + bytes(4) + frame


@pytest.mark.parametrize("url", ["ws://127.0.0.1:0/mfp", "tcp://127.0.0.1:0"])
async def test_who_does_not_read_is_not_read_until_he_does(url: str) -> None:
    app = Endpoints()
    read = 0

    @app.on("echo")
    def echo(call: Call) -> Any:
        nonlocal read
        read += len(call.data)
        return call.data

    async with listen(url, app) as listener:
        if url.startswith("ws"):
            client = await RawClient.open(listener.port)
            reader, writer = client.reader, client.writer
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        for id_ in range(1, MANY + 1):
            writer.write(request(id_, url))
        while not listener.peers:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        (peer,) = listener.peers
        link: Any = peer._link
        while "slow" not in link._pauses:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        before = read
        await asyncio.sleep(0.1)
        assert read == before < MANY * 200_000
        assert before < 2 * AHEAD_BYTES  # and what went out before the kernel took no more
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        answers = 0
        while answers < MANY * len(PAYLOAD):
            answers += len(await reader.read(2**20))
        assert read == MANY * 200_000
        writer.transport.abort()
