"""A worker's queries and answers."""

import json
from typing import Any

import pytest

from framehub.rpc.settings import WorkerSettings
from framehub.rpc.texts import POISON, UNKNOWN_OUTCOME
from framehub.rpc.worker import Workbench

FUNCTIONS = [("f", "Int", "Int"), ("once", "json", "json")]
REGISTER = [b"WORKER_REGISTER", b"\0\0\0\2", b"f", b"Int", b"Int", b"once", b"json", b"json"]
GOODBYE = [b"WORKER_REGISTER", b"\0\0\0\0"]
BEAT = [b"HEART_BEAT"]
ABOUT = {"version": 1, "window": 64}
W, X = b"w" * 16, b"x" * 16


class Bench:
    """A workbench that is connected at zero, and what it said."""

    def __init__(self, *, welcomed: bool = True, **settings: Any) -> None:
        self.bench = Workbench(WorkerSettings(**settings), FUNCTIONS, ABOUT, once=["once"])
        self.bench.connected(0.0)
        if welcomed:
            self.said(b"WORKER_DESCRIBE", b"{}")
        self.sent()

    def said(self, *parts: bytes, now: float = 0.0) -> str | None:
        return self.bench.said(list(parts), now)

    def given(self, wid: bytes = W, function: bytes = b"f", now: float = 0.0) -> None:
        self.said(b"QUERY", wid, b"a", function, now=now)

    def done(self, wid: bytes = W, now: float = 0.0, result: bytes = b"r") -> None:
        """A query that was run and answered."""
        self.given(wid, now=now)
        self.bench.finished(wid, result=result, now=now)
        self.sent()

    def sent(self) -> list[list[bytes]]:
        sent = self.bench.out[:]
        self.bench.out.clear()
        return sent

    def answers(self, until: float) -> list[float]:
        """When anything but heart beats and questions is sent, to a quarter of a second."""
        times = []
        for quarter in range(1, int(until * 4) + 1):
            self.bench.tick(quarter / 4)
            own = [parts for parts in self.sent() if parts[0] not in (b"HEART_BEAT", b"WORKER_DESCRIBE")]
            times += [quarter / 4] * len(own)
        return times


def test_a_worker_says_who_it_is_when_it_is_connected() -> None:
    """[RPC-5.1.7] [RPC-5.3.1] First what it is and holds, then its functions, then that it lives."""
    bench = Bench()
    bench.done()
    bench.given(X)
    bench.sent()
    bench.bench.connected(1.0)
    described, *others = bench.sent()
    assert json.loads(described[1]) == {**ABOUT, "holds": [X.hex(), W.hex()], "leaving": False}
    assert others == [REGISTER, BEAT, [b"RESPONSE_RESULT", W, b"r"]]


def test_a_worker_registers_again_when_the_proxy_does_not_know_it() -> None:
    """[RPC-5.1.7] But not more often than it beats."""
    bench = Bench()
    bench.said(*BEAT, now=0.75)
    assert bench.sent() == []
    bench.said(*BEAT, now=1.0)
    assert bench.sent()[1] == REGISTER
    bench.said(*BEAT, now=1.75)
    assert bench.sent() == []


def test_a_refused_worker_says_why() -> None:
    """[RPC-5.1.7]"""
    bench = Bench()
    bench.said(b"INCOMPATIBLE_SPECS_FAILURE", b"f", b"Long", b"Int")
    refused = bench.bench.refused
    assert refused is not None
    assert (refused.function, refused.argument, refused.result) == ("f", "Long", "Int")


def test_a_registration_that_could_not_be_read_is_a_refusal_too() -> None:
    """[RPC-5.1.2]"""
    bench = Bench()
    bench.said(b"INCOMPATIBLE_SPECS_FAILURE", b"", b"", b"")
    assert bench.bench.refused is not None


def test_hearts_beat_every_second() -> None:
    """[RPC-9.1] Whatever else is going on."""
    bench = Bench(silence=1_000)
    bench.given()
    bench.sent()
    beats = 0
    for quarter in range(1, 41):
        bench.bench.tick(quarter / 4)
        beats += bench.sent().count(BEAT)
    assert beats == 10


def test_a_query_is_acknowledged_at_once_and_begun_once() -> None:
    """[RPC-5.4.1] [RPC-5.4.2]"""
    bench = Bench()
    for _ in range(2):
        bench.given()
        assert bench.sent() == [[b"QUERY_RECEIVED", W]]
    assert bench.bench.to_begin == [(W, "f", b"a")]
    assert (bench.bench.running, bench.bench.unacknowledged) == (1, 0)


def test_an_answer_is_sent_once_it_is_there() -> None:
    bench = Bench()
    bench.given(W)
    bench.given(X)
    bench.sent()
    bench.bench.finished(W, result=b"", now=0.0)
    bench.bench.finished(X, exception="bad \x1b \ud800", now=0.0)
    bench.bench.finished(b"unknown", result=b"r", now=0.0)
    bench.bench.finished(W, result=b"again", now=0.0)
    assert bench.sent() == [[b"RESPONSE_RESULT", W, b""], [b"RESPONSE_EXCEPTION", X, b"bad  ?"]]


def test_a_query_that_was_answered_is_answered_again_and_not_run() -> None:
    """[RPC-5.4.2] Before the acknowledgement, and a minute after it."""
    bench = Bench(silence=1_000)
    bench.done()
    again = [[b"QUERY_RECEIVED", W], [b"RESPONSE_RESULT", W, b"r"]]
    bench.given()
    assert bench.sent() == again
    bench.said(b"RESPONSE_RECEIVED", W)
    bench.bench.tick(59.75)
    bench.sent()
    bench.given(now=59.75)
    assert bench.sent() == again
    assert bench.bench.unacknowledged == 1
    bench.said(b"RESPONSE_RECEIVED", W, now=59.75)
    bench.bench.tick(119.75)
    bench.bench.to_begin.clear()
    bench.given(now=119.75)
    assert bench.bench.to_begin == [(W, "f", b"a")]


def test_an_answer_is_sent_again_until_it_is_acknowledged() -> None:
    """[RPC-5.4.3] After 5 s, then 10 s more, then 20 s."""
    bench = Bench(silence=1_000)
    bench.done()
    assert bench.answers(40.0) == [5.0, 15.0, 35.0]
    bench.said(b"RESPONSE_RECEIVED", W, now=40.0)
    assert bench.bench.unacknowledged == 0
    assert bench.answers(100.0) == []


def test_an_answer_is_sent_again_after_every_registration() -> None:
    """[RPC-5.4.3]"""
    bench = Bench()
    bench.done()
    bench.bench.connected(1.0)
    assert [b"RESPONSE_RESULT", W, b"r"] in bench.sent()


def test_an_answer_that_nobody_acknowledges_is_given_up() -> None:
    """[RPC-5.4.3] After 300 seconds."""
    bench = Bench(silence=1_000)
    bench.done()
    bench.bench.tick(299.75)
    assert (bench.bench.unacknowledged, bench.bench.dropped) == (1, 0)
    bench.bench.tick(300.0)
    assert (bench.bench.unacknowledged, bench.bench.dropped, bench.bench.holds) == (0, 1, [])


def test_an_unknown_function_is_an_answer_like_others() -> None:
    """[RPC-5.4.3] Kept, and sent again."""
    bench = Bench(silence=1_000)
    bench.given(function=b"nothing")
    answer = [b"RESPONSE_UNKNOWN_FUNCTION", W, b"nothing"]
    assert bench.sent() == [[b"QUERY_RECEIVED", W], answer]
    assert (bench.bench.to_begin, bench.bench.unacknowledged) == ([], 1)
    assert bench.answers(5.0) == [5.0]


def test_acknowledged_answers_make_room_by_number() -> None:
    """[RPC-9.1] At the limit and one above it: the oldest acknowledged first."""
    bench = Bench(max_remembered=2)
    wids = [b"%016d" % number for number in range(3)]
    for wid in wids[:2]:
        bench.done(wid)
        bench.said(b"RESPONSE_RECEIVED", wid)
    assert bench.bench.holds == [wid.hex() for wid in wids[:2]]
    bench.done(wids[2])
    bench.said(b"RESPONSE_RECEIVED", wids[2])
    assert bench.bench.holds == [wid.hex() for wid in wids[1:]]


def test_unacknowledged_answers_make_room_by_number_last() -> None:
    """[RPC-9.1]"""
    bench = Bench(max_remembered=2)
    wids = [b"%016d" % number for number in range(4)]
    for wid in wids:
        bench.done(wid)
    bench.said(b"RESPONSE_RECEIVED", wids[3])
    bench.bench.tick(0.25)
    assert bench.bench.holds == [wids[1].hex(), wids[2].hex()]
    assert bench.bench.dropped == 1


def test_answers_make_room_by_bytes() -> None:
    """[RPC-9.1] At the limit and one above it: acknowledged ones first."""
    bench = Bench(kept_bytes=10)
    bench.done(W, result=b"12345")
    bench.done(X, result=b"12345")
    bench.said(b"RESPONSE_RECEIVED", X)
    bench.bench.tick(0.0)
    assert bench.bench.holds == [W.hex(), X.hex()]
    bench.done(b"y", result=b"1")
    bench.bench.tick(0.0)
    assert (bench.bench.holds, bench.bench.dropped) == ([W.hex(), b"y".hex()], 0)
    bench.done(b"z", result=b"1" * 9)
    bench.bench.tick(0.0)
    assert (bench.bench.holds, bench.bench.dropped) == ([b"y".hex(), b"z".hex()], 1)


def test_what_its_process_died_of_goes_back() -> None:
    """[RPC-5.4.5] [RPC-5.4.6] And is sent again like an answer."""
    bench = Bench(silence=1_000)
    bench.given()
    bench.sent()
    bench.bench.died([W, b"unknown"], 0.0)
    returned = [b"QUERY_RETURNED", W, b"died"]
    assert bench.sent() == [returned]
    assert bench.bench.running == 0
    assert bench.answers(5.0) == [5.0]
    bench.given()
    assert bench.sent() == [[b"QUERY_RECEIVED", W]]  # once more would count as another death
    assert bench.bench.holds == []
    bench.said(b"RESPONSE_RECEIVED", W)
    bench.bench.to_begin.clear()
    bench.given()
    assert bench.bench.to_begin == [(W, "f", b"a")]


def test_what_was_not_begun_goes_back() -> None:
    """[RPC-5.4.5]"""
    bench = Bench()
    bench.given()
    bench.sent()
    bench.bench.give_back([W, b"unknown"], 0.0)
    assert bench.sent() == [[b"QUERY_RETURNED", W, b"unstarted"]]


def test_without_extensions_a_query_is_tried_again_and_then_poison() -> None:
    """[RPC-5.4.5] [RPC-2.7] Three tries."""
    bench = Bench(welcomed=False)
    bench.given()
    bench.sent()
    for _ in range(2):
        bench.bench.to_begin.clear()
        bench.bench.died([W], 0.0)
        assert bench.bench.to_begin == [(W, "f", b"a")]
        assert bench.sent() == []
    bench.bench.died([W], 0.0)
    assert bench.sent() == [[b"RESPONSE_EXCEPTION", W, POISON]]
    assert bench.bench.running == 0


def test_without_extensions_what_may_not_be_run_twice_is_not() -> None:
    """[RPC-5.4.5]"""
    bench = Bench(welcomed=False)
    bench.given(function=b"once")
    bench.sent()
    bench.bench.died([W], 0.0)
    assert bench.sent() == [[b"RESPONSE_EXCEPTION", W, UNKNOWN_OUTCOME]]


def test_a_cancelled_query_is_passed_on_while_it_runs() -> None:
    bench = Bench()
    bench.said(b"CANCEL", W)
    bench.given()
    bench.said(b"CANCEL", W)
    assert bench.bench.to_cancel == [W]


def test_a_leaving_worker_ends_what_it_has_and_returns_what_is_new() -> None:
    """[RPC-5.1.6] [RPC-5.4.6] What it returns is kept until it is acknowledged."""
    bench = Bench()
    bench.given(W)
    bench.sent()
    bench.bench.drain()
    assert bench.sent() == [GOODBYE]
    bench.given(W)
    bench.given(X)
    assert bench.sent() == [
        [b"QUERY_RECEIVED", W],
        [b"QUERY_RECEIVED", X],
        [b"QUERY_RETURNED", X, b"unstarted"],
    ]
    assert (bench.bench.running, bench.bench.unacknowledged) == (1, 1)
    bench.bench.connected(1.0)
    described, *others = bench.sent()
    assert json.loads(described[1])["leaving"]
    assert others == [REGISTER, BEAT, [b"QUERY_RETURNED", X, b"unstarted"]]


def test_a_leaving_worker_runs_what_it_cannot_return() -> None:
    """[RPC-2.7]"""
    bench = Bench(welcomed=False)
    bench.bench.drain()
    bench.given()
    assert bench.bench.to_begin == [(W, "f", b"a")]
    bench.sent()
    bench.bench.connected(1.0)
    assert bench.sent()[1:] == [REGISTER, GOODBYE, BEAT]


def test_a_silent_proxy_is_asked_and_then_given_up() -> None:
    """[RPC-5.3.4] After three seconds, and after six."""
    bench = Bench()
    asked = []
    for quarter in range(1, 25):
        bench.bench.tick(quarter / 4)
        asked += [quarter / 4 for parts in bench.sent() if parts[0] == b"WORKER_DESCRIBE"]
        assert bench.bench.renew is (quarter == 24)
    assert asked == [3.0, 4.0, 5.0]


def test_a_word_of_the_proxy_ends_the_silence() -> None:
    """[RPC-5.3.4]"""
    bench = Bench()
    bench.bench.tick(3.0)
    bench.said(b"NONSENSE", now=5.0)
    bench.sent()
    bench.bench.tick(7.75)
    assert (bench.sent(), bench.bench.renew) == ([BEAT], False)


def test_a_proxy_that_never_spoke_may_be_silent() -> None:
    """[RPC-5.3.4] It may be another's, and say nothing for hours."""
    bench = Bench(welcomed=False)
    for second in range(1, 101):
        bench.bench.tick(float(second))
    sent = bench.sent()
    assert (len(sent), sent.count(BEAT), bench.bench.renew) == (103, 100, False)
    assert {parts[0] for parts in sent if parts != BEAT} == {b"WORKER_DESCRIBE"}


@pytest.mark.parametrize(
    "parts", [(), (b"",), (b"QUERY", b"1"), (b"RESPONSE_RESULT", W, b"r"), (b"QUERY", W, b"a", b"\xff")]
)
def test_what_is_no_message_is_ignored_and_counted(parts: tuple[bytes, ...]) -> None:
    """[RPC-8.1]"""
    bench = Bench()
    assert bench.said(*parts) is not None
    assert (bench.bench.ignored, bench.sent()) == (1, [])


def test_an_acknowledgement_of_nothing_is_ignored() -> None:
    bench = Bench()
    assert bench.said(b"RESPONSE_RECEIVED", bytes(16)) is None
    assert bench.sent() == []
