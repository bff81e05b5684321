"""Sealing in a process of its own (spec/journal.md, section 6).

A segment of some size takes a second of CPU time, and as much memory as it has bytes, to seal. On a thread of
the process that writes the journal a low priority makes it worse: while the thread waits for a core it may
hold the interpreter's lock, and everybody waits with it.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from framehub.errors import JournalError
from framehub.journal.seal import seal
from framehub.journal.segments import load_node, parquet_path

Pace: TypeAlias = Literal["idle", "hurry", "stop"]
"""Only while nobody else wants the core; at a low priority; not at all any more."""

LOOK_SECONDS: Final = 0.25
"""How long another pace takes to be noticed."""
_NICE: Final = 10
_PARENT: Final = "FRAMEHUB_SEALS_FOR"
_PR_SET_PDEATHSIG: Final = 1
_REFUSED: Final = 3
"""How it ends when it says why."""


class Apart(OSError):
    """There was no other process to do it, or it ended before it was done. The segment is as it was."""


def seal_apart(segment: Path, pace: Callable[[], Pace]) -> bool:
    """Have another process seal it, and wait until that is done; false if it was told to stop before.

    ``pace`` is asked again and again: who has begun slowly begins anew when it has to hurry.

    Raises:
        JournalError: it said why not; the segment is as it was.
        Apart: nobody did it.
    """
    asked = pace()
    while asked != "stop":
        process = _start(segment, asked)
        while True:
            try:
                _, said = process.communicate(timeout=LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                before, asked = asked, pace()
                if asked == "stop" or (before, asked) == ("idle", "hurry"):
                    break
                continue
            _judge(segment, process.returncode, said)
            return True
        process.kill()
        process.communicate()
        if _is_sealed(segment):
            return True  # just then
    return False


def _start(segment: Path, pace: Pace) -> "subprocess.Popen[str]":
    if not sys.executable:
        raise Apart("there is no interpreter to start")
    paths = [path or os.getcwd() for path in sys.path if isinstance(path, str)]  # noqa: PTH109
    try:
        return subprocess.Popen(  # noqa: S603  # ourselves
            [sys.executable, "-P", "-m", __name__, str(segment.absolute()), pace],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), _PARENT: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            process_group=0,  # a Ctrl-C is not for it; in a session of its own its priority means nothing
        )
    except OSError as exc:
        raise Apart(f"no process can be started: {exc.strerror or exc}") from exc


def _judge(segment: Path, code: int, said: str) -> None:
    words = said.strip().splitlines()
    if code == _REFUSED:
        raise JournalError(words[-1] if words else f"{segment}: not sealed")
    if not _is_sealed(segment):  # whatever the code: where nobody may wait for children, it is always 0
        raise Apart(f"ended with {code}" + (f": {words[-1]}" if words else ""))


def _is_sealed(segment: Path) -> bool:
    return not segment.exists() and parquet_path(segment.parent, int(segment.stem)).exists()


def main() -> int:
    """Seal the segment that was named."""
    _end_with(int(os.environ[_PARENT]))
    segment = Path(sys.argv[1])
    with suppress(OSError):
        os.nice(_NICE)
        if sys.argv[2] == "idle":
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        node = load_node(segment.parent)
        if node is None:
            raise JournalError(f"{segment}: there is no journal around it")
        seal(segment, node=node.name, salt=node.salt)
    except JournalError as exc:
        print(exc, file=sys.stderr)
        return _REFUSED
    return 0


def _end_with(parent: int) -> None:
    """Nobody seals for a writer that is gone: the next one may have begun with the same segment."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
