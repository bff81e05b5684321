"""The worker: functions that take a while and write down every execution, when it begins and when it ends.

``python -m tests.chaos.rpc.jobs``; CHAOS_LOGS names the directory of the logs, one for each process.
"""

import asyncio
import os
import time
from functools import cache
from pathlib import Path

import framehub
from tests.chaos.rpc.ledger import ONCE, Ledger, argument_of, digest, result_of

worker = framehub.Worker(processes=2)


@cache
def _log(pid: int) -> Ledger:
    return Ledger(Path(os.environ["CHAOS_LOGS"]) / f"{pid}.log")


def _note(what: str, function: str, op: str, argument: str) -> None:
    pid = os.getpid()
    _log(pid).note(what, op=op, function=function, argument=argument, pid=pid, parent=os.getppid())


def _begin(function: str, op: str, seconds: float, text: str) -> str:
    argument = digest(argument_of(op, seconds, text))
    _note("began", function, op, argument)
    return argument


def _end(function: str, op: str, argument: str) -> str:
    _note("ended", function, op, argument)
    return result_of(function, op, argument)


@worker.function
def plain(op: str, seconds: float, text: str) -> str:
    argument = _begin("plain", op, seconds, text)
    time.sleep(seconds)
    return _end("plain", op, argument)


@worker.function
async def gentle(op: str, seconds: float, text: str) -> str:
    argument = _begin("gentle", op, seconds, text)
    await asyncio.sleep(seconds)
    return _end("gentle", op, argument)


@worker.function(redispatch="unacknowledged")
def once(op: str, seconds: float, text: str) -> str:
    argument = _begin(ONCE, op, seconds, text)
    time.sleep(seconds)
    return _end(ONCE, op, argument)


if __name__ == "__main__":
    worker.run()
