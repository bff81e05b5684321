"""The event loop of a child, here in a thread of the test."""

import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from framehub.runtime.workcoroutines import Coroutines
from framehub.runtime.workdone import Doing
from framehub.runtime.workframes import QUERY, Kind
from framehub.runtime.workphone import Payloads, Phone

from . import workfunctions

FUNCTIONS = list(workfunctions.functions.values())
NAMES = list(workfunctions.functions)


class Parent:
    def __init__(self) -> None:
        self.near, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line, self._line = socket.socketpair()
        self.payloads = Payloads()
        self.coroutines = Coroutines(self._far, FUNCTIONS, Doing(1000), Phone(line), self.payloads)
        self.sockets = (self.near, self._far, line, self._line)
        self.phone = Phone(self._line)

    def put(self, number: int, name: str, argument: bytes | None) -> None:
        packet = QUERY.pack(number, NAMES.index(name), argument is None)
        self.near.send(packet + (argument or b""))


@pytest.fixture
def parent() -> Iterator[Parent]:
    made = Parent()
    made.coroutines.start()
    yield made
    made.near.close()
    made.coroutines.stop()
    made.coroutines.join(10)
    for each in made.sockets:
        each.close()


def test_many_at_once(parent: Parent) -> None:
    for number in range(20):
        parent.put(number, "square_later", b"%d" % number)
    heard = sorted(parent.phone.hear() for _ in range(20))
    assert heard == [(Kind.RESULT, number, b"%d" % number**2) for number in range(20)]


def test_an_argument_that_comes_apart(parent: Parent) -> None:
    parent.put(1, "size_later", None)
    parent.payloads.put(1, bytes(200_000))
    assert parent.phone.hear() == (Kind.RESULT, 1, b"200000")


def test_failures(parent: Parent) -> None:
    parent.put(1, "fail_later", b'"no"')
    assert parent.phone.hear() == (Kind.EXCEPTION, 1, b"ValueError: no")
    parent.put(2, "cancel_itself", b"null")
    assert parent.phone.hear() == (Kind.EXCEPTION, 2, b"CancelledError")
    parent.put(3, "stop_generating", b"null")
    assert parent.phone.hear() == (Kind.EXCEPTION, 3, b"GeneratorExit")


def test_cancelling(parent: Parent, tmp_path: Path) -> None:
    parent.put(1, "wait_long", msgspec.json.encode(str(tmp_path / "begun")))
    while not (tmp_path / "begun").exists():
        pass
    parent.coroutines.cancel(77)
    parent.coroutines.cancel(1)
    assert parent.phone.hear() == (Kind.TOLD, 1, b"")
    assert parent.phone.hear() == (Kind.CANCELLED, 1, b"")
