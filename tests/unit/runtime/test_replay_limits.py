"""Replaying what is much, what does not go on, and what is stopped."""

import asyncio
from functools import partial

import pytest

from framehub.codes import Service
from framehub.errors import ConnectFailed
from framehub.journal.compared import Count, Tally
from framehub.journal.mfp_rows import IN, LinkRows
from framehub.mfp.frames import ServiceFrame
from framehub.runtime import replay
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import listen
from framehub.runtime.replay import Replay
from framehub.runtime.replay_doors import MfpDoor
from tests.unit.console.rows import Script, at

from .replaying import (
    Do,
    Place,
    all_of,
    chunk,
    everything,
    exchange,
    opening,
    say,
)
from .streaming import until


async def test_no_more_links_at_once_than_that(do: Do, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MAX_LINKS", 2)
    script = Script()
    for number in range(6):
        name = f"link---{number}".encode()
        script.mfp = LinkRows(name, 7)
        script.request(0, exchange=exchange(1, name))
        script.respond(0, exchange=exchange(1, name))
    assert (await do(script)).total == Count(6, 6, 0, 0)
    assert len(set(place.links)) == 6


async def test_giving_up_often_is_slowed_down(do: Do, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_FEW", 2)
    monkeypatch.setattr(replay, "_FEW_SECONDS", 0.2)
    script = Script()
    for number in range(1, 6):
        script.request(0, "wait", id_=number, exchange=exchange(number))
        say(script, IN, ServiceFrame(id=90, code=Service.ABORT, ref=number, own=True), number)
    began = asyncio.get_running_loop().time()
    assert (await do(script)).total == Count(5, 0, 0, 5)
    assert asyncio.get_running_loop().time() - began >= 0.4


async def test_links_without_anything_to_do_take_no_room(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MAX_LINKS", 2)
    script = Script()
    script.request(0)
    for number in range(9):
        other = LinkRows(f"other--{number}".encode(), 0)
        script.rows.append(other.opened(at(1)))
    script.respond(2)
    assert (await do(script)).total == Count(1, 1, 0, 0)


async def test_links_that_leave_count_until_they_have_left(
    place: Place, do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "MAX_LINKS", 3)
    script = Script()
    for number in range(12):
        name = f"link--{number:02}".encode()
        script.mfp = LinkRows(name, 7)
        script.request(0, exchange=exchange(1, name))
        script.rows.append(script.mfp.closed(at(1), 1000, ""))
    assert (await do(script)).total == Count(12, 0, 0, 12)
    assert (place.most_open <= 3, len(set(place.links))) == (True, 12)


async def test_stopping_while_a_stream_is_given_up(place: Place) -> None:
    """A handler that reads nothing: there is no end to what is to be sent before it is given up."""
    script = Script()
    say(script, IN, opening("stuck"), endpoint="stuck")
    for number in range(200):
        say(script, IN, chunk(bytes(60_000), number))
    say(script, IN, ServiceFrame(id=3, code=Service.ABORT, ref=1, own=True))
    async with listen("ws://127.0.0.1:0/mfp", place.app) as server:
        again = Replay(partial(MfpDoor, {"url": server.url}, 60, ()), everything, Tally())
        sending = asyncio.create_task(all_of(script, again))
        await until(lambda: "stuck" in place.seen)
        await asyncio.sleep(0.3)
        sending.cancel()
        await asyncio.wait((sending,))
        await asyncio.wait_for(again.stop(), 20)
        place.go_on.set()


async def test_stopping_counts_what_was_under_way(place: Place) -> None:
    script, tally = Script(), Tally()
    script.request(0, "wait")
    async with listen("ws://127.0.0.1:0/mfp", place.app) as server:
        again = Replay(partial(MfpDoor, {"url": server.url}, 60, ()), everything, tally)
        await again.take(script.read[0])
        await until(lambda: "waits" in place.seen)
        await again.stop()
    assert tally.total == Count(1, 0, 0, 1)


async def test_nobody_there() -> None:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as server:
        url = server.url
    script = Script()
    for number in range(60):  # more than may wait
        script.request(0, id_=number + 1, exchange=exchange(number + 1))
    again = Replay(partial(MfpDoor, {"url": url}, 5, ()), everything, Tally())

    with pytest.raises(ConnectFailed):
        await all_of(script, again)
    await again.stop()


async def test_a_connection_that_is_lost_is_told_and_made_again(place: Place) -> None:
    tally = Tally()
    script = Script()
    script.request(0, "wait")
    script.respond(1)
    script.request(2, id_=2, exchange=exchange(2))
    script.respond(3, exchange=exchange(2))
    rows = script.read
    async with listen("ws://127.0.0.1:0/mfp", place.app) as first:
        again = Replay(partial(MfpDoor, {"url": first.url}, 30, ()), everything, tally)
        for row in rows[:2]:
            await again.take(row)
        await until(lambda: "waits" in place.seen)
    async with listen(first.url, place.app):
        for row in rows[2:]:
            await again.take(row)
        await again.finish()
    assert tally.counts["nap"] == Count(1, 1, 0, 0)
    assert [one.now.kind for one in tally.differences] == ["connection lost"]
