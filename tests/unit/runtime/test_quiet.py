"""A flood of events is a line a second."""

import asyncio
import logging

import pytest

from framehub.runtime.quiet import LONGEST_DETAIL, QuietLog, Summary


def test_the_first_of_a_kind_is_told_at_once_and_the_rest_together() -> None:
    summary = Summary(every=1.0)
    assert [summary.count("a", now) for now in (10.0, 10.1, 10.5, 10.9)] == [True, False, False, False]
    assert summary.next_due == 11.0
    assert summary.due(10.95) == {}
    assert summary.due(11.0) == {"a": 3}
    assert summary.due(20.0) == {}


def test_after_telling_of_many_the_next_second_is_silent_too() -> None:
    summary = Summary(every=1.0)
    summary.count("a", 10.0)
    summary.count("a", 10.5)
    assert summary.due(11.0) == {"a": 1}
    assert not summary.count("a", 11.5)
    assert summary.next_due == 12.0
    assert summary.due(12.0) == {"a": 1}
    assert summary.count("a", 13.0)


def test_kinds_do_not_hide_each_other() -> None:
    summary = Summary(every=1.0)
    assert [summary.count(kind, 10.0) for kind in ("a", "b", "a", "b", "b")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert summary.due(11.0) == {"a": 1, "b": 2}


@pytest.mark.parametrize("events", [2, 5_000])
def test_any_rate_is_at_most_two_lines_in_the_first_second_and_one_after(events: int) -> None:
    summary, lines = Summary(every=1.0), 0
    for n in range(events):
        now = n * 5.0 / events
        lines += len(summary.due(now)) + summary.count("flood", now)
    assert lines <= 6


async def test_a_log_tells_of_everything_in_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    quiet = QuietLog(logging.getLogger("framehub.test"), "ws://here")
    with caplog.at_level(logging.INFO, "framehub.test"):
        for _ in range(1_000):
            quiet.count("left")
        quiet.count("dropped", logging.WARNING)
        await asyncio.sleep(1.1)
        for _ in range(5):
            quiet.count("left")
        quiet.close()
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.INFO, "ws://here: connection left"),
        (logging.WARNING, "ws://here: connection dropped"),
        (logging.INFO, "ws://here: 999 more times: connection left"),
        (logging.INFO, "ws://here: 5 more times: connection left"),
    ]


async def test_the_first_of_a_kind_may_have_a_detail_on_one_short_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quiet = QuietLog(logging.getLogger("framehub.test"), "ws://here")
    with caplog.at_level(logging.INFO, "framehub.test"):
        quiet.count("left", detail="in a hurry")
        quiet.count("left", detail="another one")
        quiet.count("refused", detail="forged\nline \x1b[2J \xe9")
        quiet.count("dropped", detail="x" * 10_000)
        quiet.close()
    assert [record.getMessage() for record in caplog.records] == [
        "ws://here: connection left: in a hurry",
        r"ws://here: connection refused: forged\nline \x1b[2J \xe9",
        f"ws://here: connection dropped: {'x' * LONGEST_DETAIL}...",
        "ws://here: 1 more times: connection left",
    ]
