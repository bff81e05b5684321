"""What a child process of a worker runs.

    python -m framehub.runtime.workchild LINE PLAIN COROUTINES PARENT

The main thread takes one query of a plain function, runs it, answers, and takes the next (runtime/chute.py).
Coroutine functions run on an event loop in a thread of its own (runtime/workcoroutines.py). A third thread
listens to the line: when the parent is gone, this process ends at once, whatever runs in it. For functions
that hold the GIL, the kernel sees to the same.
"""

import ctypes
import io
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Final

import msgspec

from framehub.errors import ConfigError
from framehub.runtime.functionset import Function
from framehub.runtime.signals import ending
from framehub.runtime.workcoroutines import Coroutines
from framehub.runtime.workdone import Doing
from framehub.runtime.workframes import LEAVE, PACKET_BYTES, QUERY, Kind, Setup
from framehub.runtime.workphone import Payloads, Phone, exit_orphaned
from framehub.runtime.worksource import load

EXIT_BROKEN: Final = 3
"""What a child ends with when the functions cannot be found."""
_PR_SET_PDEATHSIG: Final = 1


class Child:
    """Plain functions in the main thread, the others beside it."""

    def __init__(
        self,
        plain: socket.socket,
        coroutines: socket.socket,
        phone: Phone,
        functions: Sequence[Function],
        limit: int,
    ) -> None:
        self._chute = plain
        self._phone = phone
        self._functions = functions
        self._doing = Doing(limit)
        self._payloads = Payloads()
        self._coroutines = Coroutines(coroutines, functions, self._doing, phone, self._payloads)

    def run(self) -> None:
        """Until the parent says that there is nothing more to do."""
        threading.Thread(target=self._listen, name="framehub-line", daemon=True).start()
        if any(function.is_async for function in self._functions):
            self._coroutines.start()
        self._phone.send(Kind.READY, 0)
        packet = bytearray(PACKET_BYTES)
        view = memoryview(packet)
        while True:
            size = self._chute.recv_into(packet)
            number, index, apart = QUERY.unpack_from(packet) if size else (0, LEAVE, 0)
            if index == LEAVE:
                return
            argument = self._payloads.wait(number) if apart else bytes(view[QUERY.size : size])
            outcome = self._doing.run(self._functions[index], argument)
            if outcome.result is None:
                self._phone.send(Kind.EXCEPTION, number, outcome.error.encode())
            else:
                self._phone.send(Kind.RESULT, number, outcome.result)

    def _listen(self) -> None:
        while True:
            kind, number, body = self._phone.hear()
            if kind == Kind.PAYLOAD:
                self._payloads.put(number, body)
            elif kind == Kind.FORGET:
                self._payloads.forget(number)
            elif kind == Kind.CANCEL:
                self._coroutines.cancel(number)


def die_with(parent: int) -> None:
    """The kernel kills this process when its parent dies, even while a function holds the GIL."""
    with suppress(OSError, AttributeError):  # where there is no such call, the line's end has to do
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        exit_orphaned()


def main(arguments: Sequence[str]) -> int:
    """Find the functions, then run them."""
    line, plain, coroutines, parent = map(int, arguments)
    die_with(parent)
    # Ctrl-C, a terminal's end and a service manager's SIGTERM reach the whole group: the parent decides when
    # its children end. A handler, not SIG_IGN, which the programs that functions start would inherit.
    for number in ending():
        signal.signal(number, _ignore)
    for descriptor in (line, plain, coroutines):
        os.set_inheritable(descriptor, False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    phone = Phone(socket.socket(fileno=line))
    _, _, body = phone.hear()
    setup = msgspec.json.decode(body, type=Setup)
    sys.path[:] = setup.path
    sys.argv[:] = setup.argv
    try:
        functions = load(setup.source, setup.names)
    except ConfigError as exc:
        phone.send(Kind.BROKEN, 0, str(exc).encode(errors="replace"))
        return EXIT_BROKEN
    Child(
        socket.socket(fileno=plain), socket.socket(fileno=coroutines), phone, functions, setup.max_bytes
    ).run()
    return 0


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Nothing happens."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
