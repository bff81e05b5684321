"""What a step keeps, and what it writes anew."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from framehub.journal.generate import generate
from framehub.pipeline.run import run

pytestmark = pytest.mark.spark


def test_settled_files_are_kept_and_hot_ones_are_not(spark: SparkSession, tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=3000, seed=12)
    steps: list[dict[str, dict[str, dict[str, object]]]] = []

    def look(what: str, *_: int) -> None:
        if what == "replaced the tables":
            current = (tmp_path / "out" / "current").resolve()
            steps.append(json.loads((current / "manifest.json").read_bytes())["files"])

    result = run(tmp_path / "journal", tmp_path / "out", spark=spark, step_rows=1000, progress=look)
    assert len(steps) == 3
    for before, after in pairwise(steps):
        for name in ("frames", "messages"):
            assert before[name].items() <= after[name].items(), "what was written stays"
        hot = {path for path, told in before["exchanges"].items() if told["generation"] == "hot"}
        assert hot
        assert not hot & set(after["exchanges"])
    first = tmp_path / "out" / "snapshots"
    kept = next(path for path in steps[0]["frames"])
    copies = [snapshot / "frames" / kept for snapshot in first.iterdir()]
    assert len(copies) == 3
    assert all(copy.samefile(copies[0]) for copy in copies), "linked, not copied"
    assert result.rows["violations"] == 0
