"""The data source: rows, columns, views, and how a journal is cut into partitions."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from framehub.errors import PipelineError
from framehub.journal import reader
from framehub.journal.generate import generate
from framehub.pipeline.decode import DECODED
from framehub.pipeline.findings import FINDINGS
from framehub.pipeline.schemas import journal_schema, shape
from framehub.pipeline.source import Rows, decode_parts, encode_parts, partitions_of, split

pytestmark = pytest.mark.spark

Same = Callable[[DataFrame, Path], bool]


def test_the_data_source_gives_the_same_rows_in_any_session(
    spark: SparkSession, two_nodes: Path, holds_all_of: Same
) -> None:
    frame = spark.newSession().read.format("framehub").load(str(two_nodes))
    assert frame.rdd.getNumPartitions() == len(reader.snapshot(two_nodes))
    assert holds_all_of(frame, two_nodes)


def test_only_the_columns_asked_for_are_read(spark: SparkSession, two_nodes: Path) -> None:
    frame = spark.read.format("framehub").option("columns", "seq, kind").load(str(two_nodes / "north"))
    assert shape(frame.schema) == [("seq", "bigint"), ("kind", "string")]
    assert frame.selectExpr("count(distinct seq)", "count(kind)").collect() == [(6000, 6000)]


def test_columns_and_parts_that_cannot_be_are_refused() -> None:
    with pytest.raises(PipelineError, match="no column colour"):
        journal_schema(("seq", "colour"))
    with pytest.raises(PipelineError, match="not a snapshot"):
        decode_parts('[{"file": "x"}]')
    assert decode_parts(encode_parts([])) == []


def test_a_snapshot_survives_being_written_down(two_nodes: Path) -> None:
    parts = reader.snapshot(two_nodes)
    assert decode_parts(encode_parts(parts)) == parts


def test_the_view_decoded_says_what_the_columns_say(spark: SparkSession, two_nodes: Path) -> None:
    north = str(two_nodes / "north")
    view = spark.read.format("framehub").option("view", "decoded").load(north)
    assert view.columns == DECODED.names
    assert {row["verdict"] for row in view.select("verdict").distinct().collect()} == {"lawful"}
    said = ["seq", "protocol", "kind", "payload_at", "payload_bytes", "query"]
    rows = spark.read.format("framehub").load(north)
    taken = rows.where("refused is null and kind not in ('refused', 'link_opened', 'link_closed')")
    assert view.select(*said).exceptAll(taken.select(*said)).isEmpty()
    assert view.count() == taken.count() > 5000


def test_the_view_unsound_of_a_sound_journal_is_empty(spark: SparkSession, two_nodes: Path) -> None:
    view = spark.read.format("framehub").option("view", "unsound").load(str(two_nodes))
    assert view.columns == FINDINGS.names
    assert view.isEmpty()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"view": "upside-down"}, "none of rows, unsound, decoded"),
        ({"view": "unsound", "columns": "seq"}, "only of the view rows"),
        ({"rowsPerPartition": "0"}, "option rowsPerPartition: '0' is no number above 0"),
    ],
)
def test_options_that_cannot_be_are_said(spark: SparkSession, options: dict[str, str], why: str) -> None:
    with pytest.raises(PySparkException, match=why):
        spark.read.format("framehub").options(**options).load("journal").count()


def test_a_large_sealed_segment_is_cut_between_row_groups(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds_all_of: Same
) -> None:
    from framehub.journal import seal

    monkeypatch.setattr(seal, "GROUP_ROWS", 4096)
    generate(tmp_path / "journal", frames=24_000, seed=3, segment_bytes=6_000_000)
    (whole, *_, tail) = reader.snapshot(tmp_path / "journal")
    assert (whole.kind, tail.kind) == ("parquet", "blocks")
    assert split(whole) == [whole], "there are not that many rows in it"
    pieces = split(whole, 4096)
    assert len(pieces) == -(-whole.rows // 4096)
    assert [piece.first_seq for piece in pieces] == [1 + 4096 * n for n in range(len(pieces))]
    assert split(tail, 1) == [tail]
    late = replace(whole, first_seq=5000)
    first = split(late, 4096)[0]
    assert (first.first_seq, first.last_seq) == (5000, 4096 * 3)
    rows = Rows(("node", "seq", "raw"))
    read = [batch for part in partitions_of(pieces) for batch in rows.read(part)]
    want = list(reader.read_part(whole, columns=["node", "seq", "raw"]))
    assert pa.Table.from_batches(read).to_pylist() == pa.Table.from_batches(want).to_pylist()
    frame = spark.read.format("framehub").option("rowsPerPartition", "4096").load(str(tmp_path / "journal"))
    cut = sum(len(split(part, 4096)) for part in reader.snapshot(tmp_path / "journal"))
    assert frame.rdd.getNumPartitions() == cut > len(pieces)
    assert holds_all_of(frame, tmp_path / "journal")


def test_what_cannot_be_read_is_not_cut(tmp_path: Path, two_nodes: Path) -> None:
    sealed = reader.snapshot(two_nodes)[0]
    lost = replace(sealed, file=str(tmp_path / "lost.parquet"), last_seq=10**6)
    assert split(lost, 1) == [lost]
