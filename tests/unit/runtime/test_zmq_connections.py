"""Whose connection is whose, by file descriptors that are given again."""

import os
import socket
import tempfile
from collections.abc import Iterator

import pytest

from framehub.runtime import zmq_connections
from framehub.runtime.zmq_connections import Connection, Connections

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname())
        there, _ = server.accept()
    with here, there:
        yield here, there


def is_cut(here: socket.socket) -> bool:
    here.settimeout(5)
    try:
        return here.recv(1) == b""
    except ConnectionResetError:
        return True


def test_bytes_that_came_are_told_and_the_connection_stays(pair: Pair) -> None:
    here, there = pair
    connections = Connections(5.0)
    connections.accepted(there.fileno(), 0.0)
    (connection,) = connections
    assert connection.received() == 0
    here.sendall(bytes(1000))
    assert there.recv(1000, socket.MSG_WAITALL) == bytes(1000)
    assert [connection.received() for _ in range(2)] == [1000, 1000]
    there.sendall(b"open")
    assert here.recv(4) == b"open"


def test_who_was_never_heard_is_ended_and_others_are_not(pair: Pair) -> None:
    here, there = pair
    number = there.fileno()
    connections = Connections(5.0)
    connections.accepted(number, 1.0)
    assert connections.end_unheard(0.5) is False
    connections.took({number: 10}, is_empty=True)
    connections.end_unheard(2.0)
    there.sendall(b"!")
    assert here.recv(1) == b"!"
    assert connections.ended(number, 3.0) is True
    connections.accepted(number, 3.0)
    connections.end_unheard(4.0)
    assert is_cut(here)
    assert connections.ended(number, 9.0) is False, "that was us"
    assert len(connections) == 0


def test_what_was_another_ones_makes_nobody_heard(pair: Pair) -> None:
    """A descriptor is given again while messages of the one before still wait."""
    here, there = pair
    number = there.fileno()
    connections = Connections(5.0)
    connections.accepted(number, 0.0)
    connections.ended(number, 1.0)
    connections.accepted(number, 1.0)
    connections.took({number: 10}, is_empty=False)
    connections.took({number: 10}, is_empty=True)
    (connection,) = connections
    assert (connection.is_heard, connection.taken) == (False, 0)
    connections.took({number: 10}, is_empty=True)
    assert (connection.is_heard, connection.taken) == (True, 10)
    here.close()


@pytest.mark.parametrize(("lived", "may_have_been_ignored"), [(4.9, False), (5.0, False), (5.1, True)])
def test_one_that_never_spoke_has_an_identity_once_its_handshake_must_be_over(
    pair: Pair, lived: float, may_have_been_ignored: bool
) -> None:
    _, there = pair
    connections = Connections(5.0)
    connections.accepted(there.fileno(), 1.0)
    assert connections.ended(there.fileno(), 1.0 + lived) is may_have_been_ignored


def test_only_so_many_are_ended_at_a_time_those_first_that_said_something(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zmq_connections, "MOST_ENDED", 1)
    here, there = pair
    connections = Connections(5.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    with silent, other:
        connections.accepted(other.fileno(), 0.0)
        connections.accepted(there.fileno(), 0.0)
        here.sendall(b"hello")
        there.recv(5)
        assert connections.end_unheard(1.0) is True
        assert is_cut(here)
        assert connections.end_unheard(1.0) is False
        assert is_cut(silent)


def test_what_has_ended_or_is_no_socket_is_left_alone(pair: Pair) -> None:
    here, there = pair
    number, inode = there.fileno(), os.fstat(there.fileno()).st_ino
    connections = Connections(5.0)
    connections.accepted(1_000_000, 0.0)
    assert len(connections) == 0
    assert connections.ended(1_000_000, 0.0) is False
    assert not Connection(1_000_000, inode, 0.0).cut()
    assert Connection(1_000_000, inode, 0.0).received() is None
    assert not Connection(number, inode + 1, 0.0).cut(), "the number is another's by now"
    with tempfile.TemporaryFile() as file:
        assert not Connection(file.fileno(), os.fstat(file.fileno()).st_ino, 0.0).cut()
        assert Connection(file.fileno(), inode, 0.0).received() is None
    there.sendall(b"open")
    assert here.recv(4) == b"open"
