from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from framehub.report.breaches import EVIDENCE, EXAMPLES, breaches

Snapshot = Callable[..., Path]
Make = Callable[..., Any]


def test_rules_are_counted_with_their_first_examples(
    snapshot: Snapshot, violation: Make, at: Callable[[float], datetime]
) -> None:
    rows = [violation("often", n, evidence=[n]) for n in (9, 3, 7, 5, 1)] + [violation("once", 4)]
    often, once = breaches(snapshot(violations=rows, rows_per_file=2) / "violations")
    assert (often["rule"], often["sentence"], often["count"]) == ("often", "About often.", 5)
    assert (often["first"], often["last"]) == (at(1).isoformat(), at(9).isoformat())
    assert [example["evidence"] for example in often["examples"]] == [[1], [3], [5]]
    assert len(often["examples"]) == EXAMPLES
    assert (once["count"], once["examples"][0]["node"]) == (1, "north")


def test_evidence_and_texts_are_cut(snapshot: Snapshot, violation: Make) -> None:
    row = violation("r", 1, evidence=list(range(500)), detail="x" * 9000, endpoint="e" * 9000)
    (rule,) = breaches(snapshot(violations=[row]) / "violations")
    (example,) = rule["examples"]
    assert (len(example["evidence"]), example["evidence_rows"]) == (EVIDENCE, 500)
    assert len(example["detail"]) + len(example["endpoint"]) < 600


def test_none(snapshot: Snapshot) -> None:
    assert breaches(snapshot() / "violations") == []
