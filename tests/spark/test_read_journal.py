"""The journal through Spark: sealed and open, whole and damaged, no row twice and none missing."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from framehub.errors import JournalError, PipelineError
from framehub.journal import reader
from framehub.journal.generate import generate
from framehub.journal.seal import seal
from framehub.pipeline import read_journal
from framehub.pipeline.journal import read_parts
from framehub.pipeline.schemas import journal_schema, shape
from framehub.pipeline.source import encode_parts

pytestmark = pytest.mark.spark

FRAMES = 6000


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Two nodes, sealed segments and an open one each, under a name that is a pattern to Spark."""
    root = tmp_path / "a {b,c} [d] *"
    for number, node in enumerate(("north", "south")):
        generate(root / node, frames=FRAMES, seed=number, node=node, segment_bytes=1_000_000)
        kinds = {part.kind for part in reader.snapshot(root / node)}
        assert kinds == {"parquet", "blocks"}
    return root


def by_place(table: pa.Table) -> pa.Table:
    return table.sort_by([("node", "ascending"), ("seq", "ascending")])


def rows_of(frame: DataFrame) -> pa.Table:
    return by_place(frame.toArrow())


def same(got: pa.Table, path: Path) -> bool:
    want = by_place(pa.Table.from_batches(reader.read(path)))
    return bool(got.cast(want.schema).equals(want))


def test_every_row_comes_once(spark: SparkSession, journal: Path) -> None:
    frame = read_journal(spark, journal)
    assert shape(frame.schema) == shape(journal_schema())
    assert same(rows_of(frame), journal)


def test_the_data_source_gives_the_same_rows_in_any_session(spark: SparkSession, journal: Path) -> None:
    frame = spark.newSession().read.format("framehub").load(str(journal))
    assert frame.rdd.getNumPartitions() == len(reader.snapshot(journal))
    assert same(rows_of(frame), journal)


def test_only_the_columns_asked_for_are_read(spark: SparkSession, journal: Path) -> None:
    frame = spark.read.format("framehub").option("columns", "seq, kind").load(str(journal / "north"))
    assert shape(frame.schema) == [("seq", "bigint"), ("kind", "string")]
    assert frame.selectExpr("count(distinct seq)", "count(kind)").collect() == [(FRAMES, FRAMES)]


def test_what_is_sealed_or_written_later_changes_nothing(spark: SparkSession, journal: Path) -> None:
    frame = read_journal(spark, journal / "north")
    open_part = reader.snapshot(journal / "north")[-1]
    seal(Path(open_part.file), node="north", salt=open_part.salt)
    assert not Path(open_part.file).exists()
    got = rows_of(frame)
    assert got.num_rows == FRAMES
    assert same(got, journal / "north")


def test_a_sealed_file_with_a_hole_gives_the_rest(spark: SparkSession, journal: Path) -> None:
    north = journal / "north"
    sealed = Path(reader.snapshot(north)[0].file)
    _spoil(sealed)
    report = reader.check(north)
    assert not report.clean
    damaged = {damage.segment for damage in report.damages}
    got = rows_of(read_parts(spark, north, reader.snapshot(north), damaged=damaged))
    assert 0 < got.num_rows < FRAMES
    assert same(got, north)


def _spoil(parquet: Path) -> None:
    import pyarrow.parquet as pq

    group = pq.read_metadata(parquet).row_group(0)
    column = group.column(group.num_columns - 1)
    with parquet.open("r+b") as file:
        file.seek(column.data_page_offset + column.total_compressed_size // 2)
        file.write(os.urandom(64))


def test_no_journal_is_said_before_spark_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no such journal"):
        read_journal(spark, tmp_path / "nowhere")


def test_a_journal_without_rows_is_an_empty_frame(spark: SparkSession, tmp_path: Path) -> None:
    frame = read_parts(spark, tmp_path, [])
    assert shape(frame.schema) == shape(journal_schema())
    assert frame.isEmpty()


def test_columns_and_parts_that_cannot_be_are_refused() -> None:
    from framehub.pipeline.source import decode_parts

    with pytest.raises(PipelineError, match="no column colour"):
        journal_schema(("seq", "colour"))
    with pytest.raises(PipelineError, match="not a snapshot"):
        decode_parts('[{"file": "x"}]')
    assert decode_parts(encode_parts([])) == []
