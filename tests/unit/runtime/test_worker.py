import asyncio
import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError, IncompatibleSpecs, RemoteFunctionError
from framehub.runtime import functionset
from framehub.runtime.functions import Functions
from framehub.runtime.worker import Worker
from framehub.runtime.worksource import ChildHasSeenEnough
from tests.unit.runtime.rpc_parts import proxy, serving, until

worker = Worker(processes=2, drain=20)


@worker.function
def square(x: int) -> int:
    """The square of x."""
    return x * x


@worker.function(name="pid")
def my_pid() -> int:
    return os.getpid()


@worker.function
def die() -> None:
    os._exit(7)


SOURCE = f"{__name__}:worker"


async def test_functions_run_in_processes_of_their_own_and_their_death_is_survived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """[RPC-5.4.7]"""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3]))
    async with proxy() as ours, Functions(ours.clients_address, timeout=30) as functions:
        ready = asyncio.Event()
        task = asyncio.ensure_future(
            worker.serve(ours.workers_address, source=SOURCE, on_ready=lambda _a: ready.set())
        )
        await asyncio.wait_for(ready.wait(), 30)
        assert await functions.call("square", 12) == 144
        assert await functions.call("pid") != os.getpid()
        with pytest.raises(RemoteFunctionError, match="poison"):
            await functions.call("die")
        assert await functions.call("square", 3) == 9
        worker.stop()
        await asyncio.wait_for(task, 30)
        await until(lambda: not ours.machine.registry.workers)


async def test_what_runs_is_finished_and_what_waits_is_given_back_when_it_stops() -> None:
    """[RPC-5.4.5] [RPC-5.4.6]"""
    began: list[str] = []

    def make(name: str) -> Worker:
        made = Worker(threads=1, drain=20)

        @made.function
        async def slow(number: int) -> str:
            began.append(name)
            await asyncio.get_running_loop().run_in_executor(None, gate.wait)
            return name

        return made

    gate = threading.Event()
    async with (
        proxy() as ours,
        Functions(ours.clients_address, timeout=30) as functions,
        serving(make("first"), ours.workers_address) as first,
    ):
        call = asyncio.ensure_future(functions.call("slow", 1))
        await until(lambda: began)
        async with serving(make("second"), ours.workers_address):
            first.stop()
            await until(lambda: sum(w.leaving for w in ours.machine.registry.workers.values()))
            other = asyncio.ensure_future(functions.call("slow", 2))
            await until(lambda: len(began) == 2)
            gate.set()
            assert (await call, await other) == ("first", "second")


async def test_a_worker_that_is_refused_says_so_and_ends() -> None:
    """[RPC-5.1.7]"""
    one, other = Worker(threads=1), Worker(threads=1)
    one.function(name="f")(_text)
    other.function(name="f", coders=("Int", "Int"))(_number)
    async with proxy() as ours, serving(one, ours.workers_address):
        with pytest.raises(IncompatibleSpecs, match="other workers offer it as json -> json"):
            await asyncio.wait_for(other.serve(ours.workers_address), 30)


def _text(x: str) -> str:
    return x


def _number(x: int) -> int:
    return x


async def test_a_second_stop_does_not_wait() -> None:
    slow = Worker(threads=1, drain=60)

    @slow.function
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)

    async with proxy() as ours, Functions(ours.clients_address, timeout=30) as functions:
        ready = asyncio.Event()
        task = asyncio.ensure_future(slow.serve(ours.workers_address, on_ready=lambda _a: ready.set()))
        await ready.wait()
        call = asyncio.ensure_future(functions.call("sleep", 60))
        await until(lambda: ours.pending)
        slow.stop()
        await asyncio.sleep(0.1)
        assert not task.done()
        slow.stop()
        await asyncio.wait_for(task, 20)
        call.cancel()


async def test_a_worker_without_functions_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"decorate some with @worker\.function"):
        await Worker().serve()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"processes": 1, "threads": 1}, "one of the two"),
        ({"processes": 0}, "at least 1"),
        ({"threads": 0}, "at least 1"),
    ],
)
def test_numbers_that_cannot_be_are_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Worker(**wrong)


def test_nothing_starts_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functionset, "collected", [])
    with pytest.raises(ChildHasSeenEnough):
        Worker().run()


def test_stopping_what_does_not_run_is_nothing() -> None:
    Worker().stop()


def _threaded() -> Worker:
    made = Worker(threads=1)
    made.function(name="f")(_number)
    return made


async def test_it_logs_that_it_is_ready(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "framehub.worker")
    made = _threaded()
    async with proxy() as ours:
        task = asyncio.ensure_future(made.serve(ours.workers_address))
        await until(lambda: caplog.messages)
        assert caplog.messages == [f"ready workers={ours.workers_address} functions=f threads=1"]
        made.stop()
        await asyncio.wait_for(task, 20)
    assert worker.ready_line("here").startswith("ready workers=here functions=square,pid,die processes=")


async def test_it_logs_that_no_proxy_answers(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framehub.runtime.worker.PATIENCE", 0.05)
    made = _threaded()
    task = asyncio.ensure_future(made.serve("tcp://127.0.0.1:1"))
    await until(lambda: caplog.messages)
    assert caplog.messages[0].startswith("no answer from a proxy at tcp://127.0.0.1:1 yet: ")
    made.stop()
    await asyncio.wait_for(task, 20)


def test_run_lets_its_own_words_through(monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger("framehub.worker")
    monkeypatch.setattr(log, "level", logging.NOTSET)
    with pytest.raises(SystemExit, match=r"^Error: this worker has no functions"):
        Worker().run()  # a script ends with one line
    assert log.isEnabledFor(logging.INFO)


class _Shop:
    """A workshop that is never ready, or ready at once."""

    def __init__(self, *, is_ready: bool) -> None:
        self.running = 0
        self.did: list[str] = []
        self.submit = self.cancel = None
        self._is_ready = is_ready

    async def start(self) -> None:
        self.did.append("start")
        try:
            await asyncio.sleep(0 if self._is_ready else 60)
        except asyncio.CancelledError:
            self.did.append("cancelled")
            raise

    async def stop(self, _grace: float) -> None:
        self.did.append("stop")


async def test_stopping_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    made, shop = _threaded(), _Shop(is_ready=False)
    monkeypatch.setattr(made, "_shop", lambda _source, _link: shop)
    task = asyncio.ensure_future(made.serve("tcp://127.0.0.1:1"))
    await until(lambda: shop.did)
    made.stop()
    await asyncio.wait_for(task, 20)
    assert shop.did == ["start", "cancelled"]


async def test_a_bad_address_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    made, shop = _threaded(), _Shop(is_ready=True)
    monkeypatch.setattr(made, "_shop", lambda _source, _link: shop)
    with pytest.raises(ConfigError, match="cannot connect"):
        await made.serve("nowhere")
    assert shop.did == ["start", "stop"]
