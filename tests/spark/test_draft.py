"""Files of a snapshot in the making."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

from framehub.pipeline.draft import HOT, Draft, Kept, frame_of, load_files, read_files, small_ones
from framehub.pipeline.schemas import TABLES, shape
from framehub.pipeline.sizes import USUAL, Sizes

pytestmark = pytest.mark.spark


def test_what_is_written_is_taken_over_and_read_again(spark: SparkSession, tmp_path: Path) -> None:
    draft = Draft(spark, tmp_path / "a [b]", 7)
    draft.target.mkdir()
    opened = datetime(2026, 1, 5, 12, tzinfo=UTC)
    rows = spark.createDataFrame(
        [(opened.date(), opened, "x")], "date date, opened timestamp, exchange string"
    )
    columns = [
        col(name) if name in rows.columns else lit(None).cast(kind).alias(name)
        for name, kind in shape(TABLES["exchanges"])
    ]
    staged = draft.write("exchanges", rows.select(*columns), rows=1)
    (taken,) = draft.adopt("exchanges", staged, "g000007")
    assert taken == draft.target / "exchanges/date=2026-01-05/g000007-000007-000.parquet"
    ((path, told),) = draft.files["exchanges"].items()
    moment = int(opened.timestamp() * 1e6)
    assert told == Kept(rows=1, generation="g000007", first_us=moment, last_us=moment)
    again = read_files(spark, "exchanges", draft.target, [path])
    assert shape(again.schema) == shape(TABLES["exchanges"])
    assert [row["exchange"] for row in again.collect()] == ["x"]
    following = Draft(spark, tmp_path / "next", 8)
    following.keep("exchanges", draft.target, draft.files["exchanges"])
    assert following.rows()["exchanges"] == 1
    assert (following.target / "exchanges" / path).samefile(taken)
    draft.drop()
    assert not draft.target.exists()
    assert (following.target / "exchanges" / path).exists()


def test_tables_without_rows_have_a_file_with_the_columns(spark: SparkSession, tmp_path: Path) -> None:
    draft = Draft(spark, tmp_path / "a", 1)
    draft.target.mkdir()
    draft.fill_empty()
    for name, schema in TABLES.items():
        assert shape(spark.read.parquet(str(draft.target / name)).schema) == shape(schema)
    assert read_files(spark, "files", draft.target, []).count() == 0


@pytest.mark.parametrize(("rows", "files"), [(19, 1), (20, 2), (45, 4)])
def test_many_rows_are_more_than_one_file(spark: SparkSession, tmp_path: Path, rows: int, files: int) -> None:
    table = spark.range(rows, numPartitions=4).select(lit("2026-01-05").alias("date"), "id")
    draft = Draft(spark, tmp_path, 1, sizes=Sizes(rows_per_file=10))
    staged = draft.write("frames", table, rows=rows)
    assert len(list(staged.rglob("*.parquet"))) == files
    assert spark.read.parquet(str(staged)).count() == rows


def test_many_small_files_are_worth_putting_together() -> None:
    many = USUAL.many_files
    small = {f"date=2026-01-05/{n}": Kept(rows=9, generation=f"g{n}") for n in range(many)}
    others = {"big": Kept(rows=10**6, generation="g99"), "hot": Kept(rows=1, generation=HOT)}
    assert small_ones(small | others) == small
    assert small_ones(dict(list(small.items())[1:]) | others) == {}
    # Files of different days cannot be put together: there would be as many again after every step.
    days = {f"date=2026-01-{n:02}/0": Kept(rows=9, generation=f"g{n}") for n in range(1, 3 * many)}
    assert small_ones(days) == {}
    assert small_ones(days | small) == small
    three = dict(list(small.items())[:3])
    assert small_ones(three) == small_ones(three, Sizes(many_files=3, small_file=9)) == {}
    assert small_ones(three, Sizes(many_files=3, small_file=10)) == three


def test_a_manifest_tells_of_files() -> None:
    told = {"rows": 1, "generation": "g1", "first_us": None, "last_us": None}
    assert load_files({"files": {"frames": {"a": told}}}) == {"frames": {"a": Kept(rows=1, generation="g1")}}


def test_a_table_of_many_pieces_comes_whole(spark: SparkSession) -> None:
    some = pa.table({"x": [1, 2]})
    nothing = some.schema.empty_table()
    pieces = pa.concat_tables([nothing, nothing, some, nothing, some])
    assert [row["x"] for row in frame_of(spark, pieces).collect()] == [1, 2, 1, 2]
