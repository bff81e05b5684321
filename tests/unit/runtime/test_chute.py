import os
import socket
from collections.abc import Iterator

import pytest

from framehub.runtime.chute import Chute
from framehub.runtime.workframes import INLINE_BYTES, LEAVE, PACKET_BYTES, QUERY


@pytest.fixture
def chute() -> Iterator[Chute]:
    made = Chute()
    yield made
    made.close()


@pytest.fixture
def child(chute: Chute) -> Iterator[socket.socket]:
    with socket.socket(fileno=os.dup(chute.far)) as made:
        yield made


def test_a_packet_is_taken_by_the_child_or_taken_back_never_both(chute: Chute, child: socket.socket) -> None:
    for number in range(5):
        assert chute.put(number, 7, b"argument")
    assert child.recv(PACKET_BYTES) == QUERY.pack(0, 7, 0) + b"argument"
    assert child.recv(PACKET_BYTES) == QUERY.pack(1, 7, 0) + b"argument"
    assert list(chute.take_back()) == [2, 3, 4]
    assert list(chute.take_back()) == []
    assert chute.put(5, 7, b"")
    assert child.recv(PACKET_BYTES) == QUERY.pack(5, 7, 0)


def test_what_a_dead_child_left_can_be_taken_back(chute: Chute, child: socket.socket) -> None:
    chute.put(1, 7, b"")
    child.close()
    assert list(chute.take_back()) == [1]


def test_long_arguments_go_another_way(chute: Chute, child: socket.socket) -> None:
    assert chute.put(1, 7, bytes(INLINE_BYTES))
    assert child.recv(PACKET_BYTES) == QUERY.pack(1, 7, 0) + bytes(INLINE_BYTES)
    assert chute.put(2, 7, bytes(INLINE_BYTES + 1))
    assert child.recv(PACKET_BYTES) == QUERY.pack(2, 7, 1)


def test_a_full_chute_says_so_and_never_waits(chute: Chute) -> None:
    given = 0
    while chute.put(given, 7, bytes(INLINE_BYTES)):
        given += 1
    assert given > 1
    assert list(chute.take_back()) == list(range(given))


def test_the_word_to_leave_comes_after_what_is_there(chute: Chute, child: socket.socket) -> None:
    chute.put(1, 7, b"")
    chute.say_leave()
    assert QUERY.unpack(child.recv(PACKET_BYTES)) == (1, 7, 0)
    assert QUERY.unpack(child.recv(PACKET_BYTES)) == (0, LEAVE, 0)


def test_a_closed_one_takes_nothing() -> None:
    chute = Chute()
    chute.close()
    assert not chute.put(1, 7, b"")
    assert list(chute.take_back()) == []
    chute.say_leave()
