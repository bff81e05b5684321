"""Sending in turn: answers wait for room, timeouts do not, and only what went out is recorded."""

import asyncio
import traceback
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConnectionClosed, LimitExceeded, RequestTimeout
from framehub.journal.reader import read
from framehub.journal.writer import JournalWriter
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File
from framehub.runtime.listen import listen
from framehub.runtime.memory import pair
from framehub.runtime.tap import Tap
from framehub.runtime.wire import MOST_CANCELS


def blobs() -> Endpoints:
    app = Endpoints()

    @app.on("later")
    async def later(call: Call) -> str:
        await asyncio.sleep(0)
        return "x" * int(call.data)

    @app.on("now")
    def now(call: Call) -> str:
        return "x" * int(call.data)

    @app.on("count")
    def count(call: Call) -> int:
        return sum(len(file.data) for file in call.files.values())

    return app


async def test_who_asks_of_a_closed_connection_again_and_again_leaves_nothing_behind() -> None:
    client, _ = pair(theirs=blobs())
    await client.close()
    found: list[int] = []
    for _ in range(3):
        for asking in (client.request("now", 1), client.send("now", 1), client.ping()):
            with pytest.raises(ConnectionClosed) as caught:
                await asking
            found.append(len(list(traceback.walk_tb(caught.value.__traceback__))))
    assert found[:3] == found[-3:]


async def test_who_gives_up_a_crowd_of_requests_keeps_the_connection() -> None:
    """[MFP-8.2.3]"""
    app, over = blobs(), asyncio.Event()
    ended = []

    @app.on("wait")
    async def wait(_call: Call) -> None:
        try:
            await over.wait()
        finally:
            ended.append(over.is_set())

    client, server = pair(theirs=app)
    for _ in range(150):
        asking = asyncio.create_task(client.request("wait"))
        await client.request("now", 0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    await client.request("now", 0)
    assert (client.state, server.state) == ("open", "open")
    assert ended == [False] * MOST_CANCELS
    assert client.pending == 0, "nobody waits"
    over.set()
    while server.pending:
        await client.request("now", 0)
    assert ended == [False] * MOST_CANCELS + [True] * (150 - MOST_CANCELS)
    assert (await client.request("now", 3)).data == "xxx"


@pytest.mark.parametrize("endpoint", ["later", "now"])
async def test_many_large_answers_all_arrive(endpoint: str) -> None:
    async with listen("ws://127.0.0.1:0/mfp", blobs()) as server, connect(server.url) as peer:
        asking = [peer.request(endpoint, 1_000_000) for _ in range(60)]
        replies = await asyncio.gather(*asking)
    assert [len(reply.data) for reply in replies] == [1_000_000] * 60


async def test_many_large_requests_all_arrive() -> None:
    picture = File(bytes(1_000_000), "p")
    async with listen("ws://127.0.0.1:0/mfp", blobs()) as server, connect(server.url) as peer:
        replies = await asyncio.gather(*(peer.request("count", files={0: picture}) for _ in range(60)))
    assert [reply.data for reply in replies] == [1_000_000] * 60


async def test_a_peer_that_does_not_read_costs_no_more_than_the_timeout() -> None:
    client, server = pair(theirs=blobs())
    server.pause_reading()
    for _ in range(3):
        await client.send("now", "x" * 100_000)
    for doing in (
        client.request("now", 1, timeout=0.05),
        client.ping(timeout=0.05),
        client.send("now", 1, timeout=0.05),
        client.send("now", 1, ack=True, timeout=0.05),
    ):
        async with asyncio.timeout(5):
            with pytest.raises(RequestTimeout):
                await doing
    server.resume_reading()
    assert (await client.request("now", 3)).data == "xxx"


async def test_only_what_went_out_is_recorded(tmp_path: Path) -> None:
    app = Endpoints()

    @app.on("slow")
    async def slow(call: Call) -> int:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            return 1
        return 2

    with JournalWriter(tmp_path, node="n") as writer:
        client, server = pair(theirs=app, tap=Tap(writer))
        asked = asyncio.create_task(client.request("slow"))
        await client.ping()
        client._link.send(b"no frame at all")
        assert (await server.closed).code == 1002
        with pytest.raises(Exception, match="closed"):
            await asked
        await asyncio.sleep(0.1)
    rows: list[dict[str, Any]] = [row for batch in read(tmp_path) for row in batch.to_pylist()]
    assert [row["kind"] for row in rows if row["kind"] != "service"] == [
        "link_opened",
        "request",
        "refused",
        "link_closed",
    ]


async def test_an_announcement_that_cannot_be_sent_whole_is_not_begun() -> None:
    client, server = pair(theirs=blobs(), settings=Settings(max_frame_bytes=1_000))
    with pytest.raises(LimitExceeded):
        await client.announce("count", None, {0: File(b"x"), 1: File(bytes(2_000))})
    await client.ping()
    assert client.pending == server.pending == 0


async def test_an_announcement_that_is_cancelled_is_given_up() -> None:
    client, server = pair(theirs=blobs())
    telling = asyncio.create_task(
        client.announce("count", None, {n: File(bytes(200_000)) for n in range(20)}, ack=True)
    )
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    telling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await telling
    await client.ping()
    assert client.pending == server.pending == 0
