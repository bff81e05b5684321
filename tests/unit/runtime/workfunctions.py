"""Functions, good and bad, that the tests of workshops run in children: each child runs this file."""

# ruff: noqa: ASYNC110, ASYNC240
import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import framehub
from framehub.runtime.functionset import FunctionSet

functions = FunctionSet()
add = functions.add


def square(x: int) -> int:
    return x * x


def plus(a: float, b: float = 1.0) -> float:
    return a + b


def fail(message: str) -> None:
    raise ValueError(message)


def leave(code: int) -> None:
    os._exit(code)


def exit_politely(code: int) -> None:
    sys.exit(code)


def kill_self(number: int) -> None:
    os.kill(os.getpid(), number)


def pid() -> int:
    return os.getpid()


def spin(marker: str) -> None:
    Path(marker).touch()
    while True:
        pass


def sleep_on(marker: str) -> None:
    Path(marker).touch()
    while True:
        time.sleep(60)


def wait_for(marker: str, other: str) -> int:
    """Say that it runs, until another file is there."""
    Path(marker).touch()
    while not Path(other).exists():
        time.sleep(0.001)
    return os.getpid()


def backtrack(marker: str) -> bool:
    Path(marker).touch()
    return re.match(r"(a+)+$", "a" * 64 + "b") is not None


def with_grandchild(marker: str) -> None:
    started = subprocess.Popen(["sleep", "600"])
    Path(marker).with_suffix(".tmp").write_text(str(started.pid))
    Path(marker).with_suffix(".tmp").rename(marker)
    started.wait()


def many(count: int) -> bytes:
    return b"x" * count


def size(data: bytes) -> int:
    return len(data)


def opaque() -> Any:
    return object()


def reversed_file(file: framehub.File) -> framehub.File:
    return framehub.File(file.data[::-1], name=file.name, type=file.type)


def disposition(number: int) -> str:
    return str(signal.getsignal(number))


def place() -> tuple[str, list[str], list[str]]:
    return str(Path.cwd()), sys.argv, sys.path


def inheritable() -> list[int]:
    """The descriptors that a program started here would have."""
    found = [int(one.name) for one in Path("/proc/self/fd").iterdir() if one.exists()]
    return sorted(one for one in found if os.get_inheritable(one))


def noted(path: str, x: int) -> int:
    """The square of x; that it ran stands in a file, as often as it did."""
    with Path(path).open("ab", buffering=0) as file:
        file.write(b"%d\n" % x)
    return x * x


async def noted_later(path: str, x: int) -> int:
    result = noted(path, x)
    await asyncio.sleep(0.001)
    return result


async def square_later(x: int) -> int:
    await asyncio.sleep(0)
    return x * x


_here = 0


async def meet(count: int) -> int:
    """Wait until so many are here at once."""
    global _here  # noqa: PLW0603
    _here += 1
    while _here < count:
        await asyncio.sleep(0)
    return os.getpid()


async def wait_long(marker: str) -> None:
    Path(marker).touch()
    try:
        await asyncio.sleep(600)
    finally:
        Path(marker).unlink()


async def stay(marker: str, other: str) -> int:
    """Bear any number of cancellations, until another file is there."""
    Path(marker).touch()
    while not Path(other).exists():
        try:
            await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            Path(marker + ".told").touch()
    return 1


async def block_loop(marker: str) -> None:
    Path(marker).touch()
    while True:
        pass


async def cancel_itself() -> None:
    raise asyncio.CancelledError


async def stop_generating() -> None:
    raise GeneratorExit


async def fail_later(message: str) -> None:
    await asyncio.sleep(0)
    raise ValueError(message)


async def size_later(data: bytes) -> int:
    return len(data)


async def exit_later() -> None:
    sys.exit(3)


for plain in (
    square, plus, fail, leave, exit_politely, kill_self, pid, spin, sleep_on, wait_for, backtrack,
    with_grandchild, opaque, reversed_file, disposition, square_later, meet, wait_long, stay, block_loop,
    cancel_itself, fail_later, exit_later,
    stop_generating, place, inheritable, noted, noted_later,
):  # fmt: skip
    add(plain)
add(many, coders=("json", "bytes"))
add(size, coders=("bytes", "json"))
add(size_later, coders=("bytes", "json"))
add(spin, name="spin_briefly", max_runtime=0.05)
add(wait_long, name="wait_briefly", max_runtime=0.05)
add(stay, name="stay_briefly", max_runtime=0.05)
