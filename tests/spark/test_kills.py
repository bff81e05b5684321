"""A slice of ``make pipeline-kills``: whatever dies, here or in a cluster, the tables are the same."""

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from framehub.journal.generate import generate
from framehub.pipeline.run import run
from tests.chaos.pipeline.kills import kill_an_executor, kill_drivers, problems
from tests.cluster.same import rows_of, without_us

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kills")
    generate(root / "journal", frames=4000, seed=3, segment_bytes=500_000, faults="all")
    run(root / "journal", root / "quiet", spark=spark, step_rows=2100)
    return root


def test_a_driver_is_killed(place: Path) -> None:
    out = place / "driver"
    dice, quiet = random.Random(5), place / "quiet"
    killed = kill_drivers(place / "journal", out, kills=2, step_rows=2100, dice=dice, quiet=quiet)
    assert killed.kills == 2
    assert not list(problems(out))
    assert rows_of(out / "current") == rows_of(place / "quiet" / "current")


def test_an_executor_is_killed_in_a_cluster_that_was_sent_framehub(place: Path) -> None:
    out = place / "executor"
    seen = kill_an_executor(
        place / "journal",
        out,
        steps=1,
        step_rows=10_000,
        dice=random.Random(5),
        quiet=place / "quiet",
        python=without_us(place),
    )
    assert seen > 2, "another took its place"
    assert not list(problems(out))
    assert rows_of(out / "current") == rows_of(place / "quiet" / "current")
