"""The same interface as ``Workshop``, in threads: one looping thread must not outlive its test."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from framehub.errors import ConfigError
from framehub.runtime import workthreads
from framehub.runtime.functionset import FunctionSet
from framehub.runtime.workdone import CANCELLED

from .working import Bench, until, value


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.stop()


async def test_results_and_failures(bench: Bench) -> None:
    shop = bench.make_threads(2, max_message_bytes=1000)
    await shop.start()
    for name in ("square", "square_later"):
        found = await asyncio.gather(*(bench.call(name, number) for number in range(300)))
        assert found == [number * number for number in range(300)]
    assert (await bench.outcome("fail", "no")).error == "ValueError: no"
    assert (await bench.outcome("fail_later", "no")).error == "ValueError: no"
    assert (await bench.outcome("exit_politely", 3)).error == "SystemExit: 3"
    assert (await bench.outcome("cancel_itself")).error == "CancelledError"
    assert (await bench.outcome("many", 1001)).error.startswith("bad result: 1001 bytes")
    assert (await bench.outcome("square", "x")).error.startswith("bad argument: ")
    assert (shop.alive, shop.running, shop.waiting, shop.respawns, shop.pids) == (2, 0, 0, 0, [])


async def test_a_cancelled_function_runs_on_but_nobody_waits(bench: Bench, tmp_path: Path) -> None:
    shop = bench.make_threads(1)
    await shop.start()
    go = tmp_path / "go"
    wid, running = bench.submit("wait_for", str(tmp_path / "begun"), str(go))
    waiting, dropped = bench.submit("square", 2)
    _, kept = bench.submit("square", 3)
    await until((tmp_path / "begun").exists)
    assert (shop.running, shop.waiting) == (1, 2)
    shop.cancel(waiting)
    shop.cancel(waiting)
    shop.cancel(b"unknown")
    assert await dropped == CANCELLED
    shop.cancel(wid)
    assert await running == CANCELLED
    assert value(await kept) == 9
    assert (shop.abandoned, shop.respawns) == (1, 1)
    go.touch()
    await until(lambda: shop.abandoned == 0)
    assert len(bench.outcomes) == 3
    assert await bench.call("square", 4) == 16


async def test_too_many_lost_threads_are_not_replaced(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workthreads, "MOST_ABANDONED", 0)
    shop = bench.make_threads(1)
    await shop.start()
    go = tmp_path / "go"
    wid, running = bench.submit("wait_for", str(tmp_path / "begun"), str(go))
    await until((tmp_path / "begun").exists)
    shop.cancel(wid)
    assert await running == CANCELLED
    _, other = bench.submit("square", 3)
    assert shop.waiting == 1
    go.touch()
    assert value(await other) == 9
    assert shop.respawns == 0


async def test_coroutines_are_cancelled(bench: Bench, tmp_path: Path) -> None:
    shop = bench.make_threads(1)
    await shop.start()
    begun = tmp_path / "begun"
    wid, coroutine = bench.submit("wait_long", str(begun))
    await until(begun.exists)
    shop.cancel(wid)
    assert await coroutine == CANCELLED
    await until(lambda: not begun.exists())
    outcome = await bench.outcome("wait_briefly", str(begun))
    assert outcome.error == "timeout: took longer than its max_runtime of 0.05 s"
    await until(lambda: not begun.exists())


async def test_only_so_many_coroutines_run_at_once(bench: Bench, tmp_path: Path) -> None:
    shop = bench.make_threads(1)
    await shop.start()
    waiting = [bench.submit("wait_long", str(tmp_path / str(number))) for number in range(101)]
    await until(lambda: len(list(tmp_path.iterdir())) == 100)
    assert (shop.running, shop.waiting) == (100, 1)
    for wid, _ in waiting[:100]:
        shop.cancel(wid)
    await until((tmp_path / "100").exists)


async def test_stop_tells_what_was_left(tmp_path: Path) -> None:
    bench = Bench()
    shop = bench.make_threads(1)
    await shop.start()
    go = tmp_path / "go"
    running, _ = bench.submit("wait_for", str(tmp_path / "begun"), str(go))
    waiting, _ = bench.submit("square", 1)
    coroutine, _ = bench.submit("wait_long", str(tmp_path / "long"))
    await until(lambda: (tmp_path / "begun").exists() and (tmp_path / "long").exists())
    told: list[list[bytes]] = []
    left = await shop.stop(0.01, on_waiting=told.append)
    assert left.waiting == told[0] == [waiting]
    assert left.cut_off == [running, coroutine]
    assert not (tmp_path / "long").exists()
    go.touch()
    assert await shop.stop(0) == ([], [])
    with pytest.raises(ValueError, match="stopping"):
        bench.submit("square", 1)


async def test_stop_waits_for_what_runs(tmp_path: Path) -> None:
    bench = Bench()
    shop = bench.make_threads(1)
    await shop.start()
    go = tmp_path / "go"
    _, running = bench.submit("wait_for", str(tmp_path / "begun"), str(go))
    asyncio.get_running_loop().call_later(0.01, go.touch)
    assert await shop.stop(30) == ([], [])
    assert running.done()
    assert shop.alive == 0


async def test_what_cannot_be_asked_is_refused(bench: Bench) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        bench.make_threads(0)
    shop = bench.make_threads(1)
    await shop.start()
    with pytest.raises(KeyError):
        shop.submit(b"1", "unheard", b"")


async def test_it_can_be_stopped_before_it_was_started() -> None:
    shop = workthreads.ThreadWorkshop(FunctionSet(), threads=1, on_outcome=lambda wid, outcome: None)
    assert await shop.stop(0) == ([], [])
