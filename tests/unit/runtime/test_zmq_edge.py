"""Turns in the event loop: one when something may be there, none while paused, another if more is left."""

import asyncio
from collections.abc import Iterator

import pytest
import zmq

from framehub.runtime.zmq_edge import Edge

from .zmq_peers import until


@pytest.fixture
def pair() -> Iterator[tuple[zmq.Socket[bytes], zmq.Socket[bytes]]]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    left, right = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    left.bind("inproc://edge")
    right.connect("inproc://edge")
    yield left, right
    left.close(0)
    right.close(0)
    context.term()


class Taker:
    """Takes ``most`` messages a turn."""

    def __init__(self, socket: zmq.Socket[bytes], most: int = 10) -> None:
        self.got: list[bytes] = []
        self.turns = 0
        self._most = most
        self._socket = socket

    def turn(self) -> bool:
        self.turns += 1
        try:
            for _ in range(self._most):
                self.got.append(self._socket.recv(zmq.NOBLOCK))
        except zmq.Again:
            return False
        return True


Pair = tuple[zmq.Socket[bytes], zmq.Socket[bytes]]


async def test_what_was_there_before_is_taken(pair: Pair) -> None:
    pair[0].send(b"early")
    taker = Taker(pair[1])
    edge = Edge(pair[1], taker.turn)
    await until(lambda: taker.got == [b"early"])
    pair[0].send(b"late")
    await until(lambda: taker.got == [b"early", b"late"])
    edge.pause()


async def test_who_is_not_done_has_another_turn(pair: Pair) -> None:
    taker = Taker(pair[1], most=1)
    edge = Edge(pair[1], taker.turn)
    for _ in range(5):
        pair[0].send(b"x")
    await until(lambda: len(taker.got) == 5)
    assert taker.turns >= 5
    edge.pause()


async def test_many_who_say_soon_are_one_turn(pair: Pair) -> None:
    taker = Taker(pair[1])
    edge = Edge(pair[1], taker.turn)
    await until(lambda: taker.turns)
    turns = taker.turns
    for _ in range(5):
        edge.soon()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert taker.turns == turns + 1
    edge.pause()


async def test_no_turns_while_paused(pair: Pair) -> None:
    taker = Taker(pair[1])
    edge = Edge(pair[1], taker.turn)
    edge.pause()
    edge.pause()
    edge.soon()
    pair[0].send(b"x")
    await asyncio.sleep(0.02)
    assert taker.turns == 0
    edge.resume()
    edge.resume()
    await until(lambda: taker.got == [b"x"])
    edge.pause()


async def test_a_turn_that_fails_is_followed_by_another(pair: Pair) -> None:
    raised: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: raised.append(context["exception"])
    )
    taker = Taker(pair[1])

    def turn() -> bool:
        if len(raised) < 3:
            raise ValueError
        return taker.turn()

    edge = Edge(pair[1], turn)
    pair[0].send(b"x")
    await until(lambda: taker.got == [b"x"])
    assert len(raised) == 3
    edge.pause()
