"""Passes of an event loop: who comes too late in one."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from framehub.codes import ErrorCode
from framehub.mfp.settings import Settings
from framehub.runtime import turn
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.turn import FEW, SHORTER, Turn, turns_of

LONG = 0.03


async def pass_on() -> None:
    """Let the event loop begin its next pass."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_a_few_always_have_their_turn_and_the_rest_while_there_is_time() -> None:
    turn = Turn(asyncio.get_running_loop())
    assert not any(turn.is_over(0.0) for _ in range(FEW))
    assert not turn.is_over(60.0)
    time.sleep(0.001)  # noqa: ASYNC251
    assert turn.is_over(0.0)
    assert turn.refused == 1
    await pass_on()
    assert not turn.is_over(0.0)


async def test_passes_are_short_where_the_event_loop_has_no_rest() -> None:
    turn = Turn(asyncio.get_running_loop())

    async def one_pass(seconds: float) -> bool:
        for _ in range(FEW):
            turn.is_over(1.0)
        time.sleep(seconds)  # noqa: ASYNC251
        is_over = turn.is_over(2 * LONG)
        await pass_on()
        return is_over

    assert not await one_pass(LONG)
    for _ in range(60):  # nothing else was done for more than a second
        await one_pass(LONG)
    assert await one_pass(LONG)
    assert 2 * LONG / SHORTER < LONG
    assert not turn.is_over(LONG)
    time.sleep(LONG)  # noqa: ASYNC251
    assert turn.is_over(LONG)  # one had its turn, and that took all the time there is
    await pass_on()
    while turn._load > 0.5:  # a rest, however slow the machine
        await asyncio.sleep(0.2)
        await one_pass(0.0)
    assert not await one_pass(LONG)


async def test_all_of_one_event_loop_share_its_turns() -> None:
    loop = asyncio.get_running_loop()
    assert turns_of(loop) is turns_of(loop)


async def ends_of(app: Endpoints, count: int) -> list[str]:
    client, _ = pair(theirs=app, settings=Settings(busy_after=LONG))
    before = turns_of(asyncio.get_running_loop()).refused
    replies = await asyncio.gather(*(client.request("it", raise_on_error=False) for _ in range(count)))
    ends = [reply.error["code"] if reply.is_error else "answered" for reply in replies]
    assert turns_of(asyncio.get_running_loop()).refused - before == ends.count(ErrorCode.BUSY)
    return ends


async def test_plain_handlers_that_take_too_long_leave_the_rest_unbegun() -> None:
    app, begun = Endpoints(), []

    @app.on("it")
    def slow(call: Call) -> None:
        begun.append(call)
        time.sleep(LONG)

    ends = await ends_of(app, 30)
    assert set(ends) == {"answered", ErrorCode.BUSY}
    assert ends.count("answered") == len(begun) >= FEW


async def test_so_do_coroutines() -> None:
    app, begun = Endpoints(), []

    @app.on("it")
    async def slow(call: Call) -> None:
        begun.append(call)
        time.sleep(LONG)  # noqa: ASYNC251

    ends = await ends_of(app, 30)
    assert set(ends) == {"answered", ErrorCode.BUSY}
    assert ends.count("answered") == len(begun) >= FEW


async def test_the_log_says_who_kept_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = Endpoints()

    @app.on("block")
    def block(_call: Call) -> None:
        time.sleep(LONG)

    @app.on("busy")
    async def busy(_call: Call) -> None:
        time.sleep(LONG)  # noqa: ASYNC251

    @app.on("quick")
    def quick(_call: Call) -> None: ...

    client, _ = pair(theirs=app, settings=Settings())
    await client.request("block")
    await pass_on()
    assert caplog.messages == []  # it was not long
    monkeypatch.setattr(turn, "LONG", LONG)
    await client.request("block")
    await client.request("block")  # told already
    await client.request("busy")
    await pass_on()
    assert [message.replace("the event loop for 0.0 s", "it") for message in caplog.messages] == [
        "handler 'block' kept it: make it async, or a function of a worker",
        "handler 'busy' kept it: have it await what takes so long, or make it a function of a worker",
    ]


async def test_where_several_had_their_turn_all_are_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(turn, "LONG", 0.0)
    one = Turn(asyncio.get_running_loop())
    for asked in ("b", "a", "b"):
        one.is_over(1.0, SimpleNamespace(endpoint=asked))
    one.is_over(1.0, ValueError("no envelope"))
    await pass_on()
    assert caplog.messages == ["handlers '(raw)', 'a', 'b' kept the event loop for 0.0 s: make it quicker"]


async def test_handlers_that_wait_keep_nobody_waiting() -> None:
    app = Endpoints()

    @app.on("it")
    async def patient(call: Call) -> None:
        await asyncio.sleep(LONG)

    assert set(await ends_of(app, 100)) == {"answered"}
