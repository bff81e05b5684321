"""Queries that a worker begins only when the proxy knows that it has them."""

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
    bench.bench.tick(0.5)
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
