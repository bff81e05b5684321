"""Queries that a worker begins only when the proxy knows that it has them."""

import pytest

from framehub.rpc import worker
from framehub.rpc.texts import NO_WORKER, UNKNOWN_ANSWER
from tests.unit.rpc.test_worker import GOODBYE, Bench, W, X


def test_what_may_not_be_run_twice_is_begun_when_the_proxy_knows_of_it() -> None:
    """[RPC-5.4.8]"""
    bench = Bench()
    bench.given(function=b"once")
    assert bench.sent() == [[b"QUERY_RECEIVED", W]]
    assert (bench.bench.to_begin, bench.bench.holds) == ([], [W.hex()])
    assert bench.answers(11.0) == [5.0, 10.0]
    bench.said(b"QUERY_CONFIRMED", W, now=11.0)
    bench.said(b"QUERY_CONFIRMED", W, now=11.0)
    assert bench.bench.to_begin == [(W, "once", b"a")]
    assert bench.answers(30.0) == []
    bench.bench.finished(W, result=b"r", now=30.0)
    assert bench.sent() == [[b"RESPONSE_RESULT", W, b"r"]]


def test_what_was_not_begun_can_be_cancelled_and_given_back() -> None:
    """[RPC-5.4.8]"""
    bench = Bench()
    bench.given(W, b"once")
    bench.given(X, b"once")
    bench.sent()
    bench.said(b"CANCEL", W)
    assert bench.sent() == [[b"QUERY_RETURNED", W, b"unstarted"]]
    assert bench.bench.to_cancel == []
    bench.bench.drain()
    bench.said(b"QUERY_CONFIRMED", X)
    assert bench.bench.to_begin == []
    assert bench.sent() == [GOODBYE, [b"QUERY_RETURNED", X, b"unstarted"]]
    assert bench.bench.running == 0


def test_what_was_not_begun_may_be_ended_by_its_owner() -> None:
    bench = Bench()
    bench.given(W, b"once")
    bench.bench.finished(W, exception="no", now=0.0)
    bench.said(b"QUERY_CONFIRMED", W)
    assert (bench.bench.to_begin, bench.bench.unacknowledged) == ([], 1)


def test_a_proxy_without_extensions_is_not_waited_for() -> None:
    bench = Bench(welcomed=False)
    bench.given(W, b"once")
    assert bench.bench.to_begin == [(W, "once", b"a")]


def test_what_was_not_begun_is_left_when_it_registers_again() -> None:
    """[RPC-5.4.8] Another may have it by now; if not, it comes again."""
    bench = Bench()
    bench.given(W, b"once")
    bench.bench.connected(1.0)
    assert (bench.bench.running, bench.bench.holds) == (0, [])
    bench.said(b"QUERY_CONFIRMED", W, now=1.0)
    assert bench.bench.to_begin == []


def begun(bench: Bench, wid: bytes) -> None:
    bench.given(wid, b"once")
    bench.said(b"QUERY_CONFIRMED", wid)


def test_what_was_begun_is_not_begun_again_though_its_answer_is_forgotten() -> None:
    """[RPC-5.4.2] Answers have a bound; that one was begun is known for longer."""
    bench = Bench(max_remembered=1)
    begun(bench, W)
    bench.bench.finished(W, result=b"r", now=0.0)
    bench.said(b"RESPONSE_RECEIVED", W)
    bench.done(X)
    bench.said(b"RESPONSE_RECEIVED", X)
    assert bench.bench.holds == [X.hex()]
    bench.bench.to_begin.clear()
    bench.sent()
    bench.given(W, b"once")
    assert bench.bench.to_begin == []
    assert bench.sent() == [[b"QUERY_RECEIVED", W], [b"RESPONSE_EXCEPTION", W, UNKNOWN_ANSWER]]


def test_what_was_begun_is_known_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """[RPC-9.1]"""
    monkeypatch.setattr(worker, "MAX_BEGUN", 2)
    bench = Bench()
    for wid in (W, X, b"y" * 16):
        begun(bench, wid)
    assert list(bench.bench._begun) == [X, b"y" * 16]
    bench.bench.give_back([X], 0.0)
    assert list(bench.bench._begun) == [b"y" * 16]


def test_while_it_leaves_nothing_is_begun_again() -> None:
    bench = Bench(welcomed=False)
    bench.given(W)
    bench.bench.to_begin.clear()
    bench.bench.drain()
    bench.bench.died([W], 0.0)
    assert bench.bench.to_begin == []
    assert bench.sent()[-1] == [b"RESPONSE_EXCEPTION", W, NO_WORKER]
