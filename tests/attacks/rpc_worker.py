"""The honest worker, with functions of every temper: ``python -m tests.attacks.rpc_worker ADDRESS [KEYS]``.

``KEYS`` is the folder of CURVE keys. A line on stdout says that it can be used.
"""

import asyncio
import os
import re
import sys
import time
from pathlib import Path

import uvloop

import framehub
from framehub.runtime.curve import CurveClient, read_public, read_secret

SECRET_PLACE = "/etc/passwd"
ANSI = "\x1b[31mred\x1b[0m \x1b]0;a title\x07 bell\x07"

worker = framehub.Worker(processes=2)


@worker.function(coders=("bytes", "bytes"))
def echo(data: bytes) -> bytes:
    return data


@worker.function
def square(x: int) -> int:
    return x * x


@worker.function(coders=("Int", "Int"))
def typed(x: int) -> int:
    return x


@worker.function
async def slowly(x: int) -> int:
    """A function that many can have at once."""
    await asyncio.sleep(0.2)
    return x


@worker.function
def fail(why: str) -> None:
    raise ValueError(why)


@worker.function
def blurt(size: int) -> None:
    """Fail with what nobody should see, and much of it."""
    raise RuntimeError(f"{ANSI} in {SECRET_PLACE} and {__file__}: " + "x" * size)


@worker.function(coders=("json", "bytes"))
def enlarge(size: int) -> bytes:
    return bytes(size)


@worker.function
def die(_why: str) -> None:
    os._exit(9)


@worker.function(max_runtime=1.0)
def loop_for_ever() -> None:
    while True:
        time.sleep(0)


@worker.function(max_runtime=1.0)
def hold_the_gil() -> None:
    """One call in C that takes longer than anybody lives."""
    re.match("(a+)+$", "a" * 64 + "b")


async def serve(address: str, keys: Path | None) -> None:
    if keys is not None:
        (server,) = read_public(keys / "server.pub")
        worker.curve = CurveClient(server, read_secret(keys / "worker"))
    await worker.serve(
        address,
        source="tests.attacks.rpc_worker:worker",
        on_ready=lambda _address: print("ready", flush=True),
    )


if __name__ == "__main__":
    # As a module of its own name, so that the processes find the same.
    from tests.attacks import rpc_worker

    uvloop.run(rpc_worker.serve(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None))
