"""What the measured processes share: orders come on stdin, answers go to stdout, one line of JSON each.

Standard library only: peers run it in environments that have nothing of ours. A process ends when its stdin
does, so none outlives a benchmark that was stopped.
"""

import asyncio
import json
import os
import resource
import sys
import threading
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, TypeAlias

Order: TypeAlias = dict[str, Any]
Call: TypeAlias = Callable[[], Awaitable[object]]


async def serving(port: int | str) -> None:
    """Say where, then serve until stdin ends."""
    print(port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    _leave()


async def obey(act: Callable[[Order], Awaitable[dict[str, Any]]]) -> None:
    """Say that we are ready, then do what each line of stdin orders."""
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await act(json.loads(line))), flush=True)
    _leave()


def obey_at_once(act: Callable[[Order], dict[str, Any]]) -> None:
    """As ``obey``, for those without an event loop."""
    print("ready", flush=True)
    while line := sys.stdin.readline():
        print(json.dumps(act(json.loads(line))), flush=True)
    _leave()


def serve_at_once(where: str, serve: Callable[[], object]) -> None:
    """As ``serving``, for those without an event loop."""

    def watch() -> None:
        sys.stdin.read()
        _leave()

    threading.Thread(target=watch, daemon=True).start()
    print(where, flush=True)
    serve()


def _leave() -> None:
    """At once: there is nothing to tidy up, and with ten thousand connections tidying takes long."""
    os._exit(0)


async def drive(call: Call, order: Order) -> dict[str, Any]:
    """Keep ``flight`` calls going for ``seconds``; how many were made in what time."""
    began = perf_counter()
    until = began + order["seconds"]
    done = 0

    async def one() -> None:
        nonlocal done
        while perf_counter() < until:
            await call()
            done += 1

    await asyncio.gather(*(one() for _ in range(order["flight"])))
    return {"calls": done, "seconds": perf_counter() - began}


def raise_file_limit() -> int:
    """As many files as this process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
