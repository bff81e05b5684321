"""Recorded acts done again against a real listener: order, endings, and what is compared."""

import asyncio

import pytest

from framehub.codes import Service
from framehub.journal.compared import Count
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.mfp import envelope
from framehub.mfp.frames import MessageFrame, ResponseFrame, ServiceFrame
from framehub.mfp.settings import Settings
from framehub.runtime import replay
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import listen
from tests.unit.console.rows import CLIENT, Script, at

from .replaying import (
    Do,
    Place,
    chunk,
    exchange,
    opening,
    say,
    sent_to,
)
from .streaming import until


async def test_what_came_after_an_answer_waits_for_it(do: Do, place: Place) -> None:
    script = Script()
    for number in (1, 2):
        script.request(0, id_=number, exchange=exchange(number))
    for number in (1, 2):
        script.respond(0, exchange=exchange(number))
    script.request(0, id_=3, exchange=exchange(3))
    script.respond(0, exchange=exchange(3))
    tally = await do(script)
    assert tally.counts == {"nap": Count(3, 3, 0, 0)}
    assert [what for what, _ in place.seen] == ["nap", "nap", "woke", "woke", "nap", "woke"]


async def test_each_recorded_link_is_a_connection(do: Do, place: Place) -> None:
    script = Script()
    for name in (CLIENT, b"another-"):
        script.mfp = LinkRows(name, 7)
        script.request(0, exchange=exchange(1, name))
        script.respond(0, exchange=exchange(1, name))
        script.request(0, id_=2, exchange=exchange(2, name))
        script.respond(0, exchange=exchange(2, name))
        script.rows.append(script.mfp.closed(at(1), 1000, ""))
    assert (await do(script)).total == Count(4, 4, 0, 0)
    assert len(set(place.links)) == 2


async def test_another_answer_is_a_difference(do: Do) -> None:
    script = Script()
    script.request(0)
    say(script, OUT, ResponseFrame(id=2, ref=1, payload=envelope.encode("nap", "ill")))
    script.request(0, "nobody", id_=3, exchange=exchange(2))
    say(script, OUT, ServiceFrame(id=4, code=Service.TIMEOUT, ref=3), 2)
    tally = await do(script)
    assert tally.total == Count(2, 0, 2, 0)
    assert [(one.name, one.was.text, one.was.kind, one.now.kind) for one in tally.differences] == [
        ("nap", '{"data":"ill"}', "answer", "answer"),
        ("nobody", "", "timeout", "error"),
    ]


async def test_a_request_that_was_given_up_is_given_up(do: Do, place: Place) -> None:
    script = Script()
    script.request(0, "wait")
    script.request(0, "nap", id_=2, exchange=exchange(2))
    script.respond(0, exchange=exchange(2))
    say(script, IN, ServiceFrame(id=3, code=Service.ABORT, ref=1, own=True))
    tally = await do(script)
    assert tally.counts == {"wait": Count(1, 0, 0, 1), "nap": Count(1, 1, 0, 0)}
    await until(lambda: place.seen == ["waits", ("nap", 3), ("woke", 3), "given up"])


async def test_no_answer_in_time_then_and_now(do: Do) -> None:
    script = Script()
    script.request(0, "wait")
    say(script, OUT, ServiceFrame(id=3, code=Service.TIMEOUT, ref=1))
    assert (await do(script, timeout=0.1)).total == Count(1, 1, 0, 0)


async def test_an_answer_that_was_never_recorded_is_not_compared(do: Do) -> None:
    script = Script()
    script.request(0)
    assert (await do(script)).total == Count(1, 0, 0, 1)


async def test_a_stream_goes_chunk_by_chunk(do: Do, place: Place) -> None:
    script = Script()
    say(script, IN, opening(), endpoint="upload")
    chunks = [chunk(b"a", 5), chunk(b"b"), chunk(b"c", 6), chunk(b"end", final=True)]
    for frame in chunks:
        say(script, IN, frame)
    assert (await do(script)).counts == {"upload": Count(1, 1, 0, 0)}
    assert place.seen == [(5, b"a"), (None, b"b"), (6, b"c"), (None, b"end"), "whole"]


async def test_more_chunks_than_may_wait(do: Do, place: Place) -> None:
    script = Script()
    say(script, IN, opening(), endpoint="upload")
    for number in range(100):
        say(script, IN, chunk(b"x", number, final=number == 99))
    assert (await do(script)).total == Count(1, 1, 0, 0)
    assert place.seen == [*((number, b"x") for number in range(100)), "whole"]


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_stream_without_an_end_is_given_up(do: Do, place: Place, is_told: bool) -> None:
    script = Script()
    say(script, IN, opening(), endpoint="upload")
    say(script, IN, chunk(b"a", 5))
    if is_told:
        say(script, IN, ServiceFrame(id=3, code=Service.ABORT, ref=1, own=True))
    script.rows.append(script.mfp.closed(at(9), 1000, ""))
    assert (await do(script)).total == Count(1, 0, 0, 1)
    await until(lambda: place.seen == [(5, b"a"), "broken"])


def refused_stream(name: str) -> Script:
    script = Script()
    say(script, IN, opening(name), endpoint=name)
    say(script, IN, chunk(b"a", 5))
    say(script, OUT, ServiceFrame(id=3, code=Service.ABORT, ref=1))
    script.request(5, id_=9, exchange=exchange(2))
    script.respond(6, exchange=exchange(2))
    return script


async def test_a_stream_that_is_refused_then_and_now(do: Do) -> None:
    tally = await do(refused_stream("full"))
    assert tally.counts == {"full": Count(1, 1, 0, 0), "nap": Count(1, 1, 0, 0)}


async def test_a_stream_that_is_refused_only_then_or_only_now_may_be_so_by_chance(
    do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "_SOON", 0.1)
    tally = await do(refused_stream("upload"))
    assert tally.counts == {"upload": Count(1, 0, 0, 1), "nap": Count(1, 1, 0, 0)}
    whole = Script()
    say(whole, IN, opening("full"), endpoint="full")
    for number in range(50):
        say(whole, IN, chunk(b"a", number, final=number == 49))
    assert (await do(whole)).total in (Count(1, 0, 0, 1), Count(1, 1, 0, 0))


async def test_nothing_overtakes_a_stream_that_was_opened(do: Do, place: Place) -> None:
    script = Script()
    for number in (1, 3):
        message = MessageFrame(id=number, payload=envelope.encode("nap", number), need_ack=True)
        say(script, IN, message, number, endpoint="nap")
        if number == 1:
            say(
                script,
                IN,
                MessageFrame(id=2, payload=envelope.encode("noted"), streaming=True),
                2,
                endpoint="noted",
            )
    say(script, IN, chunk(b"", final=True), 2)
    await do(script)
    begun = [one for one in place.seen if one in (("nap", 1), "noted", ("nap", 3))]
    assert begun == [("nap", 1), "noted", ("nap", 3)]


async def test_as_slowly_as_it_was_recorded(do: Do) -> None:
    loop = asyncio.get_running_loop()
    script = Script()
    script.request(0)
    script.respond(1)
    script.request(400, id_=2, exchange=exchange(2))
    script.respond(401, exchange=exchange(2))
    began = loop.time()
    await do(script, speed=2)
    assert loop.time() - began >= 0.2


async def test_a_message_that_is_too_big_there() -> None:
    script = Script()
    say(script, IN, MessageFrame(id=1, payload=envelope.encode("nap", 1), need_ack=True), endpoint="nap")
    big = MessageFrame(id=2, payload=envelope.encode("nap", "x" * 5_000))
    say(script, IN, big, 2, endpoint="nap")
    async with listen(
        "ws://127.0.0.1:0/mfp", Endpoints(), settings=Settings(max_payload_bytes=1_000)
    ) as made:
        tally = await sent_to(made.url, script)
    assert tally.total == Count(2, 1, 1, 0)
    assert [(one.was.kind, one.now.kind) for one in tally.differences] == [("taken", "not sent")]
