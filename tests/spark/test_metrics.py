"""Exchanges by the minute, and percentiles that a histogram of the same waits agrees with."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from framehub.journal.generate import generate
from framehub.pipeline import exchanges, read_journal
from framehub.pipeline.schemas import EXCHANGES, METRICS, check, shape
from framehub.pipeline.stages.metrics import OUTCOMES, metrics, metrics_of
from framehub.report.histogram import Histogram
from framehub.waits import EDGES, buckets_of

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)


def exchange(opened: datetime | None = NOON, wait: int | None = 100, **more: Any) -> dict[str, Any]:
    return {
        "node": "one", "protocol": "mfp", "kind": "request", "endpoint": "chat", "outcome": "ok",
        "opened": opened, "wait_us": wait, "frames_in": 1, "frames_out": 2, "bytes_in": 30, "bytes_out": 50,
    } | more  # fmt: skip


def table(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    whole = [{name: row.get(name) for name in EXCHANGES.names} for row in rows]
    return spark.createDataFrame([Row(**row) for row in whole], EXCHANGES)


def made(exchanges_: DataFrame) -> list[Row]:
    rows = check("metrics", metrics_of(exchanges_))
    return rows.orderBy("minute", "node", "kind", "endpoint", "service").collect()


def test_each_minute_and_name_is_a_row(spark: SparkSession) -> None:
    rows = [
        exchange(),
        exchange(NOON + timedelta(seconds=59.999999), outcome="error", wait=3_000_000),
        exchange(NOON + timedelta(seconds=1), outcome="open", wait=None),
        exchange(NOON + timedelta(seconds=60)),
        exchange(endpoint="other"),
        exchange(protocol="hub", kind="stream", service=3),
        exchange(protocol="hub", kind="stream", service=4),
        exchange(kind="ping", endpoint=None, outcome="timeout", wait=None),
        exchange(None),
    ]
    assert shape(metrics_of(table(spark, rows)).schema) == shape(METRICS)
    found = made(table(spark, rows))
    keys = [(row["minute"].minute, row["kind"], row["endpoint"], row["service"]) for row in found]
    assert keys == [
        (0, "ping", None, None), (0, "request", "chat", None), (0, "request", "other", None),
        (0, "stream", "chat", 3), (0, "stream", "chat", 4), (1, "request", "chat", None),
    ]  # fmt: skip
    ping, chat = found[0], found[1]
    counts = {name: chat[name] for name in ("count", *OUTCOMES, "answered")}
    assert counts == dict.fromkeys(OUTCOMES, 0) | {"count": 3, "ok": 1, "error": 1, "open": 1, "answered": 2}
    assert (chat["frames_in"], chat["frames_out"], chat["bytes_in"], chat["bytes_out"]) == (3, 6, 90, 150)
    assert (chat["p50_us"], chat["p99_us"], chat["max_us"]) == (100.0, 3_000_000.0, 3_000_000)
    assert chat["waits"] == [Row(le_us=100.0, count=1), Row(le_us=float(EDGES[130]), count=1)]
    assert (ping["answered"], ping["p50_us"], ping["max_us"], ping["waits"]) == (0, None, None, [])


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/St_Johns"])
def test_minutes_and_days_are_utc_wherever_the_session_is(spark: SparkSession, zone: str) -> None:
    rows = table(spark, [exchange(MIDNIGHT - timedelta(microseconds=1)), exchange(MIDNIGHT)])
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        found = metrics_of(rows).orderBy("minute").selectExpr("unix_micros(minute) as us", "date").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    whole = int(MIDNIGHT.timestamp()) * 10**6
    assert [(row["us"], row["date"]) for row in found] == [
        (whole - 60_000_000, date(2026, 3, 1)), (whole, date(2026, 3, 2)),
    ]  # fmt: skip


def test_buckets_and_percentiles_are_those_of_a_histogram(spark: SparkSession) -> None:
    dice = np.random.default_rng(5)
    near = np.concatenate([np.floor(EDGES), np.ceil(EDGES), np.ceil(EDGES) + 1]).astype(np.int64)
    every = {
        "edges": near,
        "usual": np.floor(np.exp(dice.normal(9, 1, 2000))).astype(np.int64),
        "odd": np.array([-7, 0, 1, 2, 10**9, 10**9 + 1, 10**15]),
        "one": np.array([17]),
        "long": np.array([10**10, 10**11]),
    }
    arrays = [
        pa.table({"endpoint": [name] * len(waits), "wait_us": pa.array(waits, pa.int64())})
        for name, waits in every.items()
    ]
    usual = table(spark, [exchange()]).drop("endpoint", "wait_us")
    rows = usual.crossJoin(spark.createDataFrame(pa.concat_tables(arrays))).select(*EXCHANGES.names)
    found = {row["endpoint"]: row for row in made(rows)}
    assert found.keys() == every.keys()
    for name, waits in every.items():
        histogram = Histogram()
        histogram.add(waits)
        row = found[name]
        edges = [*EDGES.tolist(), float("inf")]
        numbers, counts = np.unique(buckets_of(waits), return_counts=True)
        want = [(edges[number], count) for number, count in zip(numbers, counts.tolist(), strict=True)]
        assert [(bucket["le_us"], bucket["count"]) for bucket in row["waits"]] == want
        told = [row[quantile] for quantile in ("p50_us", "p95_us", "p99_us")]
        assert told == [histogram.quantile(share) for share in (0.5, 0.95, 0.99)]
        assert row["max_us"] == waits.max()


def test_a_whole_journal_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=3000, seed=2)
    journal = read_journal(spark, tmp_path / "journal")
    rows = metrics(journal).collect()
    begun = exchanges(journal).where("opened is not null").collect()
    assert sum(row["count"] for row in rows) == len(begun)
    assert sum(row["answered"] for row in rows) == sum(row["wait_us"] is not None for row in begun)
    assert sum(row["bytes_in"] for row in rows) == sum(row["bytes_in"] for row in begun)
    assert all(sum(row[name] for name in OUTCOMES) == row["count"] for row in rows)
    assert all(sum(bucket["count"] for bucket in row["waits"]) == row["answered"] for row in rows)
