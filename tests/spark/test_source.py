from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from framehub.errors import PipelineError
from framehub.journal import reader
from framehub.pipeline.schemas import journal_schema, shape
from framehub.pipeline.source import decode_parts, encode_parts

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
