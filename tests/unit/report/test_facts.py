from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import PipelineError
from framehub.report import facts

At = Callable[[float], datetime]


def test_traffic_adds_up_whatever_the_span(tables: Callable[..., Path], at: At) -> None:
    frames = [{"time": at(n * 700), "direction": "in" if n % 3 else "out", "bytes": 10} for n in range(500)]
    told = facts.gather(tables(frames=frames))
    traffic = told["traffic"]
    assert sum(traffic["frames_in"]) + sum(traffic["frames_out"]) == 500
    assert sum(traffic["bytes_out"]) == 10 * len([n for n in range(500) if n % 3 == 0])
    assert len(traffic["time"]) == len(traffic["bytes_in"]) <= 122
    assert told["span"] == [at(0).isoformat(), at(499 * 700).isoformat()]


@pytest.mark.parametrize("seconds", [0, 0.001, 0.99, 61, 3601, 86_400 * 400])
def test_the_last_frame_is_counted_too(tables: Callable[..., Path], at: At, seconds: float) -> None:
    frames = [{"time": at(moment), "direction": "in", "bytes": 1} for moment in (0, seconds)]
    assert sum(facts.gather(tables(frames=frames))["traffic"]["frames_in"]) == 2


def test_outcomes_waits_slowest_and_failed(tables: Callable[..., Path], exchange: Callable[..., Any]) -> None:
    rows = [exchange(n, wait_us=n * 10) for n in range(1, 101)]
    rows += [exchange(200 + n, outcome="timeout", wait_us=None, endpoint="slow") for n in range(30)]
    rows += [
        exchange(300, kind="ping", endpoint=None),
        exchange(301, kind="message", endpoint=None, wait_us=None),
    ]
    told = facts.gather(tables(exchanges=rows))
    assert told["outcomes"] == {
        "chat": {"ok": 100}, "slow": {"timeout": 30}, "(ping)": {"ok": 1}, "(no endpoint)": {"ok": 1}
    }  # fmt: skip
    (chat,) = told["waits"]
    assert (chat["endpoint"], chat["count"], chat["max"]) == ("chat", 100, 1000)
    assert 500 <= chat["p50"] <= 565
    assert [row["wait_us"] for row in told["slowest"]] == [1000 - 10 * n for n in range(12)]
    assert [row["exchange"] for row in told["failed"]] == [f"{229 - n:032x}" for n in range(12)]


def test_functions_stand_beside_endpoints(tables: Callable[..., Path], exchange: Callable[..., Any]) -> None:
    rows = [exchange(1), exchange(2, kind="query", wait_us=70), exchange(3, kind="query", outcome="open")]
    rows += [exchange(4, kind="query", endpoint=None), exchange(5, kind=None, endpoint=None, wait_us=None)]
    told = facts.gather(tables(exchanges=rows))
    assert told["outcomes"] == {
        "chat()": {"ok": 1, "open": 1}, "(no endpoint)": {"ok": 2}, "chat": {"ok": 1}
    }  # fmt: skip
    assert {row["endpoint"] for row in told["waits"]} == {"chat", "chat()", "(no endpoint)"}
    assert told["slowest"][-1]["wait_us"] == 70


def test_endpoints_beyond_the_first_are_one(
    tables: Callable[..., Path], exchange: Callable[..., Any]
) -> None:
    rows = [exchange(n, endpoint=f"e{n % 40}") for n in range(400)]
    outcomes = facts.gather(tables(exchanges=rows))["outcomes"]
    assert len(outcomes) == 16
    assert outcomes["(all others)"] == {"ok": 250}


def test_long_data_is_cut(tables: Callable[..., Path], at: At) -> None:
    row = {
        "time": at(0),
        "user": 1,
        "kind": "message",
        "direction": "in",
        "json": "x" * 10_000,
        "readable": True,
    }
    (told,) = facts.gather(tables(messages=[row]))["messages"]
    assert len(told["json"]) == 401


def test_without_tables_the_error_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="framehub pipeline run JOURNAL"):
        facts.gather(tmp_path)


def test_tables_that_are_none_are_said_to_be(tables: Callable[..., Path]) -> None:
    out = tables()
    next((out / "current" / "frames").rglob("*.parquet")).write_bytes(b"not parquet")
    with pytest.raises(PipelineError, match="cannot be read"):
        facts.gather(out)
