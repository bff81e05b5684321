"""Rates, latencies and errors by name."""

import pytest

from framehub.console.figures import (
    MINUTE,
    MOST_WAITING,
    SLOT_SECONDS,
    SLOTS,
    Figures,
    Spread,
)
from framehub.journal.mfp_rows import IN, OUT
from framehub.mfp.frames import RequestFrame
from framehub.rpc import words
from framehub.runtime.tally import MOST_NAMES, OTHERS
from tests.unit.console.rows import ASKED, CLIENT, WORKER, Script, pondered, timed_out

ALL = 10_000


def taken(script: Script, most: int = ALL) -> Figures:
    figures = Figures()
    figures.take(script.batch, most)
    return figures


@pytest.mark.parametrize("us", [2.0, 7.0, 333.0, 42_000.0, 9e6])
def test_a_figure_is_right_within_a_tenth(us: float) -> None:
    spread = Spread()
    spread.add(us)
    assert spread.quantile(0.5) == pytest.approx(us / 1000, rel=0.1)


def test_quantiles_of_many() -> None:
    spread = Spread()
    for ms in range(1, 101):
        spread.add(ms * 1000)
    told = spread.told()
    assert told["p50"] == pytest.approx(50, rel=0.1)
    assert told["p95"] == pytest.approx(95, rel=0.1)
    assert Spread().told() == {"p50": None, "p95": None, "p99": None}


def test_a_call_through_to_a_function_is_one_call_and_known_under_both() -> None:
    script = Script()
    script.request(0)
    script.query(1, IN, parent=ASKED)
    script.query(2, OUT)
    script.rpc_says(12, IN, WORKER, words.RESPONSE_RESULT, b"id", b"1")
    script.rpc_says(13, OUT, CLIENT, words.RESPONSE_RESULT, b"id", b"1")
    script.respond(14)
    figures = taken(script)
    point = figures.tick(100, open=3)
    assert (point["calls"], point["failed"], point["frames"], point["open"]) == (1, 0, 6, 3)
    assert point["p50"] == pytest.approx(14, rel=0.1)
    told = {one["called"]: one for one in figures.told()}
    assert told["endpoint"]["p50"] == pytest.approx(14, rel=0.1)
    assert told["function"]["p50"] == pytest.approx(12, rel=0.1)
    assert not figures.failures


def test_a_failure_is_remembered_once_with_its_conversation() -> None:
    figures = taken(timed_out(Script()))
    (failure,) = figures.failures
    assert (failure["name"], failure["outcome"], failure["ms"]) == ("nap", "timeout", 400.0)
    assert failure["exchange"] == ASKED.hex()
    (failure,) = taken(pondered(Script())).failures
    assert (failure["called"], failure["name"], failure["code"]) == ("service", "quotes.3", "timeout")


def test_latencies_are_those_of_the_last_minute_and_counts_stay() -> None:
    script = Script()
    script.request(0)
    script.respond(14)
    figures = taken(script)
    for second in range(SLOTS * SLOT_SECONDS):
        figures.tick(second)
    (one,) = figures.told()
    assert (one["calls"], one["recent"], one["p50"]) == (1, 0, None)


def test_latencies_of_the_minute_are_those_of_its_calls_and_not_of_its_seconds() -> None:
    figures = Figures()
    for second, took in enumerate((1, 1, 2, 1, 1, 404, 1, 1920)):  # one call a second
        script = Script()
        script.request(0)
        script.respond(took)
        figures.take(script.batch, ALL)
        figures.tick(second)
    assert figures.minute()["p95"] == pytest.approx(1920, rel=0.1)
    assert figures.minute()["p50"] == pytest.approx(1, rel=0.1)
    for second in range(MINUTE):
        assert figures.minute()["p99"] is not None, second
        figures.tick(second)
    assert figures.minute() == {"p50": None, "p95": None, "p99": None}


def test_rows_over_the_budget_are_counted_and_not_followed() -> None:
    script = Script()
    script.request(0)
    script.respond(14)
    figures = taken(script, most=1)
    assert (figures.skipped, figures.tick(1)["frames"], figures.told()) == (1, 2, [])


def test_names_and_calls_under_way_are_bounded() -> None:
    script = Script()
    for number in range(MOST_NAMES + 2):
        exchange = CLIENT + number.to_bytes(8, "big")
        script.request(0, f"name {number}", exchange=exchange)
        script.respond(1, exchange=exchange)
    figures = taken(script)
    assert len(figures.names) == MOST_NAMES + 1
    assert figures.names["endpoint", OTHERS].outcomes["ok"] == 2
    script = Script()
    for number in range(MOST_WAITING + 1):
        script.request(0, exchange=CLIENT + number.to_bytes(8, "big"))
    for number in (0, 1):
        script.respond(1, exchange=CLIENT + number.to_bytes(8, "big"))
    figures = taken(script, most=10 * MOST_WAITING)
    assert figures.names["endpoint", "nap"].outcomes.total() == 1, "the oldest was forgotten"


def test_what_the_gateway_asks_of_a_client_is_no_call() -> None:
    script = Script()
    script.say(0, OUT, RequestFrame(id=1, payload=b"{}"), endpoint="who.are.you")
    figures = taken(script)
    figures.forget()
    assert figures.told() == []


def test_a_stream_is_a_call_and_its_chunks_take_no_time_to_follow() -> None:
    script = Script()
    script.stream(0)
    for ms in range(1, 9):
        script.chunk(ms)
    script.chunk(9, final=True)
    script.stream(10, exchange=b"another-stream-!")
    script.refuse(12, exchange=b"another-stream-!")
    script.stream(13, OUT, exchange=b"one-of-ours-----")
    script.chunk(14, OUT, final=True, exchange=b"one-of-ours-----")
    figures = taken(script, most=6)
    assert figures.skipped == 0
    (named,) = figures.told()
    assert (named["called"], named["name"], named["outcomes"]) == (
        "endpoint",
        "upload",
        {"ok": 1, "aborted": 1},
    )
    assert [failure["ms"] for failure in figures.failures] == [2.0]
    assert figures.tick(0)["frames"] == 14
