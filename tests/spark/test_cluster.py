"""The same answers from executors in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from framehub.journal.generate import generate
from framehub.pipeline import exchanges, read_journal

pytestmark = pytest.mark.spark

# Without compiled plans: three JVMs start up sooner so, and both ways of running a plan are compared.
PROGRAM = """
import sys
from pathlib import Path
from framehub.pipeline import exchanges, session

conf = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
spark = session("local-cluster[2,1,1024]", log=Path(sys.argv[2]), conf=conf)
journal = spark.read.format("framehub").load(sys.argv[1])
print(journal.rdd.getNumPartitions())
for row in exchanges(journal).collect():
    print(row)
spark.stop()
"""


@pytest.mark.timeout(240)
def test_two_executors_agree_with_one(spark: SparkSession, tmp_path: Path) -> None:
    journal, log = tmp_path / "journal", tmp_path / "log"
    generate(journal, frames=5000, seed=5, segment_bytes=300_000)
    command = [sys.executable, "-c", PROGRAM, str(journal), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + log.read_text()
    partitions, *got = done.stdout.splitlines()
    want = exchanges(read_journal(spark, journal)).collect()
    assert int(partitions) > 2
    assert sorted(got) == sorted(map(str, want))
    assert {row["outcome"] for row in want} >= {"ok", "error"}
