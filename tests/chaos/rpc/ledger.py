"""Append-only files of what happened, one JSON object a line, each on the disk before the next thing happens.

Times are of the monotonic clock, in nanoseconds: the same for all processes of a machine.
"""

import json
import os
import threading
from hashlib import sha256
from pathlib import Path
from time import monotonic_ns
from typing import Any, Final, TypeAlias

Record: TypeAlias = dict[str, Any]

ONCE: Final = "once"
"""The function that may never be run twice."""
FUNCTIONS: Final = ("plain", "gentle", ONCE)


class Ledger:
    """One file; several processes may have one each."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()

    def note(self, what: str, **about: Any) -> None:
        """Write a line, with the time, and wait until the disk has it."""
        with self._lock:
            line = json.dumps({"what": what, "time": monotonic_ns(), **about})
            os.write(self._file, line.encode() + b"\n")
            os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def read(path: Path) -> list[Record]:
    """All lines; one without its end was never written."""
    whole = path.read_bytes()
    return [json.loads(line) for line in whole[: whole.rfind(b"\n") + 1].splitlines()]


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def argument_of(op: str, seconds: float, text: str) -> bytes:
    """The argument as it stands on the wire."""
    return json.dumps([op, seconds, text], separators=(",", ":")).encode()


def result_of(function: str, op: str, argument: str) -> str:
    """What a function gives, from the digest of its argument."""
    return f"{function} {op} {argument}"
