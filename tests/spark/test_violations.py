import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from framehub.journal.generate import generate
from framehub.pipeline import read_journal
from framehub.pipeline.schemas import check
from framehub.pipeline.stages.rules import RULES
from framehub.pipeline.stages.violations import violations
from tests.spark.audit_cases import LATER, LINK

pytestmark = pytest.mark.spark

Told = set[tuple[str, str, tuple[int, ...]]]


def told(table: DataFrame) -> Told:
    rows = check("violations", table).collect()
    found = {(row["node"], row["rule"], tuple(row["evidence"])) for row in rows}
    assert len(found) == len(rows)
    return found


def test_every_fault_is_found_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    generate(tmp_path / "good", frames=6000, seed=3, node="good")
    want: Told = set()
    for seed in (1, 2):
        node = f"bad {seed}"
        generate(tmp_path / node, frames=6000, seed=seed, node=node, faults="all")
        for fault in json.loads((tmp_path / node / "truth.json").read_text())["faults"]:
            for one in (fault, *fault["companions"]):
                want.add((node, one["rule"], tuple(one["evidence"])))
    assert {rule for _, rule, _ in want} == {rule.name for rule in RULES}
    assert told(violations(read_journal(spark, tmp_path))) == want


def test_nodes_have_numbers_and_time_of_their_own(journal_of: Callable[..., DataFrame]) -> None:
    def of(node: str, seq: int, **row: Any) -> dict[str, Any]:
        return {"node": node, "seq": seq, "link": LINK, "recorded": "off"} | row

    asks = {"kind": "message", "head": 0x49, "id": 1, "exchange": LINK + bytes([1] * 8)}
    at = LATER["at"] * 1_000_000_000
    journal = journal_of(
        [
            of("one", 1, **asks),
            of("one", 2, kind="link_opened", time_ns=1_780_000_000_000_000_000 + int(at)),
            of("two", 1, **asks),
            of("two", 3, kind="link_closed"),
        ]
    )
    assert told(violations(journal)) == {("one", "mfp-not-acked", (1,)), ("two", "journal-gap", (1, 3))}


def test_of_nothing_there_is_nothing_to_say(journal_of: Callable[..., DataFrame]) -> None:
    assert told(violations(journal_of([]))) == set()
