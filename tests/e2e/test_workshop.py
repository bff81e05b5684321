"""Programs that run their functions in children: how these find them, and how they end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAM = '''
import asyncio, sys, threading, time
from pathlib import Path
from framehub.runtime.functionset import FunctionSet
from framehub.runtime.workshop import Workshop
from framehub.runtime.worksource import main_source, stop_here

functions = FunctionSet()

def square(x: int) -> int:
    print("squaring in", __name__)
    return x * x

def spin(marker: str) -> None:
    Path(marker).touch()
    while True:
        pass

def power(marker: str) -> int:
    Path(marker).touch()
    return (7**1_000_000) ** 20_000 % 10

def wait(marker: str) -> None:
    Path(marker).touch()
    time.sleep(600)

for function in (square, spin, power, wait):
    functions.add(function)

def run() -> None:
    stop_here()
    asyncio.run(serve(*sys.argv[1:]))

async def serve(*calls: str) -> None:
    """Each call is a function and a marker; then wait for a line of stdin."""
    done = asyncio.Event()
    def on_outcome(wid, outcome):
        print("outcome", outcome.result, outcome.error, flush=True)
        done.set()
    shop = Workshop(main_source(), functions, processes=len(calls) + 1, on_outcome=on_outcome, on_died=print)
    await shop.start()
    while shop.alive <= len(calls):
        await asyncio.sleep(0.01)
    for name, marker in (call.split("=") for call in calls):
        shop.submit(name.encode(), name, b'"%s"' % marker.encode())
    while not all(Path(call.split("=")[1]).exists() for call in calls):
        await asyncio.sleep(0.01)
    shop.submit(b"1", "square", b"12")
    await done.wait()
    print("children", *shop.pids, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await shop.stop(0)
    print("stopped", flush=True)

'''
GUARDED = PROGRAM + 'if __name__ == "__main__":\n    run()\n'
UNGUARDED = PROGRAM + 'run()\nprint("after", flush=True)\n'

Start = Callable[..., tuple["subprocess.Popen[str]", list[int]]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Run a program; it and its children, which have answered something."""
    started: list[subprocess.Popen[str]] = []

    def run(*command: str) -> tuple["subprocess.Popen[str]", list[int]]:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "outcome b'144' \n", (line, process.communicate())
        return process, [int(pid) for pid in process.stdout.readline().split()[1:]]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_end(pids: list[int]) -> None:
    until = time.monotonic() + 20
    while any(map(lives, pids)):
        assert time.monotonic() < until, [pid for pid in pids if lives(pid)]
        time.sleep(0.01)


def test_a_script_with_a_guard(start: Start, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(GUARDED)
    process, pids = start("script.py")
    assert len(pids) == 1
    out, err = process.communicate("\n")
    assert out == "stopped\n"
    assert err == "squaring in __framehub_script__\n"  # what functions print is not data
    wait_for_end(pids)


def test_a_script_without_a_guard_runs_in_children_as_far_as_its_start(start: Start, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(UNGUARDED)
    process, _ = start("script")
    assert process.communicate("\n") == ("stopped\nafter\n", "squaring in __framehub_script__\n")


def test_a_module_of_a_package(start: Start, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "part.py").write_text("")
    (tmp_path / "mine" / "program.py").write_text("from . import part\n" + GUARDED)
    process, _ = start("-m", "mine.program")
    assert process.communicate("\n") == ("stopped\n", "squaring in mine.program\n")


def test_a_shell_has_no_file_to_import(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GUARDED], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "put them in a file, or run them in threads" in done.stderr


def test_functions_that_hold_the_gil_stop_neither_the_parent_nor_others(start: Start, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(GUARDED)
    process, pids = start("script.py", f"spin={tmp_path / 's'}", f"power={tmp_path / 'p'}")
    assert len(pids) == 3
    assert process.communicate("\n")[0] == "stopped\n"
    wait_for_end(pids)


def test_children_end_with_a_parent_that_is_killed(start: Start, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(GUARDED)
    calls = [f"{name}={tmp_path / name}" for name in ("spin", "power", "wait")]
    process, pids = start("script.py", *calls)
    assert len(pids) == 4
    assert all(map(lives, pids))
    process.kill()
    process.wait()
    wait_for_end(pids)


def test_ctrl_c_and_sigterm_are_for_the_parent(start: Start, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(GUARDED)
    process, pids = start("script.py", f"wait={tmp_path / 'w'}")
    for pid in pids:
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGTERM)
    assert process.communicate("\n")[0] == "stopped\n"
    wait_for_end(pids)
