"""The journal through Spark: sealed and open, whole and damaged, no row twice and none missing."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from framehub.errors import JournalError
from framehub.journal import reader
from framehub.journal.seal import seal
from framehub.pipeline import read_journal
from framehub.pipeline.journal import read_parts
from framehub.pipeline.schemas import journal_schema, shape

pytestmark = pytest.mark.spark

Same = Callable[[DataFrame, Path], bool]


def test_every_row_comes_once(spark: SparkSession, two_nodes: Path, holds_all_of: Same) -> None:
    frame = read_journal(spark, two_nodes)
    assert shape(frame.schema) == shape(journal_schema())
    assert holds_all_of(frame, two_nodes)


def test_what_is_sealed_or_written_later_changes_nothing(
    spark: SparkSession, two_nodes: Path, holds_all_of: Same
) -> None:
    frame = read_journal(spark, two_nodes / "north")
    open_part = reader.snapshot(two_nodes / "north")[-1]
    seal(Path(open_part.file), node="north", salt=open_part.salt)
    assert not Path(open_part.file).exists()
    assert holds_all_of(frame, two_nodes / "north")


def test_a_sealed_file_with_a_hole_gives_the_rest(
    spark: SparkSession, two_nodes: Path, holds_all_of: Same
) -> None:
    north = two_nodes / "north"
    sealed = Path(reader.snapshot(north)[0].file)
    _spoil(sealed)
    report = reader.check(north)
    assert not report.clean
    damaged = {damage.segment for damage in report.damages}
    frame = read_parts(spark, north, reader.snapshot(north), damaged=damaged)
    assert 0 < frame.count() < 6000
    assert holds_all_of(frame, north)


def _spoil(parquet: Path) -> None:
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
