"""What a child does in its own process; that the whole works is shown by test_workshop."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from framehub.runtime import workchild
from framehub.runtime.workchild import Child
from framehub.runtime.workframes import LEAVE, QUERY, Kind
from framehub.runtime.workphone import EXIT_ORPHANED, Phone

from . import workfunctions
from .working import Bench

FUNCTIONS = [workfunctions.functions[name] for name in ("square", "fail", "size")]


class Deaf(Phone):
    """Hears three frames; then its thread waits, instead of ending this process with the line."""

    left = 3

    def hear(self) -> tuple[int, int, bytes]:
        if not self.left:
            threading.Event().wait()
        self.left -= 1
        return super().hear()


def test_plain_functions_run_one_after_the_other_until_it_is_to_leave() -> None:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    other, unused = socket.socketpair()
    ours, theirs = socket.socketpair()
    with near, far, ours, theirs, other, unused:
        parent = Phone(ours)
        near.send(QUERY.pack(1, 0, 0) + b"12")
        near.send(QUERY.pack(2, 1, 0) + b'"no"')
        near.send(QUERY.pack(3, 2, 1))
        near.send(QUERY.pack(0, LEAVE, 0))
        parent.send(Kind.PAYLOAD, 9, b"unneeded")
        parent.send(Kind.FORGET, 9)
        parent.send(Kind.PAYLOAD, 3, bytes(200_000))
        Child(far, unused, Deaf(theirs), FUNCTIONS, 1000).run()
        assert [parent.hear() for _ in range(4)] == [
            (Kind.READY, 0, b""),
            (Kind.RESULT, 1, b"144"),
            (Kind.EXCEPTION, 2, b"ValueError: no"),
            (Kind.RESULT, 3, b"200000"),
        ]


async def test_a_child_is_like_its_parent() -> None:
    bench = Bench()
    await bench.make().start()
    assert await bench.call("place") == [str(Path.cwd()), sys.argv, sys.path]
    for number in (signal.SIGINT, signal.SIGTERM):
        assert "_ignore" in await bench.call("disposition", number)
        await bench.call("kill_self", number)
    assert await bench.call("inheritable") == [0, 1, 2]
    await bench.stop()


def test_a_child_of_nobody_ends_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "framehub.runtime.workchild", "0", "1", "2", "1"], check=False
    )
    assert done.returncode == EXIT_ORPHANED


def test_where_the_kernel_offers_no_signal_the_line_has_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoLibrary:
        def __init__(self, _: None) -> None:
            raise OSError

    monkeypatch.setattr(ctypes, "CDLL", NoLibrary)
    workchild.die_with(os.getppid())
