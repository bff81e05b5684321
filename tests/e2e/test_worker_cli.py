"""``framehub worker`` as a process: it says when it is ready, waits for the proxy, and goes away in order."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .calling import Hub, hub, read_line
from .conftest import Cli
from .test_functions_cli import wait_until

UNGUARDED = """
import framehub

worker = framehub.Worker()


@worker.function
def f() -> int:
    return 1


worker.run()
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Hub]:
    with hub(tmp_path) as made:
        yield made


@pytest.mark.parametrize("how", [["--processes", "1"], ["--threads", "2"]])
def test_sigterm_waits_for_what_runs_and_says_so(house: Hub, how: list[str]) -> None:
    told = house.gateway("--no-journal")
    worker, ready = house.worker(told["workers"], *how)
    assert ready["workers"] == told["workers"]
    assert ready["functions"].startswith("square,add,")
    assert ready[how[0].removeprefix("--")] == how[1]
    asking = house.start("call", "wait_for", '"later"', "--connect", told["clients"])
    wait_until(house.folder / "later.started")
    worker.send_signal(signal.SIGTERM)
    assert worker.stderr is not None
    assert worker.stderr.readline() == "stopping: waiting up to 30 s for 1 running; Ctrl-C again does not\n"
    assert worker.poll() is None
    (house.folder / "later").touch()
    assert asking.communicate(timeout=20) == ('"found"\n', "")
    assert worker.wait(20) == 0


def test_a_second_ctrl_c_does_not_wait(house: Hub) -> None:
    told = house.gateway("--no-journal")
    worker, _ = house.worker(told["workers"], "--processes", "1")
    asking = house.start("call", "wait_for", '"never"', "--connect", told["clients"])
    wait_until(house.folder / "never.started")
    worker.send_signal(signal.SIGINT)
    assert worker.stderr is not None
    assert "stopping" in worker.stderr.readline()
    worker.send_signal(signal.SIGINT)
    assert worker.wait(20) == 0
    out, err = asking.communicate(timeout=40)
    assert (asking.returncode, out) == (1, "")
    assert err.startswith("Error: wait_for failed: ")


def test_it_may_be_there_before_the_proxy(house: Hub, cli: Cli) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{probe.getsockname()[1]}"
    worker = house.start("worker", "jobs:worker", "--threads", "1", "--connect", where)
    assert worker.stderr is not None
    line = worker.stderr.readline()
    assert line.startswith(f"no answer from a proxy at tcp://{where} yet: is `framehub serve` up")
    told = house.gateway("--no-journal", "--workers", where)
    assert read_line(worker).startswith(f"ready workers=tcp://{where} ")
    assert cli("call", "square", "7", "--connect", told["clients"]).stdout == "49\n"


def test_a_worker_that_does_not_fit_the_others_is_refused(house: Hub) -> None:
    told = house.gateway("--no-journal")
    house.worker(told["workers"], "--threads", "1")
    text = (
        (house.folder / "jobs.py")
        .read_text()
        .replace(
            "@worker.function\ndef square",
            """\
@worker.function(coders=("Int", "Int"))
def square""",
        )
    )
    (house.folder / "others.py").write_text(text)
    other = house.start("worker", "others:worker", "--threads", "1", "--connect", told["workers"])
    assert other.communicate(timeout=30) == (
        "",
        "Error: function 'square': other workers offer it as json -> json\n",
    )
    assert other.returncode == 1


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("nowhere:worker", "no module 'nowhere' here or installed"),
        ("jobs", "want MODULE:NAME, like jobs:worker"),
        ("jobs.py:worker", "want MODULE:NAME, like jobs:worker"),
        ("jobs:wrker", "module 'jobs' has no 'wrker'; it has worker, empty"),
        ("jobs:number", "'number' is of type int, not framehub.Worker"),
        ("jobs:empty", "this worker has no functions: decorate some with @worker.function"),
        ("unguarded:worker", 'put that under if __name__ == "__main__"'),
        ("many:worker", "many.py:3: f: a takes any number of arguments"),
    ],
)
def test_what_cannot_be_offered_is_one_line_and_exit_1(house: Hub, source: str, why: str) -> None:
    (house.folder / "unguarded.py").write_text(UNGUARDED)
    many = "import framehub\nworker = framehub.Worker()\n@worker.function\ndef f(*a): ...\n"
    (house.folder / "many.py").write_text(many)
    done = finished(house.start("worker", source))
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_processes_or_threads_but_not_both(house: Hub) -> None:
    done = finished(house.start("worker", "jobs:worker", "--processes", "1", "--threads", "1"))
    assert (done.returncode, done.stderr) == (2, "Error: --processes and --threads: give one of the two\n")


def finished(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    out, err = process.communicate(timeout=30)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
