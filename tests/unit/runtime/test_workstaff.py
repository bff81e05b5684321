"""Children that die are replaced, sooner or later."""

import asyncio
import errno
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.runtime import workstaff
from framehub.runtime.backoff import Backoff
from framehub.runtime.functionset import FunctionSet
from framehub.runtime.workhand import Hand
from framehub.runtime.workstaff import how

from .working import Bench, Died, lives, until


def own() -> FunctionSet:
    functions = FunctionSet()

    def pid() -> int:
        return os.getpid()

    functions.add(pid)
    return functions


SCRIPT = """
import os
from pathlib import Path
from typing import Any
from framehub.runtime.functionset import FunctionSet
functions = FunctionSet()
@functions.add
def pid() -> int: return os.getpid()
if Path("{flag}").exists(): {trouble}
"""


async def test_the_first_child_must_start(tmp_path: Path) -> None:
    bench = Bench()
    script = tmp_path / "script.py"
    script.write_text("\n\n1 / 0\n")
    shop = bench.make(2, str(script), functions=own())
    with pytest.raises(ConfigError, match=r"script\.py: fails at .*script\.py:3: ZeroDivisionError"):
        await shop.start()
    assert shop.pids == []
    script.write_text("import os; os._exit(9)")
    shop = bench.make(1, str(script), functions=own())
    with pytest.raises(ConfigError, match="ended while it was starting: exit code 9"):
        await shop.start()
    assert bench.broken == []


async def test_a_module_that_breaks_later_is_tried_again_until_it_is_mended(tmp_path: Path) -> None:
    bench, script, flag = Bench(), tmp_path / "script.py", tmp_path / "flag"
    script.write_text(SCRIPT.format(flag=flag, trouble="1 / 0"))
    shop = bench.make(1, str(script), functions=own(), backoff=Backoff(first=0.01, most=0.02))
    await shop.start()
    flag.touch()
    os.kill(shop.pids[0], signal.SIGKILL)
    await until(lambda: len(bench.broken) > 1)
    assert "ZeroDivisionError" in bench.broken[0]
    _, waiting = bench.submit("pid")
    flag.unlink()
    assert (await waiting).result == b"%d" % shop.pids[0]
    await bench.stop()


async def test_who_dies_young_is_replaced_later_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []

    class Patient(Backoff):
        def longest(self, tries: int) -> float:
            delays.append(super().longest(tries))
            return 0.0

    bench = Bench()
    shop = bench.make(backoff=Patient(first=0.1, most=5.0))
    await shop.start()
    for _ in range(3):
        with pytest.raises(Died):
            await bench.outcome("leave", 1)
    await bench.call("pid")
    assert delays[0] == 0.1
    monkeypatch.setattr(workstaff, "YOUNG", 0.0)
    with pytest.raises(Died):
        await bench.outcome("leave", 1)
    await bench.call("pid")
    assert delays[-1] == 0.1
    assert shop.respawns == 4
    await bench.stop()


async def test_when_no_process_can_be_started_it_is_said_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    shop = bench.make(backoff=Backoff(first=0.01, most=0.02))
    await shop.start()

    def refuse(*_: object) -> Hand:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(workstaff, "Hand", refuse)
    with pytest.raises(Died):
        await bench.outcome("leave", 1)
    await until(lambda: len(bench.broken) > 1)
    assert bench.broken[0].startswith("no process can be started: [Errno 11]")
    monkeypatch.undo()
    assert await bench.call("square", 2) == 4
    await bench.stop()


async def test_when_not_all_processes_can_be_started_at_first_it_is_said_and_the_others_are_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench, hands = Bench(), list[Hand]()

    def only_one(*args: Any) -> Hand:
        if hands:
            raise OSError(errno.EMFILE, "Too many open files")
        hands.append(Hand(*args))
        return hands[0]

    monkeypatch.setattr(workstaff, "Hand", only_one)
    with pytest.raises(ConfigError, match=r"no process can be started: .*Too many open files"):
        await bench.make(2).start()
    assert not lives(hands[0].pid)


async def test_a_start_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    bench, script = Bench(), tmp_path / "script.py"
    script.write_text("import time; time.sleep(600)")
    shop = bench.make(2, str(script), functions=own())
    starting = asyncio.ensure_future(shop.start())
    await until(lambda: len(shop.pids) == 2)
    pids = shop.pids
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not any(map(lives, pids))


def test_the_end_of_a_process_in_words() -> None:
    assert [how(code) for code in (0, 7, -9, -63)] == [
        "exit code 0",
        "exit code 7",
        "signal SIGKILL",
        "signal 63",
    ]
