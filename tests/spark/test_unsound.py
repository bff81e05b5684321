"""Rules about recorded bytes as violations: by the stage and by the view, the same ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from framehub.journal.generate import generate
from framehub.journal.reader import snapshot
from framehub.pipeline import read_journal
from framehub.pipeline.findings import RULES
from framehub.pipeline.schemas import VIOLATIONS, shape
from framehub.pipeline.source import read_unsound
from framehub.pipeline.stages.unsound import unsound

pytestmark = pytest.mark.spark


def collected(table: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in table.collect()), key=lambda row: str(row["evidence"]))


def test_the_stage_and_the_view_find_what_was_broken(spark: SparkSession, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    generate(journal, frames=8000, seed=11, faults=RULES, each=3, segment_bytes=1_000_000)
    truth = json.loads((journal / "truth.json").read_text())["faults"]
    parts = snapshot(journal)
    assert {part.kind for part in parts} == {"parquet", "blocks"}

    by_view = read_unsound(spark, journal, parts)
    assert shape(by_view.schema) == shape(VIOLATIONS)
    found = collected(by_view)
    assert [(row["rule"], row["evidence"]) for row in found] == sorted(
        ((fault["rule"], fault["evidence"]) for fault in truth), key=lambda pair: str(pair[1])
    )
    assert {row["rule"] for row in found} == set(RULES)
    assert all(row["detail"] and row["sentence"].endswith(".") for row in found)

    by_stage = unsound(read_journal(spark, journal))
    assert shape(by_stage.schema) == shape(VIOLATIONS)
    assert collected(by_stage) == found


def test_no_parts_have_no_violations(spark: SparkSession, tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=100)
    assert read_unsound(spark, tmp_path / "journal", []).isEmpty()
