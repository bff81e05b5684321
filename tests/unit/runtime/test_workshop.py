"""Queries through a workshop of real children."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from itertools import chain
from pathlib import Path
from random import Random

import pytest

from framehub import File
from framehub.errors import ConfigError
from framehub.runtime.backoff import Backoff
from framehub.runtime.functionset import FunctionSet
from framehub.runtime.workdone import CANCELLED
from framehub.runtime.workshop import Workshop

from . import workfunctions
from .working import SOURCE, Bench, Died, kill, lives, until, value


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.stop()


async def test_results_come_back_each_to_its_own_query(bench: Bench) -> None:
    await bench.make(2).start()
    found = await asyncio.gather(*(bench.call("square", number) for number in range(500)))
    assert found == [number * number for number in range(500)]
    found = await asyncio.gather(*(bench.call("square_later", number) for number in range(500)))
    assert found == [number * number for number in range(500)]
    assert await bench.call("plus", [2.5]) == 3.5
    assert await bench.call("plus", 2, 3) == 5
    assert (bench.shop.running, bench.shop.waiting, bench.shop.respawns) == (0, 0, 0)


async def test_failures_are_texts_and_their_child_lives_on(bench: Bench) -> None:
    await bench.make().start()
    child = await bench.call("pid")
    assert (await bench.outcome("fail", "no such thing")).error == "ValueError: no such thing"
    assert (await bench.outcome("fail_later", "too late")).error == "ValueError: too late"
    assert (await bench.outcome("exit_politely", 3)).error == "SystemExit: 3"
    assert (await bench.outcome("exit_later")).error == "SystemExit: 3"
    assert (await bench.outcome("cancel_itself")).error == "CancelledError"
    assert (await bench.outcome("square", "x")).error.startswith("bad argument: x: ")
    assert (await bench.outcome("square_later", "x")).error.startswith("bad argument: x: ")
    assert (await bench.outcome("square", b"{")).error.startswith("bad argument: ")
    assert (await bench.outcome("opaque")).error.startswith("bad result: ")
    assert await bench.call("pid") == child


async def test_a_result_over_the_limit_is_refused_where_it_was_made(bench: Bench) -> None:
    await bench.make(max_message_bytes=1000).start()
    assert (await bench.outcome("many", 1000)).result == b"x" * 1000
    want = "bad result: 1001 bytes are over the limit of 1000 (setting max_message_bytes)"
    assert (await bench.outcome("many", 1001)).error == want


@pytest.mark.parametrize("name", ["size", "size_later"])
async def test_arguments_and_results_of_any_size(bench: Bench, name: str) -> None:
    await bench.make().start()
    sizes = [0, 1, 98_303, 98_304, 98_305, 3_000_000, 1, 5_000_000, 2]
    assert await asyncio.gather(*(bench.call(name, bytes(size)) for size in sizes)) == sizes
    assert [len((await bench.outcome("many", size)).result or b"") for size in sizes] == sizes


async def test_files_go_through_a_child(bench: Bench) -> None:
    await bench.make().start()
    function = workfunctions.functions["reversed_file"]
    outcome = await bench.outcome("reversed_file", function.write(File(b"abc", "a.txt", "text/plain")))
    assert function.read(outcome.result or b"")[0] == (File(b"cba", "a.txt", "text/plain"),)


async def test_coroutines_run_at_once_in_one_child(bench: Bench) -> None:
    await bench.make().start()
    found = await asyncio.gather(*(bench.call("meet", 100) for _ in range(100)))
    assert len(found) == 100
    assert len(set(found)) == 1


async def test_a_plain_function_does_not_stop_coroutines_beside_it(bench: Bench, tmp_path: Path) -> None:
    await bench.make().start()
    bench.submit("spin", str(tmp_path / "begun"))
    await until((tmp_path / "begun").exists)
    assert await bench.call("square_later", 7) == 49


@pytest.mark.parametrize(
    ("name", "argument"), [("leave", 0), ("leave", 7), ("kill_self", 9), ("kill_self", 11)]
)
async def test_only_what_had_begun_dies_with_a_child(bench: Bench, name: str, argument: int) -> None:
    await bench.make().start()
    await asyncio.gather(*(bench.call("square", 1) for _ in range(50)))  # so that it is given many ahead
    _, fatal = bench.submit(name, argument)
    others = [bench.submit("square", number)[1] for number in range(50)]
    with pytest.raises(Died):
        await fatal
    assert [value(await other) for other in others] == [number * number for number in range(50)]
    assert bench.shop.respawns == 1


async def test_kill_9_from_outside_is_a_death_of_what_runs(bench: Bench, tmp_path: Path) -> None:
    shop = bench.make()
    await shop.start()
    _, plain = bench.submit("sleep_on", str(tmp_path / "plain"))
    _, coroutine = bench.submit("wait_long", str(tmp_path / "coroutine"))
    await until(lambda: (tmp_path / "plain").exists() and (tmp_path / "coroutine").exists())
    assert (shop.running, shop.waiting) == (2, 0)
    kill(shop.pids, signal.SIGKILL)
    with pytest.raises(Died):
        await plain
    with pytest.raises(Died):
        await coroutine
    assert await bench.call("square", 3) == 9


async def test_nothing_waits_behind_a_long_call(bench: Bench, tmp_path: Path) -> None:
    """The child that runs it has been given more, which another one does."""
    shop = bench.make(2)
    await shop.start()
    await bench.all_ready(3)
    await asyncio.gather(*(bench.call("square", 1) for _ in range(200)))
    go = tmp_path / "go"
    _, long = bench.submit("wait_for", str(tmp_path / "begun"), str(go))
    others = [bench.submit("square", number)[1] for number in range(100)]
    assert [value(await other) for other in others] == [number * number for number in range(100)]
    assert not long.done()
    go.touch()
    assert value(await long) in shop.pids


async def test_what_one_long_call_holds_up_is_given_to_the_next_child(bench: Bench, tmp_path: Path) -> None:
    """With one child only, until it is killed: nothing but the long call is lost."""
    shop = bench.make()
    await shop.start()
    await asyncio.gather(*(bench.call("square", 1) for _ in range(200)))
    wid, long = bench.submit("spin", str(tmp_path / "begun"))
    others = [bench.submit("square", number)[1] for number in range(20)]
    await until((tmp_path / "begun").exists)
    await until(lambda: shop.waiting == 20)
    shop.cancel(wid)
    assert await long == CANCELLED
    assert [value(await other) for other in others] == [number * number for number in range(20)]


async def test_a_function_stuck_in_c_with_the_gil_stops_nobody_else(bench: Bench, tmp_path: Path) -> None:
    shop = bench.make(2, cancel_grace=0.05)
    await shop.start()
    await bench.all_ready(3)
    wid, stuck = bench.submit("backtrack", str(tmp_path / "begun"))
    await until((tmp_path / "begun").exists)
    for name in ("square", "square_later"):
        found = await asyncio.gather(*(bench.call(name, number) for number in range(50)))
        assert found == [number * number for number in range(50)]
    shop.cancel(wid)
    assert await stuck == CANCELLED


async def test_cancel(bench: Bench, tmp_path: Path) -> None:
    shop = bench.make(cancel_grace=0.05)
    await shop.start()
    child = await bench.call("pid")
    begun = tmp_path / "begun"
    wid, coroutine = bench.submit("wait_long", str(begun))
    await until(begun.exists)
    shop.cancel(wid)
    assert await coroutine is not None
    assert coroutine.result() == CANCELLED
    assert not begun.exists()  # it could clean up
    assert await bench.call("pid") == child

    wid, plain = bench.submit("spin", str(begun))
    waiting, dropped = bench.submit("square", 2)
    _, kept = bench.submit("square", 3)
    await until(begun.exists)
    shop.cancel(waiting)
    shop.cancel(waiting)
    shop.cancel(b"unknown")
    assert await dropped == CANCELLED
    shop.cancel(wid)
    assert await plain == CANCELLED
    assert value(await kept) == 9
    assert await bench.call("pid") != child
    assert bench.broken == []


async def test_a_coroutine_that_does_not_heed_is_left_alone_with_its_child(
    bench: Bench, tmp_path: Path
) -> None:
    shop = bench.make(cancel_grace=0.05)
    await shop.start()
    child = await bench.call("pid")
    begun, go = str(tmp_path / "begun"), tmp_path / "go"
    wid, coroutine = bench.submit("stay", begun, str(go))
    await until(Path(begun).exists)
    shop.cancel(wid)
    assert await coroutine == CANCELLED
    await until(Path(begun + ".told").exists)
    assert shop.running == 1
    go.touch()
    await until(lambda: shop.running == 0)
    assert await bench.call("pid") == child
    assert len(bench.outcomes) == 3  # its result was thrown away


async def test_a_blocked_event_loop_is_ended_and_loses_only_what_it_had_begun(
    bench: Bench, tmp_path: Path
) -> None:
    shop = bench.make(cancel_grace=0.05)
    await shop.start()
    wid, blocking = bench.submit("block_loop", str(tmp_path / "begun"))
    await until((tmp_path / "begun").exists)
    others = [bench.submit("square_later", number)[1] for number in range(10)]
    shop.cancel(wid)
    assert await blocking == CANCELLED
    assert [value(await other) for other in others] == [number * number for number in range(10)]


async def test_coroutines_go_where_an_event_loop_runs(bench: Bench, tmp_path: Path) -> None:
    await bench.make(2).start()
    await bench.all_ready(3)
    bench.submit("block_loop", str(tmp_path / "begun"))
    await until((tmp_path / "begun").exists)
    found = await asyncio.gather(*(bench.call("square_later", number) for number in range(50)))
    assert found == [number * number for number in range(50)]


@pytest.mark.parametrize("name", ["spin_briefly", "wait_briefly", "stay_briefly"])
async def test_max_runtime_ends_endless_functions(bench: Bench, tmp_path: Path, name: str) -> None:
    await bench.make(cancel_grace=0.05).start()
    arguments = [str(tmp_path / "begun")] + [str(tmp_path / "never")] * (name == "stay_briefly")
    outcome = await bench.outcome(name, *arguments)
    assert outcome.error == "timeout: took longer than its max_runtime of 0.05 s"
    assert await bench.call("square", 2) == 4
    assert bench.shop.respawns == (name != "wait_briefly")


async def test_what_a_killed_function_had_started_is_killed_with_it(bench: Bench, tmp_path: Path) -> None:
    shop = bench.make(cancel_grace=0.01)
    await shop.start()
    marker = tmp_path / "pid"
    wid, future = bench.submit("with_grandchild", str(marker))
    await until(marker.exists)
    grandchild = int(marker.read_text())
    assert lives(grandchild)
    shop.cancel(wid)
    assert await future == CANCELLED
    await until(lambda: not lives(grandchild))


async def test_stop_tells_what_was_never_begun_and_what_was_cut_off(tmp_path: Path) -> None:
    bench = Bench()
    shop = bench.make()
    await shop.start()
    running, _ = bench.submit("spin", str(tmp_path / "begun"))
    await until((tmp_path / "begun").exists)
    coroutine, _ = bench.submit("wait_long", str(tmp_path / "too"))
    await until((tmp_path / "too").exists)
    waiting = [bench.submit("square", number)[0] for number in range(10)]
    pids = shop.pids
    told: list[list[bytes]] = []
    left = await shop.stop(0.01, on_waiting=told.append)
    assert left.waiting == told[0] == waiting
    assert sorted(left.cut_off) == sorted([running, coroutine])
    assert not any(map(lives, pids))
    assert await shop.stop(0) == ([], [])
    with pytest.raises(ValueError, match="stopping"):
        bench.submit("square", 1)


async def test_stop_waits_for_what_runs(tmp_path: Path) -> None:
    bench = Bench()
    shop = bench.make()
    await shop.start()
    go = tmp_path / "go"
    _, running = bench.submit("wait_for", str(tmp_path / "begun"), str(go))
    await until((tmp_path / "begun").exists)
    asyncio.get_running_loop().call_later(0.01, go.touch)
    assert await shop.stop(30) == ([], [])
    assert running.done()


async def test_what_cannot_be_asked_is_refused(bench: Bench) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        bench.make(0)
    shop = bench.make()
    await shop.start()
    with pytest.raises(KeyError):
        shop.submit(b"1", "unheard", b"")
    future = bench.submit("square", 2)[1]
    with pytest.raises(ValueError, match="here already"):
        shop.submit(b"\0" * 16, "square", b"2")
    assert value(await future) == 4


async def test_a_listener_that_fails_is_no_reason_to_stop(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[bytes] = []

    def listener(wid: bytes, _outcome: object) -> None:
        heard.append(wid)
        raise RuntimeError("mine")

    shop = Workshop(
        SOURCE, workfunctions.functions, processes=1, on_outcome=listener, on_died=lambda wids: None
    )
    await shop.start()
    shop.submit(b"1", "square", b"2")
    shop.submit(b"2", "square", b"2")
    await until(lambda: len(heard) == 2)
    assert "a callback of the workshop failed" in caplog.text
    await shop.stop(1)


async def test_a_set_without_functions_starts_nothing_that_can_be_asked() -> None:
    bench = Bench()
    functions = FunctionSet()
    shop = bench.make(functions=functions)
    await shop.start()
    assert await shop.stop(0) == ([], [])


@pytest.mark.parametrize("seed", range(2))
async def test_nothing_is_lost_or_done_twice_however_many_children_are_killed(
    bench: Bench, tmp_path: Path, seed: int
) -> None:
    """Kill -9 of a child again and again, cancellations among it: a ledger of every query."""
    shop = bench.make(3, cancel_grace=0.05, backoff=Backoff(first=0.01, most=0.05))
    await shop.start()
    random, ledger = Random(seed), str(tmp_path / "ledger")
    deaths: Counter[int] = Counter()
    cancelled: set[int] = set()
    kills = 0

    async def ask(number: int) -> None:
        while True:
            wid, future = bench.submit(random.choice(("noted", "noted_later")), ledger, number)
            if random.random() < 0.02:
                shop.cancel(wid)
                cancelled.add(number)
            try:
                outcome = await future
            except Died:
                deaths[number] += 1
                continue
            if outcome != CANCELLED:
                assert value(outcome) == number * number
            return

    async def ask_many(first: int) -> int:
        number = first
        # Where every kill hit a child that had not begun anything, on a slow machine, there is more to do.
        while number < first + 60 or not deaths:
            await ask(number)
            number += 1
        return number

    asking = asyncio.gather(*(ask_many(100_000 * first) for first in range(50)))
    while not asking.done():
        await asyncio.sleep(0.02 if kills < 40 else 0.5)
        if shop.pids and (kills < 40 or not deaths):
            os.kill(random.choice(shop.pids), signal.SIGKILL)
            kills += 1
    asked = [range(100_000 * first, end) for first, end in enumerate(await asking)]
    ran = Counter(int(line) for line in Path(ledger).read_text().splitlines())  # noqa: ASYNC240
    for number in chain(*asked):
        assert ran[number] <= 1 + deaths[number]
        assert ran[number] >= 1 or number in cancelled
    assert kills > 5
