"""One conversation as a timeline."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from framehub.console.timeline import MOST_SHOWN, timeline
from framehub.journal.hub_rows import stream_exchange
from framehub.journal.mfp_rows import IN, OUT
from framehub.rpc import words
from tests.unit.console.rows import ASKED, CALLED, CLIENT, WORKER, Script, at, closed, pondered, timed_out

BOTH = {ASKED.hex(): None, CALLED.hex(): ASKED.hex()}
STREAM = {stream_exchange(CLIENT, 5).hex(): None}


def told(script: Script, family: Mapping[str, str | None], now: float = 5_000) -> dict[str, Any]:
    return timeline(next(iter(family)), family, script.told, at(now)[0])


def texts(story: dict[str, Any]) -> list[str]:
    return [sentence["text"] for sentence in story["sentences"]]


def test_a_timed_out_call_says_who_had_it_for_how_long_and_what_was_never_answered() -> None:
    story = told(timed_out(Script()), BOTH)
    assert texts(story) == [
        "User 7 asked for endpoint nap.",
        "Worker 776f726b got it after 0.3 ms.",
        "The client gave up after 400 ms: its time was over, and no answer had come.",
        "It took it on and did not answer: it had it for 402 ms, until it was told to stop;"
        " it did 13 ms later.",
    ]
    assert [(part["name"], part["outcome"], part["ms"]) for part in story["parts"]] == [
        ("nap", "timeout", 400.0),
        ("nap", "aborted", 400.8),
    ]


def test_lanes_are_the_client_the_gateway_and_the_worker_and_inner_frames_stay_inside() -> None:
    story = told(timed_out(Script()), BOTH)
    assert [lane["party"] for lane in story["lanes"]] == ["client", "gateway", "worker"]
    ways = [(event["from"].split()[0], event["to"].split()[0], event["says"]) for event in story["events"]]
    assert ways[:5] == [
        ("client", "gateway", "request"),
        ("gateway", "gateway", "query"),
        ("gateway", "worker", "query"),
        ("gateway", "gateway", "query received"),
        ("worker", "gateway", "query received"),
    ]
    assert [event["after"] for event in story["events"]][-1] == 415.0


def test_a_call_that_is_answered() -> None:
    script = Script()
    script.request(0)
    script.query(1, IN, parent=ASKED)
    script.query(2, OUT)
    script.rpc_says(12, IN, WORKER, words.RESPONSE_RESULT, b"id", b'"well"')
    script.rpc_says(13, OUT, CLIENT, words.RESPONSE_RESULT, b"id", b'"well"')
    script.respond(14)
    story = told(script, BOTH)
    assert texts(story)[1:] == [
        "Worker 776f726b got it after 2 ms.",
        "It answered 10 ms later.",
        "The client had its answer after 14 ms.",
    ]
    assert story["ms"] == 14.0


def test_a_worker_that_failed_is_told_as_a_failure() -> None:
    script = Script()
    script.request(0)
    script.query(1, IN, parent=ASKED)
    script.query(2, OUT)
    script.rpc_says(3, IN, WORKER, words.RESPONSE_EXCEPTION, b"id", b"no")
    script.rpc_says(4, OUT, CLIENT, words.RESPONSE_EXCEPTION, b"id", b"no")
    script.respond(5, error="application")
    said = [(sentence["text"], sentence["kind"]) for sentence in told(script, BOTH)["sentences"]]
    assert said[2] == ("It failed 1 ms later.", "failed")


def test_an_answer_that_comes_too_late_is_called_so() -> None:
    script = Script()
    script.request(0)
    script.query(1, IN, parent=ASKED)
    script.query(2, OUT)
    script.give_up(100)
    script.rpc_says(101, IN, CLIENT, words.CANCEL, b"id")
    script.rpc_says(150, IN, WORKER, words.RESPONSE_RESULT, b"id", b"1")
    assert texts(told(script, BOTH))[-1] == "It answered 148 ms later, when nobody waited any more."


def test_what_is_not_over_is_told_as_it_stands() -> None:
    script = Script()
    script.request(0)
    script.query(1, IN, parent=ASKED)
    script.query(2, OUT)
    story = told(script, BOTH, now=3_002)
    assert texts(story)[2:] == [
        "It never said that it has it and did not answer: it had it for 3 s so far.",
        "It is not over: nobody has answered for 3 s.",
    ]
    assert story["parts"][0]["outcome"] == "open"


def test_what_the_app_answers_itself() -> None:
    script = Script()
    script.request(0)
    script.respond(3, error="application")
    assert texts(told(script, {ASKED.hex(): None})) == [
        "User 7 asked for endpoint nap.",
        "No worker or service had it: the gateway's own app did.",
        "The answer after 3 ms was an error (application).",
    ]


def test_functions_of_services_have_their_names_where_they_are_known() -> None:
    family: dict[str, str | None] = {**STREAM}
    asked = next(iter(family))
    story = timeline(asked, family, pondered(Script()).told, at(5)[0], {"quotes.3": "quotes.ponder"})
    assert texts(story)[0] == "User 7 asked for service quotes.ponder."


def test_streams_of_the_hub() -> None:
    assert texts(told(pondered(Script()), STREAM)) == [
        "User 7 asked for service quotes.3.",
        "Service 73657276 got it after 1 ms.",
        "After 1 s its time was over: the gateway told the client so (timeout).",
        "It took it on and did not answer: it had it for 1 s, until it was told to stop.",
    ]
    assert texts(told(closed(Script()), STREAM))[-1] == "The client gave up after 9 ms."


@pytest.mark.parametrize("count", [MOST_SHOWN, MOST_SHOWN + 3])
def test_of_very_many_frames_the_first_and_the_last_are_shown(count: int) -> None:
    script = Script()
    for ms in range(count):
        script.request(ms)
    story = told(script, {ASKED.hex(): None})
    assert (len(story["events"]), story["left_out"]) == (MOST_SHOWN, count - MOST_SHOWN)
    assert story["events"][-1]["seq"] == count


def test_a_member_of_the_family_beyond_what_was_read_has_no_more_than_its_name() -> None:
    script = Script()
    script.request(0)
    story = told(script, {**BOTH})
    assert story["parts"][1] == {
        "exchange": CALLED.hex(), "parent": ASKED.hex(), "name": "", "outcome": "", "ms": None,
    }  # fmt: skip


REFUSED = "did not take it, or no more of it: it said so after 9 ms."
LATE = "gave it up after 9 ms: nothing had gone on for too long."


def streamed(way: int = IN) -> Script:
    script = Script()
    script.stream(0, way)
    script.chunk(5, way)
    return script


@pytest.mark.parametrize(
    ("way", "end", "said", "outcome"),
    [
        (IN, lambda made: made.chunk(9, final=True), "It ended after 9 ms.", "ok"),
        (IN, lambda made: made.refuse(9, IN, own=True), "The client broke it off after 9 ms.", "aborted"),
        (IN, lambda made: made.refuse(9), f"The gateway {REFUSED}", "aborted"),
        (IN, lambda made: made.give_up(9), f"The client {LATE}", "timeout"),
        (IN, lambda _: None, "It is not over, 5 s so far.", "open"),
        (OUT, lambda made: made.refuse(9, IN), f"The client {REFUSED}", "aborted"),
        (OUT, lambda made: made.refuse(9, OUT, own=True), "The gateway broke it off after 9 ms.", "aborted"),
    ],
)
def test_a_stream_says_how_it_ended(way: int, end: Callable[[Script], None], said: str, outcome: str) -> None:
    script = streamed(way)
    end(script)
    story = told(script, {ASKED.hex(): None})
    began, ended = texts(story)
    assert began == ("User 7 began" if way == IN else "The gateway began") + " a stream to endpoint upload."
    assert ended.startswith(f"{said} Its frames have ")
    (part,) = story["parts"]
    assert (part["kind"], part["outcome"]) == ("stream", outcome)


def test_a_stream_without_frames_or_with_more_than_are_known_says_nothing_of_their_bytes() -> None:
    script = Script()
    script.stream(0)
    script.refuse(1)
    assert "bytes" not in texts(told(script, {ASKED.hex(): None}))[-1]
    whole = streamed()
    family = {ASKED.hex(): None}
    story = timeline(ASKED.hex(), family, whole.told, at(9)[0], None, 7)
    assert "bytes" not in texts(story)[-1]
    assert story["left_out"] == 7
