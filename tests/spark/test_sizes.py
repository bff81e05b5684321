"""Whichever way a step takes by its size, the tables are the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from framehub.journal.generate import generate
from framehub.pipeline.run import run
from framehub.pipeline.schemas import TABLES
from framehub.pipeline.sizes import USUAL, Sizes

pytestmark = pytest.mark.spark

TablesOf = Callable[[Path], dict[str, Any]]


def test_steps_over_and_under_the_limit_make_the_same_tables(
    spark: SparkSession, tmp_path: Path, tables_of: TablesOf
) -> None:
    """Two steps each, so that the second one has earlier rows of what it touches."""
    generate(tmp_path / "journal", frames=3200, seed=21, segment_bytes=500_000, faults="all")
    told = {}
    for name, limit in {"small": 10_000, "large": 50}.items():
        said: set[str] = set()
        result = run(
            tmp_path / "journal",
            tmp_path / name,
            spark=spark,
            step_rows=2800,
            sizes=Sizes(small_step=limit),
            progress=lambda what, *_, said=said: said.add(what),
        )
        assert result.new == 3200
        told[name] = said
    assert "writing tables" in told["small"] - told["large"], "all tables of a small step at the same time"
    assert "writing files" in told["large"] - told["small"], "one table of a large step after the other"
    made = {name: tables_of(tmp_path / name / "current") for name in told}
    for table in TABLES:
        assert made["large"][table] == made["small"][table] != [], table


def test_a_step_over_the_usual_limit(spark: SparkSession, tmp_path: Path, tables_of: TablesOf) -> None:
    frames = USUAL.small_step * 6 // 5
    generate(tmp_path / "journal", frames=frames, seed=22)
    large = run(tmp_path / "journal", tmp_path / "large", spark=spark)
    small = run(tmp_path / "journal", tmp_path / "small", spark=spark, sizes=Sizes(small_step=frames))
    assert large.new == small.new == frames
    assert large.rows == small.rows
    assert large.rows["violations"] == 0 < large.rows["files"]
    assert tables_of(tmp_path / "large/current") == tables_of(tmp_path / "small/current")
