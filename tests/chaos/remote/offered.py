"""The worker of this chaos: a function salted by row that writes down every execution."""

import os
import time
from hashlib import blake2b
from pathlib import Path

import framehub

worker = framehub.Worker(processes=2)
_notes: list[int] = []


def salted_by(row: int) -> int:
    """What ``salted`` gives for a row, known without calling it."""
    return int.from_bytes(blake2b(b"row %d" % row, digest_size=7).digest(), "big")


@worker.function
def salted(row: int) -> int:
    """A number that only this row has."""
    if not _notes:
        path = Path(os.environ["FOLDER"], f"executions-{os.getpid()}")
        _notes.append(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    os.write(_notes[0], b"%d %d\n" % (row, time.time_ns()))
    time.sleep(0.0002)
    return salted_by(row)
