"""Small journals for the rules of the audit: many in one job, each on a node of its own."""

from collections.abc import Callable
from typing import Any, TypeAlias

from pyspark.sql import DataFrame

Row: TypeAlias = dict[str, Any]
Cases: TypeAlias = dict[str, tuple[list[Row], dict[str, list[int]]]]
"""What happened -> its rows, and which of them (from 1 on) show that which rule is broken."""
Made: TypeAlias = Callable[[DataFrame], DataFrame]

NOON_NS = 1_780_000_000_000_000_000
SECOND_NS = 1_000_000_000
LINK, OTHER = bytes([1] * 8), bytes([2] * 8)
LATER: Row = {"kind": "link_opened", "link": bytes([9] * 8), "at": 7200.0}
"""Two hours pass."""
CLOSED: Row = {"kind": "link_closed", "code": 1006}


def placed(cases: Cases) -> list[Row]:
    """All their rows; ``at`` is a row's time in seconds, else the rows come a millisecond apart."""
    rows = []
    for node, (story, _) in cases.items():
        for seq, row in enumerate(story, start=1):
            at = round(row.get("at", seq / 1000) * SECOND_NS)
            usual = {"node": node, "seq": seq, "link": LINK, "time_ns": NOON_NS + at, "mono_ns": at}
            rows.append(usual | {name: value for name, value in row.items() if name != "at"})
    return rows


def found(table: DataFrame) -> dict[str, dict[str, list[int]]]:
    """By case, and there by rule, the evidence."""
    told: dict[str, dict[str, list[int]]] = {}
    for row in table.collect():
        of_case = told.setdefault(row["node"], {})
        assert row["rule"] not in of_case, f"{row['node']}: {row['rule']} twice"
        of_case[row["rule"]] = row["evidence"]
    return told


def wanted(cases: Cases) -> dict[str, dict[str, list[int]]]:
    return {name: broken for name, (_, broken) in cases.items() if broken}


def rules_of(cases: Cases) -> set[str]:
    """Rules that some case breaks."""
    return {rule for _, broken in cases.values() for rule in broken}
