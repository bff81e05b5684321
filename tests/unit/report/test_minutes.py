from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from framehub.report.histogram import Histogram
from framehub.report.minutes import NAMES, outcomes, waits
from framehub.waits import EDGES, buckets_of

Snapshot = Callable[..., Path]
Make = Callable[..., Any]


def test_minutes_and_kinds_of_one_name_are_added_up(snapshot: Snapshot, metric: Make) -> None:
    rows = [metric(5), metric(4, kind="message", ok=1, timeout=3), metric(2, protocol="rpc", kind="query")]
    rows += [metric(1, protocol="hub", kind="stream", service=3), metric(9, kind="ping", endpoint=None)]
    told = outcomes(snapshot(metrics=rows, rows_per_file=2) / "metrics")
    assert [(row["protocol"], row["name"], row["count"]) for row in told] == [
        ("mfp", "chat", 9), ("mfp", "(mfp ping)", 9), ("rpc", "chat()", 2), ("hub", "chat #3", 1)
    ]  # fmt: skip
    assert (told[0]["ok"], told[0]["timeout"], told[0]["bytes_in"]) == (6, 3, 9)


def test_names_beyond_the_first_are_one(snapshot: Snapshot, metric: Make) -> None:
    rows = [metric(n, endpoint=f"e{n}") for n in range(1, 41)]
    made = snapshot(metrics=rows) / "metrics"
    told = outcomes(made)
    assert len(told) == NAMES + 1
    assert (told[0]["name"], told[-1]["name"]) == ("e40", "(all others)")
    assert sum(row["count"] for row in told) == sum(range(41))
    by_name = waits(made)["by_name"]
    assert (len(by_name), by_name[-1]["name"]) == (NAMES + 1, "(all others)")
    assert sum(row["count"] for row in by_name) == waits(made)["all"]["count"] == sum(range(41))


def test_percentiles_are_those_of_all_waits_together(snapshot: Snapshot, metric: Make) -> None:
    random = np.random.default_rng(1)
    waited = [random.lognormal(8, 2, 500).astype(int) for _ in range(6)]
    rows = []
    for part in waited:
        numbers, counts = np.unique(buckets_of(part), return_counts=True)
        buckets = [{"le_us": float(EDGES[n]), "count": int(c)} for n, c in zip(numbers, counts, strict=True)]
        rows.append(metric(len(part), waits=buckets, max_us=int(part.max())))
    (told,) = waits(snapshot(metrics=rows, rows_per_file=2) / "metrics")["by_name"]
    whole = Histogram()
    whole.add(np.concatenate(waited))
    assert (told["count"], told["max"]) == (3000, whole.longest)
    assert [told[name] for name in ("p50", "p95", "p99")] == [whole.quantile(q) for q in (0.5, 0.95, 0.99)]
    assert sum(count for _, count in told["buckets"]) == 3000


def test_what_lies_beyond_the_last_edge_is_told_too(snapshot: Snapshot, metric: Make) -> None:
    row = metric(2, waits=[{"le_us": float("inf"), "count": 2}], max_us=5 * 10**9)
    (told,) = waits(snapshot(metrics=[row]) / "metrics")["by_name"]
    assert (told["p50"], told["max"]) == (5e9, 5 * 10**9)
    assert all(np.isfinite(le) for le, _ in told["buckets"])


def test_only_what_somebody_waits_for_is_a_wait(snapshot: Snapshot, metric: Make) -> None:
    rows = [metric(3, kind="message"), metric(3, kind="ping"), metric(3, answered=0, waits=[], max_us=None)]
    told = waits(snapshot(metrics=rows) / "metrics")
    assert told["by_name"] == []
    assert (told["all"]["count"], told["all"]["p50"], told["all"]["max"]) == (0, None, None)


def test_no_minutes(snapshot: Snapshot) -> None:
    made = snapshot() / "metrics"
    assert outcomes(made) == []
    assert waits(made)["by_name"] == []
