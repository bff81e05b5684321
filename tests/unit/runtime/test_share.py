"""One connection's frames keep nobody waiting for long: after some of them all others have their turn."""

import asyncio
from pathlib import Path

import pytest

from framehub.mfp import codec
from framehub.mfp.frames import MessageFrame
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import listen
from framehub.runtime.share import FRAMES, LEAST_PIECE, MOST_PIECE, Share

from . import raw
from .certificates import make_tls
from .raw import FIN, RawClient

COUNT = 20_000
PAYLOAD = b'{"endpoint":"count"}'


def test_large_frames_are_read_in_large_pieces() -> None:
    share = Share()
    pieces = []
    for _ in range(6):
        share.frames += 1
        assert not share.read(share.piece)
        pieces.append(share.piece)
    assert pieces == [8 * 1024, 16 * 1024, 32 * 1024, MOST_PIECE, MOST_PIECE, MOST_PIECE]


def test_small_frames_are_read_in_small_pieces() -> None:
    share = Share()
    share.read(LEAST_PIECE)
    share.frames += 128
    share.read(share.piece)
    assert share.piece == 2 * LEAST_PIECE
    share.frames += 129
    share.read(share.piece)
    assert share.piece == LEAST_PIECE


def test_a_piece_that_was_not_filled_tells_nothing() -> None:
    share = Share()
    share.frames += 1
    share.read(LEAST_PIECE - 1)
    assert share.piece == LEAST_PIECE


def test_a_turn_has_so_many_frames() -> None:
    share = Share()
    share.frames += FRAMES - 1
    assert not share.read(10)
    share.frames += 1
    assert share.read(10)
    assert share.frames == 0
    share.frames += 1
    assert not share.read(10)


@pytest.mark.parametrize("scheme", ["ws", "wss", "unix"])
async def test_between_the_frames_of_one_connection_others_have_their_turn(
    scheme: str, tmp_path: Path
) -> None:
    """All frames are there at once; nothing else may wait for more than a few hundred of them."""
    app = Endpoints()
    taken = 0

    @app.on("count")
    def count(_call: Call) -> None:
        nonlocal taken
        taken += 1

    url = f"unix://{tmp_path}/socket" if scheme == "unix" else f"{scheme}://localhost:0/mfp"
    tls = make_tls("localhost") if scheme == "wss" else None
    async with listen(url, app, ssl=tls.server if tls else None) as server:
        if scheme == "unix":
            _, writer = await asyncio.open_unix_connection(tmp_path / "socket")
        else:
            writer = (await RawClient.open(server.port, ssl=tls.client if tls else None)).writer
        messages = [codec.encode(MessageFrame(id=id_, payload=PAYLOAD)) for id_ in range(1, COUNT + 1)]
        if scheme != "unix":
            framed = [raw.frame(FIN | raw.BINARY, message) for message in messages]
        else:
            framed = [len(message).to_bytes(4, "big") + message for message in messages]
        writer.write(b"".join(framed))
        passes = []
        async with asyncio.timeout(60):
            while taken < COUNT:
                before = taken
                await asyncio.sleep(0)
                passes.append(taken - before)
        writer.transport.abort()
    assert max(passes) <= FRAMES + LEAST_PIECE // len(framed[0]) + 1
