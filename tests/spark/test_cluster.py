"""The same answers from executors in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from framehub.journal.generate import generate
from framehub.pipeline import exchanges, read_journal

pytestmark = pytest.mark.spark

PROGRAM = """
import sys
from pathlib import Path
from framehub.pipeline import exchanges, session

spark = session("local-cluster[2,1,1024]", log=Path(sys.argv[2]), conf={"spark.sql.shuffle.partitions": "2"})
journal = spark.read.format("framehub").load(sys.argv[1])
assert journal.rdd.getNumPartitions() > 2
for line in exchanges(journal).toJSON().collect():
    print(line)
spark.stop()
"""


@pytest.mark.timeout(180)
def test_two_executors_agree_with_one(spark: SparkSession, tmp_path: Path) -> None:
    journal, log = tmp_path / "journal", tmp_path / "log"
    generate(journal, frames=8000, seed=5, segment_bytes=300_000)
    command = [sys.executable, "-c", PROGRAM, str(journal), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + log.read_text()
    want = exchanges(read_journal(spark, journal)).toJSON().collect()
    assert sorted(done.stdout.splitlines()) == sorted(want)
    assert {json.loads(line)["outcome"] for line in want} >= {"ok", "error"}
