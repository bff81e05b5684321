"""A terminal that is closed, and ``nohup``, which has that mean nothing."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import framehub

from .conftest import ENV, FRAMEHUB, PORTS, Cli

APP = ("--app", "framehub.gateway.sample:endpoints")
WORKER = """
import time
from pathlib import Path

import framehub

worker = framehub.Worker()


@worker.function
def slow() -> int:
    with Path("started").open("a") as file:
        file.write("once ")
    while not Path("go").exists():
        time.sleep(0.01)
    return 1
"""


@contextmanager
def started(folder: Path, *command: str, at: int = subprocess.DEVNULL) -> Iterator["subprocess.Popen[str]"]:
    """A process that is gone at the end; its stdout is ours."""
    process = subprocess.Popen(
        command, stdin=at, stdout=subprocess.PIPE, stderr=at, text=True, cwd=folder, env=ENV
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@contextmanager
def in_a_terminal(folder: Path, *args: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """``framehub ARGS`` in a terminal of its own, and the terminal."""
    terminal, its_side = os.openpty()
    plainly = ("env", "--default-signal=HUP", "setsid", "--ctty")  # the tests may run under nohup
    with started(folder, *plainly, FRAMEHUB, *args, at=its_side) as process:
        os.close(its_side)
        yield process, terminal


def ready(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ready "), line
    return line


def hang_up_children(pid: int) -> None:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert children
    for child in children:
        os.kill(int(child), signal.SIGHUP)


async def test_a_gateway_whose_terminal_is_closed_finishes_what_runs(tmp_path: Path, cli: Cli) -> None:
    with in_a_terminal(tmp_path, "serve", *PORTS, *APP, "--journal", "j") as (process, terminal):
        url = ready(process).split("mfp=")[1].split()[0]
        async with framehub.connect(url) as peer:
            asking = asyncio.create_task(peer.request("report.build", {"seconds": 0.5}))
            await peer.ping()
            os.close(terminal)
            process.send_signal(signal.SIGHUP)  # as the shell does, too
            assert (await asking).data == {"pages": 12}
            assert (await peer.closed).code == 1001
        assert await asyncio.to_thread(process.wait, 20) == 0
    assert cli("journal", "check", "j").returncode == 0


async def test_a_worker_whose_terminal_is_closed_finishes_what_runs(tmp_path: Path) -> None:
    """Its children too: a service manager sends the signal to all of its processes."""
    (tmp_path / "jobs.py").write_text(WORKER)
    with in_a_terminal(tmp_path, "serve", *PORTS, "--no-journal") as (gateway, _):
        told = dict(word.split("=", 1) for word in ready(gateway).split()[1:])
        args = ("worker", "jobs:worker", "--processes", "1", "--connect", told["workers"])
        with in_a_terminal(tmp_path, *args) as (worker, terminal):
            ready(worker)
            async with framehub.Functions(told["clients"]) as functions:
                asking = asyncio.create_task(functions.call("slow"))
                async with asyncio.timeout(20):
                    while not (tmp_path / "started").exists():  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
                hang_up_children(worker.pid)
                os.close(terminal)
                (tmp_path / "go").touch()
                assert await asking == 1
            assert await asyncio.to_thread(worker.wait, 20) == 0
    assert (tmp_path / "started").read_text() == "once "


async def test_a_gateway_under_nohup_goes_on(tmp_path: Path) -> None:
    with started(tmp_path, "nohup", FRAMEHUB, "serve", *PORTS, *APP, "--no-journal") as process:
        url = ready(process).split("mfp=")[1].split()[0]
        process.send_signal(signal.SIGHUP)
        async with framehub.connect(url) as peer:
            assert (await peer.request("stock.price", "apple")).data["cents"] == 120
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 20) == 0
