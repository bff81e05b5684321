"""A client's queries until their answers."""

from itertools import count

import pytest

from framehub.rpc.client import Ending, Queries, Settled
from framehub.rpc.settings import ClientSettings
from framehub.rpc.texts import BUSY_QUEUE

QUERY = [b"QUERY", b"1", b"a", b"f"]


class Desk:
    """Queries, and their clock; what is random is half."""

    def __init__(self, **settings: float) -> None:
        ids = count(100)
        self.queries = Queries(
            ClientSettings(**settings), random=lambda: 0.5, new_id=lambda: b"%d" % next(ids)
        )

    def ask(self, id_: bytes = b"1", *, now: float = 0.0, timeout: float = 100.0) -> None:
        self.queries.ask(id_, b"f", b"a", now=now, timeout=timeout)

    def said(self, *parts: bytes, now: float = 0.0) -> str | None:
        return self.queries.said(list(parts), now)

    def sent(self) -> list[list[bytes]]:
        sent = self.queries.out[:]
        self.queries.out.clear()
        return sent

    def sending_times(self, until: float) -> list[float]:
        """When queries are sent again, to a quarter of a second."""
        times = []
        for quarter in range(1, int(until * 4) + 1):
            self.queries.tick(quarter / 4)
            times += [quarter / 4] * self.sent().count(QUERY)
        return times


def test_a_query_is_sent_and_settled_once() -> None:
    """[RPC-3.2.2] Every answer is acknowledged, also one that comes again."""
    desk = Desk()
    desk.ask()
    assert desk.sent() == [QUERY]
    for _ in range(2):
        assert desk.said(b"RESPONSE_RESULT", b"1", b"r") is None
        assert desk.sent() == [[b"RESPONSE_RECEIVED", b"1"]]
    assert desk.queries.settled == [Settled(b"1", Ending.RESULT, (b"r",))]
    assert desk.queries.pending == 0


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        ((b"RESPONSE_RESULT", b"1", b""), Ending.RESULT),
        ((b"RESPONSE_EXCEPTION", b"1", b""), Ending.EXCEPTION),
        ((b"RESPONSE_UNKNOWN_FUNCTION", b"1", b"f"), Ending.UNKNOWN_FUNCTION),
    ],
)
def test_answers_are_acknowledged_whether_or_not_they_are_waited_for(
    answer: tuple[bytes, ...], ending: Ending
) -> None:
    """[RPC-3.2.2]"""
    desk = Desk()
    desk.said(*answer)
    assert (desk.sent(), desk.queries.settled) == ([[b"RESPONSE_RECEIVED", b"1"]], [])
    desk.ask()
    desk.said(*answer)
    assert desk.queries.settled == [Settled(b"1", ending, answer[2:])]


def test_answers_to_questions_need_no_acknowledgement() -> None:
    desk = Desk()
    desk.queries.ask_coders(b"1", b"f", now=0.0, timeout=1.0)
    desk.queries.ask_coders(b"2", b"g", now=0.0, timeout=1.0)
    desk.queries.ask_functions(b"3", now=0.0, timeout=1.0)
    assert desk.sent() == [
        [b"CODER_IDENTITY_QUERY", b"1", b"f"],
        [b"CODER_IDENTITY_QUERY", b"2", b"g"],
        [b"FUNCTIONS_QUERY", b"3"],
    ]
    desk.said(b"CODER_IDENTITY_FOUND", b"1", b"Int", b"Long")
    desk.said(b"CODER_IDENTITY_NOT_FOUND", b"2")
    assert not desk.queries.extended
    desk.said(b"FUNCTIONS_LIST", b"3", b"{}")
    assert desk.queries.extended
    assert desk.sent() == []
    assert desk.queries.settled == [
        Settled(b"1", Ending.CODERS, (b"Int", b"Long")),
        Settled(b"2", Ending.NO_CODERS),
        Settled(b"3", Ending.FUNCTIONS, (b"{}",)),
    ]


def test_a_query_is_sent_again_until_it_is_acknowledged_each_time_later() -> None:
    """[RPC-3.2.1] After 1 s, then 2 s, 4 s, 8 s and 10 s, less a quarter here by chance."""
    desk = Desk(silence=1_000)
    desk.ask()
    desk.sent()
    assert desk.sending_times(40.0) == [1.0, 2.5, 5.5, 11.5, 19.0, 26.5, 34.0]
    assert desk.queries.resent == 7


def test_an_acknowledged_query_is_sent_again_now_and_then() -> None:
    """[RPC-3.2.1] The proxy may have been another one since."""
    desk = Desk(silence=1_000)
    desk.ask()
    desk.said(b"QUERY_RECEIVED", b"1")
    desk.said(b"QUERY_RECEIVED", b"unknown")
    desk.sent()
    assert desk.sending_times(40.0) == [15.0, 30.0]


def test_after_a_reconnection_all_is_sent_again_spread_over_a_while() -> None:
    """[RPC-3.2.1] And then as if for the first time."""
    desk = Desk(silence=1_000)
    desk.ask()
    desk.said(b"QUERY_RECEIVED", b"1")
    desk.sent()
    desk.queries.connected(0.0)
    assert desk.sent() == []
    assert desk.sending_times(3.0) == [0.25, 1.75]


def test_a_query_that_is_late_is_given_up() -> None:
    """[RPC-3.2.4] The proxy is told, if it knows the word."""
    for extended in (False, True):
        desk = Desk()
        desk.queries.extended = extended
        desk.ask(timeout=1.0)
        desk.sent()
        desk.queries.tick(0.75)
        assert desk.queries.settled == []
        desk.queries.tick(1.0)
        assert desk.queries.settled == [Settled(b"1", Ending.TIMEOUT)]
        assert desk.sent() == [[b"CANCEL", b"1"]] * extended
        desk.said(b"RESPONSE_RESULT", b"1", b"late")
        assert len(desk.queries.settled) == 1


def test_what_the_application_gives_up_is_cancelled() -> None:
    """[RPC-3.2.4] [RPC-2.7] A question is only forgotten."""
    desk = Desk()
    desk.queries.extended = True
    desk.ask()
    desk.queries.ask_coders(b"2", b"f", now=0.0, timeout=1.0)
    desk.sent()
    for id_ in (b"1", b"2", b"3", b"1"):
        desk.queries.cancel(id_)
    assert desk.sent() == [[b"CANCEL", b"1"]]
    assert (desk.queries.pending, desk.queries.settled) == (0, [])


def test_a_silent_proxy_is_asked_something_easy_and_then_given_up() -> None:
    """[RPC-3.2.3] After three seconds, and after six."""
    desk = Desk(resend=1_000, resend_most=1_000)
    desk.ask()
    desk.sent()
    desk.queries.tick(2.75)
    assert desk.sent() == []
    desk.queries.tick(3.0)
    assert desk.sent() == [[b"CODER_IDENTITY_QUERY", b"100", b"f"]]
    desk.queries.tick(5.75)
    assert (desk.sent(), desk.queries.renew) == ([], False)
    desk.queries.tick(6.0)
    assert (desk.sent(), desk.queries.renew) == ([], True)


def test_any_word_of_the_proxy_ends_the_silence() -> None:
    """[RPC-3.2.3] Also one that means nothing."""
    desk = Desk(resend=1_000, resend_most=1_000)
    desk.ask()
    desk.queries.tick(3.0)
    desk.sent()
    desk.said(b"CODER_IDENTITY_NOT_FOUND", b"100", now=5.0)
    desk.queries.tick(7.75)
    assert (desk.sent(), desk.queries.renew) == ([], False)
    desk.said(b"NONSENSE", now=7.75)
    desk.queries.tick(10.5)
    assert desk.sent() == []
    desk.queries.tick(10.75)
    assert len(desk.sent()) == 1


def test_who_waits_for_nothing_does_not_mind_silence() -> None:
    """[RPC-3.2.3]"""
    desk = Desk(resend=1_000, resend_most=1_000)
    desk.queries.tick(100.0)
    assert (desk.sent(), desk.queries.renew) == ([], False)
    desk.ask(now=100.0)
    desk.sent()
    desk.queries.tick(102.75)
    assert desk.sent() == []


def test_the_easy_question_needs_a_name() -> None:
    desk = Desk(resend=1_000, resend_most=1_000)
    desk.queries.ask_functions(b"1", now=0.0, timeout=100.0)
    desk.sent()
    desk.queries.tick(3.0)
    assert desk.sent() == [[b"CODER_IDENTITY_QUERY", b"100", b"?"]]


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (b"",),
        (b"NONSENSE", b"1"),
        (b"QUERY_RECEIVED",),
        (b"QUERY_RECEIVED", b"1", b""),
        (b"RESPONSE_RESULT", b"1"),
        (b"RESPONSE_RESULT", b"", b"r"),
        (b"QUERY", b"1", b"a", b"f"),
        (b"CODER_IDENTITY_FOUND", b"1", b"\xff", b""),
    ],
)
def test_what_is_no_message_is_ignored_and_counted(parts: tuple[bytes, ...]) -> None:
    """[RPC-8.1]"""
    desk = Desk()
    desk.ask()
    desk.sent()
    assert desk.said(*parts) is not None
    assert (desk.queries.ignored, desk.sent(), desk.queries.settled) == (1, [], [])


def test_busy_is_no_answer_for_what_was_taken_before() -> None:
    """[RPC-3.1.8] A proxy that restarted may be too busy for it, but somebody may be running it."""
    desk = Desk()
    desk.ask()
    desk.said(b"QUERY_RECEIVED", b"1")
    desk.queries.connected(1.0)
    desk.sent()
    assert desk.said(b"RESPONSE_EXCEPTION", b"1", BUSY_QUEUE, now=2.0) is None
    assert (desk.queries.settled, desk.sent()) == ([], [])
    assert desk.sending_times(12.0)[0] == 9.5
    desk.said(b"RESPONSE_EXCEPTION", b"1", b"BUSY says the function", now=12.0)
    assert desk.queries.settled == [Settled(b"1", Ending.EXCEPTION, (b"BUSY says the function",))]


def test_busy_ends_what_was_never_taken() -> None:
    """[RPC-3.1.8]"""
    desk = Desk()
    desk.ask()
    desk.said(b"RESPONSE_EXCEPTION", b"1", BUSY_QUEUE)
    desk.said(b"RESPONSE_EXCEPTION", b"2", BUSY_QUEUE)
    assert desk.queries.settled == [Settled(b"1", Ending.EXCEPTION, (BUSY_QUEUE,))]


def test_a_proxy_with_extensions_is_asked_for_its_list() -> None:
    """[RPC-3.2.3] A question about coders might wait for a worker."""
    desk = Desk()
    desk.queries.ask_functions(b"l", now=0.0, timeout=10.0)
    desk.said(b"FUNCTIONS_LIST", b"l", b"{}")
    desk.ask()
    desk.said(b"QUERY_RECEIVED", b"1")
    desk.sent()
    desk.queries.tick(3.0)
    assert desk.sent() == [[b"FUNCTIONS_QUERY", b"100"]]
