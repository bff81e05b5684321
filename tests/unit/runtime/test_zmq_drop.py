"""The rest of a message of too many parts: thrown away at once, and not a part more."""

import ctypes
import sys
from collections.abc import Callable, Iterator

import pytest
import zmq

from framehub.runtime.zmq_drop import QUICKER, Drop, compiled, plain, quickest
from framehub.runtime.zmq_inbox import Inbox
from framehub.runtime.zmq_setup import Options

KINDS = [pytest.param(plain, 1, id="plain"), pytest.param(compiled, QUICKER, id="compiled")]
Pair = tuple[zmq.Socket[bytes], zmq.Socket[bytes]]
Kind = Callable[[zmq.Socket[bytes]], Drop]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A router and a dealer that is connected to it."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router, context.socket(zmq.DEALER) as dealer:
        port = router.bind_to_random_port("tcp://127.0.0.1")
        dealer.linger = 0
        dealer.connect(f"tcp://127.0.0.1:{port}")
        yield router, dealer


@pytest.mark.parametrize(("kind", "speed"), KINDS)
def test_all_that_is_left_goes_and_what_is_behind_stays(kind: Kind, speed: int, pair: Pair) -> None:
    router, dealer = pair
    dealer.send_multipart([b"x" * 40_000] * 9 + [b"y"])
    dealer.send(b"after")
    router.recv()
    drop = kind(router)
    assert drop(100) == (-(-10 // speed), False)
    assert router.recv_multipart()[1:] == [b"after"]


@pytest.mark.parametrize(("kind", "speed"), KINDS)
def test_no_more_goes_than_there_is_time_for(kind: Kind, speed: int, pair: Pair) -> None:
    router, dealer = pair
    dealer.send_multipart([b"x"] * (2 * speed) + [b"y"])
    router.recv()
    drop = kind(router)
    assert [drop(1), drop(1), drop(1)] == [(1, True), (1, True), (1, False)]


@pytest.mark.parametrize(("kind", "speed"), KINDS)
def test_where_nothing_is_there_is_nothing_to_throw_away(kind: Kind, speed: int, pair: Pair) -> None:
    del speed
    with pytest.raises(zmq.Again):
        kind(pair[0])(1)


def test_without_a_compiler_pyzmq_does_it(monkeypatch: pytest.MonkeyPatch, pair: Pair) -> None:
    assert quickest(pair[0]).__qualname__ == compiled(pair[0]).__qualname__
    monkeypatch.setitem(sys.modules, "framehub.runtime._dropping", None)
    monkeypatch.delattr("framehub.runtime._dropping", raising=False)
    assert quickest(pair[0]).__qualname__ == plain(pair[0]).__qualname__


def test_where_the_functions_are_not_found_pyzmq_does_it(monkeypatch: pytest.MonkeyPatch, pair: Pair) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _path: object())
    assert quickest(pair[0]).__qualname__ == plain(pair[0]).__qualname__


def test_a_message_of_many_parts_takes_few_turns(pair: Pair) -> None:
    """All other peers of a router wait for its end."""
    router, dealer = pair
    dealer.send_multipart([b"A"] * 300_000)
    dealer.send(b"after")
    inbox = Inbox(router, Options(), has_identities=True, has_keys=False)
    router.poll(20_000)
    turns = flooders = 0
    messages: list[list[bytes]] = []
    while not messages and router.poll(20_000):
        batch, _ = inbox.take()
        messages += batch
        flooders += len(inbox.flooders)
        turns += 1
    assert [message[1:] for message in messages] == [[b"after"]]
    assert flooders == 1
    assert turns <= 300_000 // (QUICKER * Options().turn_parts) + 3
