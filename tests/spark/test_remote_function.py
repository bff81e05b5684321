"""Remote functions as columns, between real processes."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import framehub.pipeline
from framehub.errors import PipelineError
from framehub.pipeline import remote
from framehub.pipeline.failures import reason
from tests.spark.offering import Offering, offering

FUNCTIONS = '''
import dataclasses
import datetime
import os
import pathlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import framehub

worker = framehub.Worker(processes=1)
runs = pathlib.Path(os.environ["FOLDER"], "runs")


def note(what):
    with runs.open("a") as file:
        file.write(f"{what}\\n")


@worker.function
def square(x: int) -> int:
    """The square of x."""
    note(x)
    if x == 13:
        raise ValueError("thirteen")
    return x * x


@worker.function
def add(a: float, b: float = 1.0) -> float:
    return a + b


@worker.function
def greet(name: str | None) -> str:
    return f"hello {name or 'nobody'}"


@worker.function
def hello() -> str:
    return "hello"


@dataclasses.dataclass
class Found:
    key: str
    days: list[datetime.date]


@worker.function
def found(key: str, day: datetime.date) -> Found:
    return Found(key, [day])


@worker.function
def anything(x: int) -> Any:
    return {"x": x} if x % 2 else 2**70


@worker.function(coders=("Pair<Int, Int>", "Long"))
def multiply(a: int, b: int) -> int:
    return a * b


@worker.function(coders=("arrow", "arrow"))
def total(table: pa.Table) -> pa.Table:
    note(f"rows {table.num_rows}")
    if table.num_rows == 3:
        raise ValueError("three")
    rows = pa.array([table.num_rows] * table.num_rows)
    return pa.table({"total": pc.multiply(table["price"], table["count"]), "rows": rows})


@worker.function(coders=("arrow", "arrow"))
def fewer(table: pa.Table) -> pa.Table:
    return table.slice(1)


@worker.function
def picture(file: framehub.File) -> int:
    return 1
'''


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Offering]:
    with offering(tmp_path_factory.mktemp("offering"), FUNCTIONS) as made:
        yield made


@pytest.fixture
def runs(ours: Offering) -> Callable[[], list[str]]:
    """What was run since the test began."""
    file = ours.folder / "runs"
    file.write_text("")
    return lambda: file.read_text().split("\n")[:-1]


@pytest.fixture
def numbers(spark: SparkSession) -> DataFrame:
    return spark.range(0, 10, numPartitions=2)


def column(frame: DataFrame) -> list[Any]:
    return [row[0] for row in frame.collect()]


@pytest.mark.spark
def test_a_function_is_a_column(ours: Offering, numbers: DataFrame, runs: Callable[[], list[str]]) -> None:
    square = remote("square", ours.clients)
    assert repr(square) == f"remote('square', '{ours.clients}') -> bigint"
    assert square.__doc__ == "The square of x."
    frame = numbers.select(square("id").alias("squared"))
    assert frame.schema.simpleString() == "struct<squared:bigint>"
    assert column(frame) == [x * x for x in range(10)]
    assert sorted(runs(), key=int) == [str(x) for x in range(10)]
    # A second action runs it again: only tries of the same task are one run.
    assert column(frame.where("squared > 50")) == [64, 81]
    assert len(runs()) == 20
    square.end()


@pytest.mark.spark
def test_columns_are_given_by_place_and_by_name(ours: Offering, numbers: DataFrame) -> None:
    add = remote("add", ours.clients)
    frame = numbers.limit(2).select(
        add("id", F.lit(0.5)).alias("a"),
        add("id").alias("b"),
        add(b="id", a=F.lit(10)).alias("c"),
        remote("hello", ours.clients)().alias("d"),
        remote("multiply", ours.clients)("id", F.lit(3)).alias("e"),
    )
    assert [tuple(row) for row in frame.collect()] == [
        (0.5, 1.0, 10.0, "hello", 0),
        (1.5, 2.0, 11.0, "hello", 3),
    ]


@pytest.mark.spark
def test_in_sql_and_with_column(ours: Offering, spark: SparkSession, numbers: DataFrame) -> None:
    remote("add", ours.clients).register(spark, "plus")
    remote("square", ours.clients).register(spark)
    assert column(spark.sql("SELECT plus(square(id), 0.5D) FROM range(3)")) == [0.5, 1.5, 4.5]
    added = numbers.withColumn("more", remote("square", ours.clients)(F.col("id") + 1))
    assert column(added.where("id = 3").select("more")) == [16]


@pytest.mark.spark
def test_types_go_both_ways(ours: Offering, spark: SparkSession) -> None:
    found = remote("found", ours.clients)
    assert found.type.simpleString() == "struct<key:string,days:array<date>>"
    frame = spark.sql("SELECT 'k' AS key, DATE'2026-01-02' AS day")
    (row,) = frame.select(found("key", "day").alias("f")).select("f.*").collect()
    assert (row.key, row.days) == ("k", [date(2026, 1, 2)])
    texts = remote("anything", ours.clients, returns="string")
    assert column(spark.range(2).select(texts("id"))) == [str(2**70), '{"x": 1}']


@pytest.mark.spark
def test_null_is_passed_only_to_those_who_take_it(
    ours: Offering, spark: SparkSession, runs: Callable[[], list[str]]
) -> None:
    frame = spark.sql("SELECT * FROM VALUES (1L, 'a'), (NULL, NULL) AS t(n, s)")
    got = frame.select(remote("square", ours.clients)("n"), remote("greet", ours.clients)("s")).collect()
    assert [tuple(row) for row in got] == [(1, "hello a"), (None, "hello nobody")]
    assert runs() == ["1"]


@pytest.mark.spark
def test_whole_columns_go_in_one_call(
    ours: Offering, spark: SparkSession, runs: Callable[[], list[str]]
) -> None:
    total = remote("total", ours.clients, returns="total double, rows bigint")
    frame = spark.range(0, 12_000, numPartitions=2).select(F.col("id").cast("double").alias("price"), "id")
    got = frame.select(total("price", count=F.lit(2.0)).alias("t")).select("t.*")
    assert got.agg(F.sum("total"), F.min("rows")).collect()[0][0] == 12_000 * 11_999.0
    assert sorted(runs()) == ["rows 6000", "rows 6000"]
    one = remote("fewer", ours.clients, returns="double", on_error="column")
    (row,) = frame.limit(1).select(one("price").alias("r")).select("r.*").collect()
    assert (row.result, row.error) == (None, "it was given 1 rows and gave 0")


@pytest.mark.spark
@pytest.mark.parametrize("pieces", [1, 1000])
def test_large_batches_go_in_pieces(
    ours: Offering, spark: SparkSession, runs: Callable[[], list[str]], pieces: int
) -> None:
    """Of 16 MiB a message; here 9,000 rows of a thousand doubles' width and one of no width to speak of."""
    wide = F.lit("x" * pieces).alias("wide")
    frame = spark.range(0, 9_000, numPartitions=1).select(F.col("id").cast("double").alias("price"), wide)
    total = remote("total", ours.clients, returns="total double, rows bigint")
    got = frame.select(total("price", "wide", count=F.lit(1.0)).alias("t")).agg(F.sum("t.total")).collect()
    assert got[0][0] == 9_000 * 8_999 / 2
    assert len(runs()) == (1 if pieces == 1 else 2)


@pytest.mark.spark
def test_rows_that_fail_do_what_was_asked_for(ours: Offering, spark: SparkSession) -> None:
    frame = spark.range(12, 15, numPartitions=1)
    null = remote("square", ours.clients, on_error="null")
    assert column(frame.select(null("id"))) == [144, None, 196]
    told = remote("square", ours.clients, on_error="column")
    assert told.type.simpleString() == "struct<result:bigint,error:string>"
    rows = [tuple(row) for row in frame.select(told("id").alias("r")).select("r.*").collect()]
    assert rows == [(144, None), (None, "ValueError: thirteen"), (196, None)]
    with pytest.raises(PythonException) as caught:
        frame.select(remote("square", ours.clients)("id")).collect()
    said = reason(caught.value)
    assert said.startswith(
        "framehub.errors.PipelineError: square failed in partition 0, row 1: ValueError: thirteen"
    )
    assert "on_error='null'" in said
    three = remote("total", ours.clients, returns="total double, rows bigint", on_error="column")
    columns = F.col("id").cast("double").alias("price"), F.lit(1.0).alias("count")
    errors = frame.select(*columns).select(three("price", "count").alias("r")).select("r.error")
    assert column(errors) == ["ValueError: three"] * 3


@pytest.mark.spark
def test_results_that_do_not_fit_are_the_row_s_failure(ours: Offering, spark: SparkSession) -> None:
    numbers = remote("anything", ours.clients, returns="bigint", on_error="column")
    rows = spark.range(2).select(numbers("id").alias("r")).select("r.*").collect()
    assert [row.result for row in rows] == [None, None]
    assert all(row.error.startswith("its result is no int64") for row in rows)


@pytest.mark.spark
def test_a_column_of_another_type_is_refused_before_anything_is_called(
    ours: Offering, numbers: DataFrame, runs: Callable[[], list[str]]
) -> None:
    with pytest.raises(PythonException) as caught:
        numbers.select(remote("square", ours.clients, on_error="null")(F.col("id").cast("string"))).collect()
    said = reason(caught.value)
    assert "square: x: it takes integer, and the column has string: cast it" in said
    assert runs() == []


@pytest.mark.spark
def test_what_can_be_known_is_told_where_it_is_written(ours: Offering, spark: SparkSession) -> None:
    square, total = remote("square", ours.clients), remote("total", ours.clients, returns="double")
    named = spark.sql("SELECT 1L AS id, 'x' AS name")
    assert named.select(square(named.id)).columns == ["square(id)"]
    for wrong, why in (
        (lambda: remote("sqare", ours.clients), "did you mean 'square'"),
        (lambda: remote("zzz", ours.clients), "offered are add, anything, fewer"),
        (lambda: remote("square", "tcp://127.0.0.1:1"), "no proxy is there; `framehub serve` starts one"),
        (lambda: remote("square", "nonsense"), "nonsense"),
        (lambda: remote("picture", ours.clients), "files, which are no columns"),
        (lambda: remote("picture", ours.clients, returns="bigint"), "files, which are no columns"),
        (lambda: remote("total", ours.clients), "returns="),
        (lambda: remote("anything", ours.clients), "returns="),
        (lambda: remote("square", ours.clients, returns="no such type"), "is no Spark type"),
        (lambda: remote("square", ours.clients, window=0), "window is a whole number from 1 to 65536, not 0"),
        (lambda: remote("square", ours.clients, retries=-1), "retries"),
        (lambda: remote("square", ours.clients, limit=0), "limit"),
        (lambda: remote("square", ours.clients, timeout=0), "timeout"),
        (lambda: remote("square", ours.clients, on_error="ignore"), "on_error"),  # type: ignore[arg-type]
        (lambda: square("id", "id"), r"square\(x: integer\) takes no 2 columns"),
        (lambda: square(y="id"), "no parameter y"),
        (lambda: square("id", x="id"), "given twice"),
        (square, "a column for x is missing"),
        (lambda: square(named.name), "square: x: it takes integer, and the column has string"),
        (lambda: square(x=named["name"]), "square: x: it takes integer, and the column has string"),
        (total, "at least one column"),
        (lambda: total("id", F.col("a.id")), "two columns are called id"),
        (lambda: total.register(spark), "SQL gives columns no names"),
    ):
        with pytest.raises(PipelineError, match=why):
            wrong()


@pytest.mark.spark
def test_a_stream_calls_for_each_of_its_batches(
    ours: Offering, spark: SparkSession, tmp_path: Path, runs: Callable[[], list[str]]
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.json").write_text(f'{{"n": {number}}}\n{{"n": 7}}\n')
    stream = spark.readStream.schema("n bigint").option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    called = stream.select("n", remote("square", ours.clients)("n").alias("s"))
    query = (
        called.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "state"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination()
    rows = sorted(tuple(row) for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert rows == [(0, 0), (1, 1), (2, 4), (7, 49), (7, 49), (7, 49)]
    assert sorted(runs()) == ["0", "1", "2", "7", "7", "7"]


def test_what_reads_a_journal_loads_no_sockets() -> None:
    """On executors, where many processes start."""
    program = "import sys, framehub.pipeline.source; print('zmq' in sys.modules); framehub.pipeline.remote"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    with pytest.raises(AttributeError, match="no attribute 'romote'"):
        framehub.pipeline.romote  # noqa: B018
