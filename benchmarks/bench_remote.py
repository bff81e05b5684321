"""DataFrames that call functions: a window of calls, whole columns, and who has to wait for a job.

One Spark on this machine, a gateway without a journal, and workers, each in processes of its own. Rows a
second are those of a whole job in a session that is warm: reading, calling and counting; the job with one
call at a time has as many rows as take about as long as those of the others. "In place" is a
pandas UDF that does the same without leaving the task, the limit of what calling elsewhere can reach.

The last part is a caller as a page would be, one call after another with pauses, alone and beside a job that
has far more rows than the workers can do meanwhile; and once more with a proxy that lets groups of queries
fill the workers' windows, as if they were anybody's.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, NamedTuple

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import pandas_udf

import framehub
from benchmarks.report import Report
from framehub.pipeline import remote, session

MEASURES = (
    "src/framehub/pipeline/remote_arguments.py",
    "src/framehub/pipeline/remote_function.py",
    "src/framehub/pipeline/remote_results.py",
    "src/framehub/pipeline/remote_task.py",
    "src/framehub/pipeline/remote_types.py",
    "src/framehub/rpc",
    "src/framehub/runtime",
)

ROOT: Final = Path(__file__).parents[1]
MODULE: Final = "benchmarks.sides.remote_functions"
ANY: Final = "127.0.0.1:0"
ONE_BY_ONE: Final = 1_000
ROWS: Final = 50_000
MANY: Final = 400_000
CALLS: Final = 300
PAUSE: Final = 0.02
TO_ONE: Final = 40.0


class Gateway(NamedTuple):
    """Where clients and workers connect."""

    clients: str
    workers: str


@contextmanager
def started(*words: str, **more: str) -> Iterator[str]:
    """A command of ours, once it is ready; what it says then."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **more}
    command = [sys.executable, "-m", "framehub", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env)
    assert process.stdout is not None
    try:
        yield process.stdout.readline()
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def gateway(*workers: str, **settings: str) -> Iterator[Gateway]:
    """A gateway and these workers."""
    words = ("serve", "--listen", ANY, "--services", ANY, "--clients", ANY, "--workers", ANY)
    with started(*words, "--admin", "off", "--no-journal", **settings) as line:
        places = dict(word.split("=", 1) for word in line.split()[1:])
        made = Gateway(places["clients"], places["workers"])
        with _all([started("worker", f"{MODULE}:{each}", "--connect", made.workers) for each in workers]):
            yield made


@contextmanager
def _all(contexts: list[Any]) -> Iterator[None]:
    if not contexts:
        yield
        return
    with contexts[0], _all(contexts[1:]):
        yield


def seconds(frame: DataFrame) -> float:
    """How long a job takes that needs all of a frame's columns."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def best(make: Callable[[], DataFrame], rounds: int = 3) -> float:
    return min(seconds(make()) for _ in range(rounds))


def numbers(spark: SparkSession, rows: int, parts: int = 2) -> DataFrame:
    return spark.range(0, rows, numPartitions=parts).select("id", F.col("id").cast("double").alias("x"))


def windows(report: Report, spark: SparkSession) -> None:
    """Calls of 2 ms: one at a time, then ever more."""
    with gateway("waiting", "waiting") as own:
        seconds(numbers(spark, 100).select(remote("served", own.clients)("id")))  # warm
        one = remote("served", own.clients, window=1)
        base = ONE_BY_ONE / best(lambda: numbers(spark, ONE_BY_ONE, 1).select(one("id")), 2)
        report.say(f"a function of 2 ms{'rows/s':>22}{'to one at a time':>20}")
        report.say(f"  one call at a time {base:>19,.0f}{1.0:>19.1f}x")
        most = 0.0
        for window in (16, 256, 1024):
            own_window = remote("served", own.clients, window=window)
            rate = ROWS / best(lambda call=own_window: numbers(spark, ROWS).select(call("id")))  # type: ignore[misc]
            most = max(most, rate)
            report.say(f"  window {window:<13} {rate:>19,.0f}{rate / base:>19.1f}x")
        columns = remote("served_columns", own.clients, returns="bigint")
        rate = MANY / best(lambda: numbers(spark, MANY).select(columns("id")))
        report.say(f"  whole columns, arrow {rate:>19,.0f}{rate / base:>19,.0f}x")
    report.at_least("remote: a window of row calls to one call at a time, 2 ms", most / base, TO_ONE)
    report.at_least("remote: arrow calls to one call at a time, 2 ms", rate / base, TO_ONE)


def columns(report: Report, spark: SparkSession) -> None:
    """The same arithmetic by row, by column, and in place."""

    def plain(x: pd.Series) -> pd.Series:
        return x * x + 1.0

    in_place: Any = pandas_udf(plain, "double")  # type: ignore[call-overload]
    with gateway("worker") as own:
        by_row = remote("by_row", own.clients, window=1024)
        by_column = remote("by_column", own.clients, returns="double")
        rates = {
            "by row": ROWS / best(lambda: numbers(spark, ROWS).select(by_row("x"))),
            "by column": MANY / best(lambda: numbers(spark, MANY).select(by_column("x"))),
            "in place, pandas UDF": MANY / best(lambda: numbers(spark, MANY).select(in_place("x"))),
        }
    limit = rates["in place, pandas UDF"]
    report.say(f"x * x + 1{'rows/s':>31}{'to in place':>20}")
    for name, rate in rates.items():
        report.say(f"  {name:<20}{rate:>18,.0f}{rate / limit:>19.3f}x")
    report.say(f"  arrow to row calls {rates['by column'] / rates['by row']:>38.1f}x")


def waits(report: Report, spark: SparkSession) -> None:
    """A caller, alone and beside a job."""
    report.say(f"a caller of 2 ms{'calls':>14}{'p50 ms':>10}{'p99 ms':>10}{'most ms':>10}")
    alone = beside = 0.0
    for name, ahead in (("groups are held back", None), ("groups fill the windows", "1000")):
        settings = {"FRAMEHUB_RPC__GROUP_AHEAD": ahead} if ahead else {}
        with gateway("worker", **settings) as own:
            with framehub.Functions.blocking(own.clients) as functions:
                functions.call("busy", 1)
                if ahead is None:
                    alone = told(report, "alone", calls(functions))
                job = Job(spark, own.clients)
                job.begin()
                times = calls(functions)
                job.end()
            found = told(report, name, times)
            beside = found if ahead is None else beside
    report.say(f"  p99 beside a job to p99 alone {beside / alone:>26.1f}x")


class Job:
    """A job with more rows than will be done."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self._spark = spark
        self._call = remote("busy", address)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        """Start it, and wait until it is at work."""
        self._thread.start()
        time.sleep(6.0)

    def end(self) -> None:
        """Stop it, and what it left at the proxy."""
        self._spark.sparkContext.cancelAllJobs()
        self._thread.join()
        self._call.end()

    def _run(self) -> None:
        try:
            seconds(numbers(self._spark, 200_000).select(self._call("id")))
        except Exception as exc:
            assert "cancelled" in str(exc), exc  # noqa: PT017


def calls(functions: Any) -> list[float]:
    times = []
    for number in range(CALLS):
        began = time.perf_counter()
        functions.call("busy", number)
        times.append(1e3 * (time.perf_counter() - began))
        time.sleep(PAUSE)
    return times


def told(report: Report, name: str, times: list[float]) -> float:
    cuts = quantiles(times, n=100)
    report.say(f"  {name:<24}{len(times):>4}{cuts[49]:>10.1f}{cuts[98]:>10.1f}{max(times):>10.1f}")
    return cuts[98]


def main(report: Report) -> None:
    conf = {"spark.driver.memory": "1500m", "spark.sql.execution.arrow.maxRecordsPerBatch": "10000"}
    with tempfile.TemporaryDirectory() as place:
        spark = session("local[2]", "bench remote", conf=conf, log=Path(place) / "log")
        try:
            windows(report, spark)
            columns(report, spark)
            waits(report, spark)
        finally:
            spark.stop()
