from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from framehub.report import exchanges
from framehub.report.exchanges import CANDIDATES, look
from framehub.report.traffic import Steps, find_steps

Snapshot = Callable[..., Path]
Make = Callable[..., Any]
At = Callable[[float], datetime]


def _looked(made: Path) -> dict[str, Any]:
    return look(made / "exchanges", find_steps(made / "frames"))


def test_the_slowest_are_those_that_somebody_waited_for(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(n, wait_us=n * 10) for n in range(1, 101)]
    rows += [exchange(200, kind="ping", wait_us=10**6), exchange(201, kind="message", wait_us=10**6)]
    rows += [exchange(202, kind="query", protocol="rpc", wait_us=5000), exchange(203, wait_us=None)]
    told = _looked(snapshot(exchanges=rows, rows_per_file=17))["slowest"]
    assert told == [("north", f"{n:032x}") for n in (100, 202, *range(99, 100 - CANDIDATES + 1, -1))]


def test_the_slowest_are_of_several_names_first(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(n, wait_us=1000 + n) for n in range(4)]
    rows += [exchange(9, endpoint="b", wait_us=5), exchange(8, outcome="timeout", wait_us=10**7)]
    told = _looked(snapshot(exchanges=rows))["slowest"]
    assert [int(exchange, 16) for _, exchange in told] == [3, 2, 9, 1, 0]


def test_failures_of_all_protocols_have_their_turn(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(n, outcome="error", code=f"c{n % 3}") for n in range(30)]
    rows += [exchange(40, outcome="error", protocol="hub", kind="stream", service=1)]
    told = _looked(snapshot(exchanges=rows))["failed"]
    assert [int(exchange, 16) for _, exchange in told][:2] in ([27, 40], [28, 40], [29, 40])
    assert len(told) == 4


def test_failures_are_counted_by_name_outcome_and_code(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(n, outcome="error", code="busy") for n in (5, 9, 7)]
    rows += [exchange(n, outcome="timeout", endpoint="slow") for n in range(10, 15)]
    rows += [exchange(20, outcome="error", code="application"), exchange(21), exchange(22, outcome="open")]
    rows += [exchange(23, outcome="error", kind=None, endpoint=None, opened=None)]
    told = _looked(snapshot(exchanges=rows, rows_per_file=2))
    assert [(row["name"], row["outcome"], row["code"], row["count"]) for row in told["codes"]] == [
        ("slow", "timeout", None, 5), ("chat", "error", "busy", 3),
        ("chat", "error", "application", 1), ("(no endpoint)", "error", None, 1),
    ]  # fmt: skip
    assert [int(exchange, 16) for _, exchange in told["failed"]] == [14, 9, 20, 23]
    assert told["codes"][-1]["latest"] is None
    assert told["code_kinds"] == 4


def test_of_a_kind_one_that_was_caused_is_shown(snapshot: Snapshot, exchange: Make, at: At) -> None:
    rows = [exchange(n, outcome="error", parent="ab" if n in (3, 5) else None) for n in range(9)]
    told = _looked(snapshot(exchanges=rows, rows_per_file=2))
    assert [int(exchange, 16) for _, exchange in told["failed"]] == [5]
    assert (told["codes"][0]["count"], told["codes"][0]["latest"]) == (9, at(8).isoformat())


def test_kinds_of_failures_are_bounded(snapshot: Snapshot, exchange: Make, monkeypatch: Any) -> None:
    monkeypatch.setattr(exchanges, "_GROUPS", 50)
    rows = [exchange(n, endpoint=f"e{n}", outcome="error") for n in range(400)]
    rows += [exchange(1000 + n, endpoint="often", outcome="error") for n in range(400)]
    mixed = [row for pair in zip(rows[:400], rows[400:], strict=True) for row in pair]
    told = _looked(snapshot(exchanges=mixed, rows_per_file=50))
    assert told["code_kinds"] <= 100
    assert (told["codes"][0]["name"], told["codes"][0]["count"]) == ("often", 400)


def test_waits_over_time_are_those_of_each_step(snapshot: Snapshot, exchange: Make, at: At) -> None:
    frames = [{"time": at(t), "protocol": "mfp", "direction": "in", "bytes": 1} for t in (0, 100)]
    rows = [exchange(n, wait_us=10 if n < 50 else 10_000) for n in range(100)]
    told = _looked(snapshot(frames=frames, exchanges=rows, rows_per_file=30))["over_time"]
    assert told["step_ms"] == 1000
    assert told["count"] == [1] * 100 + [0]
    assert told["p50"] == [10.0] * 50 + [10_000.0] * 50 + [None]
    assert told["max"][-1] is None
    assert (told["le_us"][0], told["le_us"][-1]) == (10.0, 10_000.0)
    assert np.sum(told["buckets"]) == 100
    assert [sum(row) for row in told["buckets"]][:: len(told["le_us"]) - 1] == [50, 50]


def test_without_frames_or_answers_there_is_nothing_over_time(
    snapshot: Snapshot, exchange: Make, at: At
) -> None:
    steps = Steps(first=0, last=1, width=1, stretches=((0, 2),))
    made = snapshot(exchanges=[exchange(1, wait_us=None)])
    assert look(made / "exchanges", steps)["over_time"] is None
    assert look(made / "exchanges", None)["over_time"] is None
