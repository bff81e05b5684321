"""A goodbye ends what is read: nothing that comes behind it is looked at."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener, listen

from .raw import BINARY, CLOSE, FIN, PING, PONG, TEXT, RawClient, frame


@pytest.fixture
async def server() -> AsyncIterator[Listener]:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as listener:
        yield listener


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(frame(FIN | TEXT, b"more"), id="text"),
        pytest.param(frame(FIN | BINARY, b"more"), id="binary"),
        pytest.param(frame(FIN | PING, b"more"), id="ping"),
        pytest.param(frame(FIN | CLOSE, b"\x03\xea"), id="another goodbye"),
        pytest.param(frame(FIN | BINARY, declared=2**40), id="too large"),
        pytest.param(frame(FIN | PING, masked=False), id="not masked"),
        pytest.param(b"\xff" * 60, id="garbage"),
    ],
)
@pytest.mark.parametrize("payload", [b"", b"\x03\xe8", b"\x03\xe8" + b"so long, and thanks" * 6])
async def test_a_goodbye_is_answered_by_its_code_whatever_follows(
    server: Listener, payload: bytes, after: bytes
) -> None:
    """In one piece with it: nothing after a goodbye is looked at."""
    client = await RawClient.open(server.port)
    (peer,) = server.peers
    client.writer.write(frame(FIN | CLOSE, payload) + after)
    assert await client.receive() == (CLOSE, b"\x03\xe8")
    assert (await peer.closed).code == (1000 if payload else 1005)
    await client.end()


OPENING = (
    b"GET /mfp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
LIKE_A_GOODBYE = b"\x89\x84" + bytes(4) + b"\x88\x80\x88\x80"
"""A ping that has the first bytes of goodbyes in it."""


@pytest.mark.parametrize("cut", range(1, len(LIKE_A_GOODBYE)))
async def test_what_looks_like_a_goodbye_inside_a_frame_is_none(server: Listener, cut: int) -> None:
    """A frame that is cut at a byte like the first of a goodbye goes on there, with the opening and later."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(OPENING + LIKE_A_GOODBYE[:cut])
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    client = RawClient(reader, writer)
    (peer,) = server.peers
    link: Any = peer._link
    for _ in range(2):
        while not link._progress.unfinished:  # noqa: ASYNC110
            await asyncio.sleep(0)
        writer.write(LIKE_A_GOODBYE[cut:])
        assert await client.receive() == (PONG, LIKE_A_GOODBYE[6:])
        writer.write(LIKE_A_GOODBYE[:cut])
    await client.end()


async def test_a_goodbye_in_one_piece_with_the_opening(server: Listener) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(OPENING + frame(FIN | CLOSE, b"\x03\xe8") + b"\xff" * 60)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    assert await RawClient(reader, writer).close_code() == 1000
    writer.close()
