"""A gateway and workers as processes, for tests of the commands about remote functions."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from .conftest import ENV, FRAMEHUB, FREE

JOBS = '''
import asyncio
import pathlib
import time

import framehub

worker = framehub.Worker()
empty = framehub.Worker()
number = 5


@worker.function
def square(x: int) -> int:
    """The square of x.

    Of whole numbers only.
    """
    return x * x


@worker.function
def add(a: float, b: float = 1.0) -> float:
    return a + b


@worker.function
def hello() -> str:
    return "hello"


@worker.function
def fail(text: str) -> None:
    raise ValueError(text)


@worker.function
async def wait_for(name: str) -> str:
    """Until a file is there; says so in files."""
    started = pathlib.Path(f"{name}.started")
    started.touch()
    try:
        while not pathlib.Path(name).exists():
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        pathlib.Path(f"{name}.cancelled").touch()
        raise
    return "found"


@worker.function
def cut(picture: framehub.File, size: int = 4) -> framehub.File:
    return framehub.File(picture.data[:size], f"small-{picture.name}", picture.type)


@worker.function
def album(title: str, pictures: list[framehub.File]) -> tuple[dict[str, int], list[framehub.File]]:
    return {picture.name: len(picture.data) for picture in pictures}, pictures


@worker.function(coders=("bytes", "bytes"))
def reverse(data: bytes) -> bytes:
    return data[::-1]


@worker.function(coders=("arrow", "arrow"))
def same(table: object) -> object:
    return table


@worker.function(coders=("Pair<Int, Int>", "Long"), redispatch="unacknowledged", max_runtime=5)
def multiply(a: int, b: int) -> int:
    return a * b


@worker.function(coders=("msgpack", "msgpack"))
def repeat(blob: bytes, times: int = 1) -> dict[str, bytes]:
    return {"blob": blob * times}
'''


class Places(dict[str, str]):
    """What a ready line names."""

    def __init__(self, line: str) -> None:
        assert line.startswith("ready "), line
        super().__init__(word.split("=", 1) for word in line.split()[1:])


class Hub:
    """Starts processes in a folder, and ends them all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *args: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        return self._start(FRAMEHUB, *args, env=env)

    def start_python(self, *args: str) -> "subprocess.Popen[str]":
        return self._start(sys.executable, *args)

    def _start(self, *words: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**ENV, **(env or {})},
        )
        self.started.append(process)
        return process

    def gateway(self, *args: str) -> Places:
        ports = (word for one in ("listen", "services", "clients", "workers") for word in (f"--{one}", FREE))
        return Places(read_line(self.start("serve", *ports, "--admin", "off", *args)))

    def worker(self, address: str, *args: str) -> tuple["subprocess.Popen[str]", Places]:
        process = self.start("worker", "jobs:worker", "--connect", address, *args)
        return process, Places(read_line(process))


HubT = TypeVar("HubT", bound=Hub)


def read_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline() or str(process.communicate())


@contextmanager
def hub(folder: Path) -> Iterator[Hub]:
    (folder / "jobs.py").write_text(JOBS)
    with ended(Hub(folder)) as made:
        yield made


@contextmanager
def ended(made: HubT) -> Iterator[HubT]:
    """End all that it started."""
    try:
        yield made
    finally:
        for process in reversed(made.started):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()
