"""The journal as a stream: each row once, whatever is sealed, added or killed meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from framehub.errors import JournalError, PipelineError
from framehub.journal import reader
from framehub.journal.generate import generate
from framehub.journal.seal import seal
from framehub.pipeline.source import Rows
from framehub.pipeline.stream import JournalStream

pytestmark = pytest.mark.spark

Same = Callable[[DataFrame, Path], bool]
ALL = ReadAllAvailable()


def stream(path: Path, limit: int | None = None) -> JournalStream:
    return JournalStream(str(path), Rows(("node", "seq", "raw")), limit)


def rows_between(source: JournalStream, start: dict[str, int], end: dict[str, int]) -> pa.Table:
    return pa.Table.from_batches(
        [batch for part in source.partitions(start, end) for batch in source.read(part)]
    )


def seal_all(path: Path) -> None:
    for part in reader.snapshot(path):
        if part.kind == "blocks":
            seal(Path(part.file), node=part.node, salt=part.salt)


def test_offsets_cut_the_journal_and_sealing_changes_nothing(two_nodes: Path) -> None:
    source = stream(two_nodes)
    start = source.initialOffset()
    middle = {"north": 5990, "south": 10}
    end = source.latestOffset(start, ALL)
    assert end == {"north": 6000, "south": 6000} == source.reportLatestOffset()
    before = [rows_between(source, start, middle), rows_between(source, middle, end)]
    seal_all(two_nodes)
    assert [rows_between(source, start, middle), rows_between(source, middle, end)] == before
    assert pa.concat_tables(before).num_rows == 12_000
    assert source.latestOffset(end, ALL) == end
    assert source.partitions(end, end) == []


def test_a_limit_leaves_no_node_waiting(two_nodes: Path) -> None:
    source = stream(two_nodes, 1000)
    assert source.getDefaultReadLimit() == ReadMaxRows(1000)
    assert stream(two_nodes).getDefaultReadLimit() == ALL
    start = {"north": 5900}
    seen = [start]
    while (end := source.latestOffset(seen[-1], ReadMaxRows(1000))) != seen[-1]:
        assert 0 < sum(end.values()) - sum(seen[-1].values()) <= 1000
        seen.append(end)
    assert seen[1] == {"north": 6000, "south": 900}
    assert seen[-1] == {"north": 6000, "south": 6000}
    assert source.latestOffset({}, ReadMaxRows(1)) in ({"north": 1}, {"south": 1})
    assert source.latestOffset({}, ALL) == seen[-1]


def test_nodes_that_come_later_are_taken_in_but_not_by_available_now(two_nodes: Path) -> None:
    source, now = stream(two_nodes), stream(two_nodes)
    now.prepareForTriggerAvailableNow()
    generate(two_nodes / "west", frames=50, seed=3, node="west")
    assert source.latestOffset({"north": 6000}, ALL) == {"north": 6000, "south": 6000, "west": 50}
    assert now.latestOffset({"north": 17}, ALL) == {"north": 6000, "south": 6000}


def test_rows_that_are_gone_are_said(two_nodes: Path) -> None:
    with pytest.raises(PipelineError, match="rows of node north up to 7000 are gone"):
        stream(two_nodes).partitions({"north": 5}, {"north": 7000})
    with pytest.raises(JournalError, match="no such journal"):
        stream(two_nodes / "nowhere").latestOffset({}, ALL)


def test_a_query_goes_on_where_it_was(
    spark: SparkSession, two_nodes: Path, tmp_path: Path, holds_all_of: Same
) -> None:
    def go_on() -> int:
        coming = spark.readStream.format("framehub").option("rowsPerBatch", "5000").load(str(two_nodes))
        query = (
            coming.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "out"))
        )
        query.awaitTermination()
        return len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))

    assert go_on() == 3
    seal_all(two_nodes)
    generate(two_nodes / "west", frames=50, seed=3, node="west")
    assert go_on() == 4
    assert holds_all_of(spark.read.parquet(str(tmp_path / "out")), two_nodes)


def test_options_and_places_that_cannot_be_are_said(
    spark: SparkSession, two_nodes: Path, tmp_path: Path
) -> None:
    def fails(path: Path, **options: str) -> None:
        coming = spark.readStream.format("framehub").options(**options).load(str(path))
        query = coming.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
        query.awaitTermination()

    with pytest.raises(PySparkException, match="'many' is no number above 0"):
        fails(two_nodes, rowsPerBatch="many")
    with pytest.raises(StreamingQueryException, match="no such journal"):
        fails(tmp_path / "nowhere")


PROGRAM = """
import sys
from pathlib import Path
from framehub.pipeline import session

journal, out, checkpoint, log = sys.argv[1:]
conf = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
spark = session("local[2]", log=Path(log), conf=conf)
coming = spark.readStream.format("framehub").option("rowsPerBatch", "500").load(journal)
writing = coming.writeStream.format("parquet").option("checkpointLocation", checkpoint)
writing.start(out).awaitTermination()
"""


def test_each_row_comes_once_though_the_driver_is_killed(
    spark: SparkSession, two_nodes: Path, tmp_path: Path, holds_all_of: Same
) -> None:
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    words = [str(two_nodes), str(out), str(checkpoint), str(tmp_path / "log")]
    driver = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], start_new_session=True)
    try:
        give_up = time.monotonic() + 300
        while not (checkpoint / "commits" / "3").exists():
            assert driver.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < give_up
            time.sleep(0.05)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    begun = json.loads((checkpoint / "offsets" / "3").read_text().splitlines()[-1])
    assert 0 < sum(begun.values()) < 12_000
    seal_all(two_nodes)
    coming = spark.readStream.format("framehub").load(str(two_nodes))
    writing = coming.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    writing.trigger(availableNow=True).start(str(out)).awaitTermination()
    assert holds_all_of(spark.read.parquet(str(out)), two_nodes)
