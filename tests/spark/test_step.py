"""However a journal is cut into steps, the tables are the same."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from framehub.errors import PipelineError
from framehub.journal.generate import generate
from framehub.journal.reader import positions, snapshot
from framehub.pipeline.run import batches, follow, run
from framehub.pipeline.schemas import TABLES
from framehub.pipeline.sizes import Sizes
from framehub.pipeline.state import State, load_state

pytestmark = pytest.mark.spark

TablesOf = Callable[[Path], dict[str, Any]]


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nodes with every fault, sealed segments and open ones."""
    root = tmp_path_factory.mktemp("steps") / "journal"
    for number, node in enumerate(("north", "south")):
        generate(root / node, frames=3200, seed=number, node=node, segment_bytes=500_000, faults="all")
    return root


@pytest.fixture(scope="module")
def at_once(spark: SparkSession, journal: Path, tables_of: TablesOf) -> dict[str, Any]:
    out = journal.parent / "at-once"
    run(journal, out, spark=spark)
    return tables_of(out / "current")


def test_steps_of_any_size_come_to_the_same_tables(
    spark: SparkSession, journal: Path, at_once: dict[str, Any], tmp_path: Path, tables_of: TablesOf
) -> None:
    """Small steps cut through exchanges; the last one meets late rows of generations settled long before."""
    dice = Random(3)
    state, sizes = State(), []
    while True:
        goal = positions(snapshot(journal))
        size = dice.choice((1, 40, 700, 2500))
        batch = next(iter(batches(journal, state, goal, size)), None)
        if batch is None:
            break
        upto = positions(batch, state.nodes)
        taken = run_upto(journal, tmp_path / "out", spark, upto)
        state = load_state(tmp_path / "out")
        assert state.nodes == upto == taken
        sizes.append(size)
    assert len(sizes) > 4
    made = tables_of(tmp_path / "out" / "current")
    for name in TABLES:
        assert made[name] == at_once[name], name
    assert len(at_once["violations"]) > 100


def run_upto(journal: Path, out: Path, spark: SparkSession, upto: dict[str, int]) -> dict[str, int]:
    """One step to exactly there."""
    from framehub.pipeline import snapshots
    from framehub.pipeline.session import SQL
    from framehub.pipeline.step import step

    using = spark.newSession()
    for name, value in SQL.items():
        using.conf.set(name, value)
    with snapshots.locked(out):
        state = load_state(out)
        parts = snapshot(journal, after=state.nodes, upto=upto)
        return step(using, journal, out, state, parts, lambda _what, _share: None).nodes


def test_following_comes_to_the_same_tables(
    spark: SparkSession, journal: Path, at_once: dict[str, Any], tmp_path: Path, tables_of: TablesOf
) -> None:
    told: list[int] = []
    last = follow(
        journal,
        tmp_path / "out",
        spark=spark,
        step_rows=2500,
        idle=0.1,
        committed=lambda result: told.append(result.new),
    )
    assert sum(told) == last.new == 6400
    assert len(told) >= 3
    assert tables_of(tmp_path / "out" / "current") == at_once


def test_small_files_are_put_together(spark: SparkSession, tmp_path: Path, tables_of: TablesOf) -> None:
    sizes = Sizes(many_files=3)
    generate(tmp_path / "journal", frames=1500, seed=5)
    run(tmp_path / "journal", tmp_path / "whole", spark=spark)
    result = run(tmp_path / "journal", tmp_path / "out", spark=spark, step_rows=300, sizes=sizes)
    counts = {name: len(list((tmp_path / "out/current" / name).rglob("*.parquet"))) for name in TABLES}
    assert max(counts.values()) <= 6, counts
    assert tables_of(tmp_path / "out/current") == tables_of(tmp_path / "whole/current")
    manifest = json.loads((result.snapshot / "manifest.json").read_text())
    there = [file for name in TABLES for file in (result.snapshot / name).rglob("*.parquet")]
    on_disk = {str(file.relative_to(result.snapshot)) for file in there}
    told = {f"{name}/{path}" for name, files in manifest["files"].items() for path in files}
    assert told == {path for path in on_disk if not path.endswith("/empty.parquet")}
    for path in told:
        assert pq.read_metadata(result.snapshot / path).num_rows > 0


def test_another_journal_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    generate(tmp_path / "a", frames=300, seed=1, node="one")
    generate(tmp_path / "b", frames=900, seed=2, node="one")
    run(tmp_path / "a", tmp_path / "out", spark=spark)
    with pytest.raises(PipelineError, match="tables of another journal"):
        run(tmp_path / "b", tmp_path / "out", spark=spark)
    assert run(tmp_path / "b", tmp_path / "out", spark=spark, fresh=True).nodes == {"one": 900}
    frames = ds.dataset(tmp_path / "out/current/frames", partitioning="hive")
    assert frames.count_rows() > 700
