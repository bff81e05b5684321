"""Values of every Spark type through remote functions: as they are, or refused before anything is called."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from framehub.errors import PipelineError
from framehub.pipeline import remote
from framehub.pipeline.failures import reason
from tests.spark.offering import Offering, offering

FUNCTIONS = '''
import datetime
import os
import pathlib
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pyarrow as pa

import framehub

worker = framehub.Worker(processes=1)
runs = pathlib.Path(os.environ["FOLDER"], "runs")
Moment = Annotated[datetime.datetime, msgspec.Meta(tz=True)]


def given(value, kind):
    """A value back, if it came as the annotation says."""
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__}")
    return value


@worker.function
def same(x: Any) -> Any:
    with runs.open("a") as file:
        file.write(f"{x!r}\\n")
    return x


@worker.function(coders=("msgpack", "msgpack"))
def packed(x: Any) -> Any:
    return x


@worker.function(coders=("msgpack", "msgpack"))
def image(x: bytes) -> bytes:
    return given(x, bytes)


@worker.function(coders=("bytes", "bytes"))
def raw(x):
    return given(x, bytes)


@worker.function
def day(x: datetime.date | None) -> datetime.date | None:
    return x and given(x, datetime.date)


@worker.function
def days(x: list[datetime.date | None]) -> list[datetime.date | None]:
    return [one and given(one, datetime.date) for one in x]


@worker.function
def moment(x: Moment) -> Moment:
    return given(x, datetime.datetime)


@worker.function
def naive(x: datetime.datetime) -> datetime.datetime:
    return x


@worker.function
def price(x: Decimal) -> Decimal:
    return given(x, Decimal)


@worker.function(coders=("ULong", "ULong"))
def unsigned(x: int) -> int:
    return x + 2**63


@worker.function
def half(x: int) -> float:
    return x / 2


@worker.function(coders=("arrow", "arrow"))
def table(t: pa.Table) -> pa.Table:
    return t
'''

PLAIN = {
    "boolean": "(true), (false), (NULL)",
    "tinyint": "(-128Y), (127Y), (NULL)",
    "smallint": "(-32768S), (32767S), (NULL)",
    "int": "(-2147483648), (2147483647), (NULL)",
    "bigint": "(-9223372036854775808L), (9223372036854775807L), (9007199254740993L), (NULL)",
    "float": "(0.1F), (float('3.4028235E38')), (float('1.4E-45')), (float('-0.0')), (NULL)",
    "double": "(0.1D), (1.7976931348623157E308D), (4.9E-324D), (double('-0.0')), (NULL)",
    "string": "('Größe 漢字 🚢'), (''), ('a\\u0000\"\\\\b\\n'), (' '), (NULL)",
    "array<bigint>": "(array(9223372036854775807L, NULL)), (array()), (NULL)",
    "array<array<string>>": "(array(array('ü', NULL), NULL, array())), (NULL)",
    "map<string,double>": "(map('ü', 0.1D, '', NULL)), (map()), (NULL)",
    "struct<a:bigint,b:struct<c:string,d:array<float>>>": (
        "(named_struct('a', 1L, 'b', named_struct('c', 'ü', 'd', array(0.1F)))),"
        " (named_struct('a', NULL, 'b', named_struct('c', NULL, 'd', NULL))),"
        " (named_struct('a', 2L, 'b', NULL)), (NULL)"
    ),
}
"""Types that rows carry as they are, whatever the function says, with values."""

OTHER = {
    "decimal(38,18)": "(12345678901234567890.123456789012345678BD), (-0.000000000000000001BD), (NULL)",
    "binary": "(X'00FF80'), (X''), (NULL)",
    "date": "(DATE'0001-01-01'), (DATE'9999-12-31'), (DATE'1582-10-10'), (NULL)",
    "timestamp": (
        "(TIMESTAMP'2026-10-25 00:30:00.123456Z'), (TIMESTAMP'2026-10-25 01:30:00.123456Z'),"
        " (TIMESTAMP'1900-01-01 00:00:00.000001Z'), (NULL)"
    ),
    "timestamp_ntz": "(TIMESTAMP_NTZ'2026-03-29 02:30:00.123456'), (NULL)",
    "time(6)": "(TIME'23:59:59.999999'), (NULL)",
    "interval day to second": "(INTERVAL '1 2:03:04.000005' DAY TO SECOND), (NULL)",
    "variant": "(parse_json('{\"a\": 1}')), (NULL)",
    "map<int,string>": "(map(1, 'a')), (NULL)",
    "array<decimal(3,2)>": "(array(1.25BD, NULL)), (NULL)",
    "struct<a:struct<b:binary>>": "(named_struct('a', named_struct('b', X'00'))), (NULL)",
    "map<string,date>": "(map('a', DATE'2026-01-02')), (NULL)",
}
"""Types that JSON has not."""

REFUSED = {
    "decimal(38,18)": "x: decimal(38,18) would not arrive as it is: cast it to string, or to double",
    "binary": "x: binary would not arrive as it is: give base64(...), or",
    "date": "x: date would not arrive as it is: cast it to string",
    "timestamp": "x: timestamp would not arrive as it is: give unix_micros(...)",
    "timestamp_ntz": "x: timestamp_ntz would not arrive as it is: cast it to string",
    "time(6)": "x: time(6) would not arrive as it is: cast it to string",
    "interval day to second": "x: interval day to second would not arrive as it is: cast it to string",
    "variant": "x: variant would not arrive as it is: give to_json(...)",
    "map<int,string>": "x: map<int,string> would not arrive as it is: cast its keys to string",
    "array<decimal(3,2)>": "x[]: decimal(3,2) would not arrive as it is",
    "struct<a:struct<b:binary>>": "x.a.b: binary would not arrive as it is",
    "map<string,date>": "x{}: date would not arrive as it is",
}
"""What is said where nobody says what the function takes."""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Offering]:
    with offering(tmp_path_factory.mktemp("offering"), FUNCTIONS) as made:
        yield made


@pytest.fixture(scope="module")
def here(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark where a clock has summer and winter, so that local times tell less than instants."""
    settings = {"spark.sql.session.timeZone": "Europe/Berlin", "spark.sql.timeType.enabled": "true"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, old in before.items():
        spark.conf.set(name, str(old))


def spark_type(spark: SparkSession, name: str) -> T.DataType:
    return spark.sql(f"SELECT CAST(NULL AS {name})").schema[0].dataType


def there_and_back(spark: SparkSession, function: Any, type_: str, values: str) -> list[Row]:
    """What differs after a function that gives what it was given: rows of value and result."""
    frame = spark.sql(f"SELECT CAST(x AS {type_}) AS x FROM VALUES {values} AS t(x)")
    assert frame.count() == values.count("), (") + 1
    called = frame.select("x", function("x").alias("y"))
    assert dict(called.dtypes)["x"] == dict(called.dtypes)["y"]
    return [row for row in called.collect() if repr(row.x) != repr(row.y)]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["same", "packed"])
@pytest.mark.parametrize("type_", PLAIN)
def test_plain_values_go_both_ways_exactly(ours: Offering, here: SparkSession, name: str, type_: str) -> None:
    assert there_and_back(here, remote(name, ours.clients, returns=type_), type_, PLAIN[type_]) == []


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "type_"),
    [("image", "binary"), ("packed", "binary"), ("raw", "binary"), ("day", "date"), ("moment", "timestamp")],
)
def test_others_do_so_where_the_function_says_what_it_takes(
    ours: Offering, here: SparkSession, name: str, type_: str
) -> None:
    function = remote(name, ours.clients, returns=type_ if name == "packed" else None)
    assert function.type.simpleString() == type_
    assert there_and_back(here, function, type_, OTHER[type_]) == []


@pytest.mark.spark
def test_decimals_are_exact_for_a_function_of_decimals(ours: Offering, here: SparkSession) -> None:
    assert remote("price", ours.clients).type.simpleString() == "string"
    function = remote("price", ours.clients, returns="decimal(38,18)")
    assert there_and_back(here, function, "decimal(38,18)", OTHER["decimal(38,18)"]) == []


@pytest.mark.spark
def test_dates_are_exact_inside_others_too(ours: Offering, here: SparkSession) -> None:
    values = "(array(DATE'0001-01-01', NULL, DATE'9999-12-31')), (array()), (NULL)"
    assert there_and_back(here, remote("days", ours.clients), "array<date>", values) == []


@pytest.mark.spark
def test_a_date_that_python_does_not_have_is_said_so(ours: Offering, here: SparkSession) -> None:
    frame = here.sql("SELECT DATE'+10000-01-01' AS x").select(remote("day", ours.clients)("x"))
    with pytest.raises(Exception, match=r"out of range") as caught:
        frame.collect()
    assert "PipelineError: day: x: a value cannot be sent: " in reason(caught.value)


@pytest.mark.spark
def test_unsigned_results_are_decimals(ours: Offering, here: SparkSession) -> None:
    unsigned = remote("unsigned", ours.clients)
    assert unsigned.type.simpleString() == "decimal(20,0)"
    (row,) = here.sql("SELECT 9223372036854775807L AS x").select(unsigned("x").alias("y")).collect()
    assert str(row.y) == str(2**64 - 1)


@pytest.mark.spark
@pytest.mark.parametrize("type_", [*PLAIN, *OTHER])
def test_tables_carry_all_that_arrow_has(ours: Offering, here: SparkSession, type_: str) -> None:
    if type_ == "variant":
        with pytest.raises(PipelineError, match=r"variant.*returns='string'"):
            remote("table", ours.clients, returns=spark_type(here, type_))
        return
    own = spark_type(here, type_)
    if isinstance(own, T.StructType):  # as one of the table's columns: of the table is made a struct
        own = T.StructType([T.StructField("x", own)])
    function = remote("table", ours.clients, returns=own)
    values = PLAIN.get(type_) or OTHER[type_]
    if isinstance(own, T.StructType):
        frame = here.sql(f"SELECT CAST(x AS {type_}) AS x FROM VALUES {values} AS t(x)")
        rows = frame.select("x", function("x").alias("y")).collect()
        assert [repr(row.y.x) for row in rows] == [repr(row.x) for row in rows]
        return
    assert there_and_back(here, function, type_, values) == []


@pytest.mark.spark
@pytest.mark.parametrize("type_", OTHER)
def test_what_would_not_arrive_as_it_is_is_refused(ours: Offering, here: SparkSession, type_: str) -> None:
    """Where the column is made if its type is known there, else with the first batch; nothing is called."""
    runs = ours.folder / "runs"
    runs.write_text("")
    frame = here.sql(f"SELECT CAST(x AS {type_}) AS x FROM VALUES {OTHER[type_]} AS t(x)")
    same = remote("same", ours.clients, returns="string", on_error="null")
    with pytest.raises(PipelineError) as early:
        same(frame.x)
    with pytest.raises(Exception) as late:  # noqa: PT011
        frame.select(same(F.col("x"))).collect()
    assert f"same: {REFUSED[type_]}" in str(early.value)
    assert f"same: {REFUSED[type_]}" in reason(late.value)
    assert runs.read_text() == ""


@pytest.mark.spark
@pytest.mark.parametrize("sql", ["INTERVAL '1-2' YEAR TO MONTH", "make_interval(1, 2)"])
def test_what_arrow_does_not_have_either_is_refused(ours: Offering, here: SparkSession, sql: str) -> None:
    frame = here.sql(f"SELECT {sql} AS x")
    for name in ("same", "table"):
        function = remote(name, ours.clients, returns="string")
        with pytest.raises(PipelineError, match=f"{name}: x: .*interval.*cast it to string"):
            function(frame.x)
        with pytest.raises(Exception, match=r"(?i)interval") as late:
            frame.select(function("x")).collect()
        assert "KeyError" not in str(late.value)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("same", "binary"),
        ("same", "time"),
        ("same", "interval day to second"),
        ("same", "interval year to month"),
        ("same", "variant"),
        ("same", "void"),
        ("same", "map<int,string>"),
        ("same", "array<binary>"),
        ("same", "struct<a:int,b:struct<c:time>>"),
        ("packed", "variant"),
        ("half", "decimal(10,2)"),
        ("table", "interval year to month"),
        ("table", "array<variant>"),
    ],
)
def test_results_that_would_not_be_exact_are_refused_at_once(
    ours: Offering, here: SparkSession, name: str, type_: str
) -> None:
    with pytest.raises(PipelineError, match=rf"^{name}: returns='.*' cannot be: "):
        remote(name, ours.clients, returns=spark_type(here, type_))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "type_", "sql", "why"),
    [
        ("half", "bigint", "3L", "1.5"),
        ("same", "boolean", "1L", "1"),
        ("same", "double", "true", "true"),
        ("same", "double", "9007199254740993L", "exactly"),
        ("same", "array<string>", "'ab'", "'ab'"),
        ("same", "struct<a:string,b:string>", "'ab'", "'ab'"),
        ("same", "date", "1L", "1"),
        ("same", "date", "'1 May'", "1 May"),
        ("same", "timestamp", "'2026-01-02T03:04:05'", "time zone"),
        ("same", "timestamp", "'2026-01-02T03:04:05.1234567Z'", "microseconds"),
        ("same", "timestamp_ntz", "'2026-01-02T03:04:05Z'", "time zone"),
        ("same", "decimal(10,2)", "0.5D", "0.5"),
        ("same", "decimal(10,2)", "'0.125'", "data loss"),
        ("same", "double", "double('NaN')", "finite"),
        ("packed", "binary", "'ab'", "'ab'"),
        ("packed", "string", "X'00'", "bytes"),
    ],
)
def test_a_value_that_would_be_changed_is_the_row_s_failure(
    ours: Offering, here: SparkSession, name: str, type_: str, sql: str, why: str
) -> None:
    function = remote(name, ours.clients, returns=type_, on_error="column")
    frame = here.sql(f"SELECT {sql} AS x").select(function("x").alias("r"))
    (row,) = frame.select("r.result", "r.error").collect()
    assert row.result is None
    assert why.lower() in row.error.lower()


@pytest.mark.spark
def test_numbers_that_json_has_not_go_packed(ours: Offering, here: SparkSession) -> None:
    values = "(double('NaN')), (double('Infinity')), (double('-Infinity'))"
    assert there_and_back(here, remote("packed", ours.clients, returns="double"), "double", values) == []


@pytest.mark.spark
def test_local_times_are_texts(ours: Offering, here: SparkSession) -> None:
    """``datetime.datetime`` alone says nothing of a time zone, and its schema nothing of time."""
    naive = remote("naive", ours.clients)
    assert naive.type.simpleString() == "string"
    frame = here.sql("SELECT TIMESTAMP_NTZ'2026-03-29 02:30:00.123456' AS x")
    with pytest.raises(PipelineError, match=r"naive: x: .*timestamp_ntz.*cast it to string"):
        naive(frame.x)
    text = F.col("x").cast("string")
    wall = remote("naive", ours.clients, returns="timestamp_ntz")
    (row,) = frame.select("x", wall(text).alias("y")).collect()
    assert row.x == row.y


@pytest.mark.spark
@pytest.mark.parametrize(
    ("sql", "type_"),
    [
        ("0.1D", "decimal(38,18)"),
        ("TIMESTAMP_NTZ'2026-01-02 03:04:05'", "timestamp"),
        ("TIMESTAMP'2026-01-02 03:04:05'", "date"),
        ("array(0.1D)", "array<decimal(2,1)>"),
        ("5L", "boolean"),
        ("1.5D", "bigint"),
    ],
)
def test_a_table_s_columns_are_not_changed_either(
    ours: Offering, here: SparkSession, sql: str, type_: str
) -> None:
    function = remote("table", ours.clients, returns=type_, on_error="column")
    frame = here.sql(f"SELECT {sql} AS x").select(function("x").alias("r"))
    (row,) = frame.select("r.result", "r.error").collect()
    assert row.result is None
    assert "its result is no" in row.error
