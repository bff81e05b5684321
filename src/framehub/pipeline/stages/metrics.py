"""Stage: exchanges counted by the minute.

exchanges (``schemas.EXCHANGES``) -> one row per minute, node, protocol, kind, endpoint and service
(``schemas.METRICS``).

Waits are counted in the buckets of ``framehub.waits``, and percentiles are read off these: the same whatever
the order the exchanges came in, and buckets can be added up to merge minutes.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.pipeline.schemas import BUCKET, METRICS
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.exchanges import exchanges
from framehub.waits import EDGES, PER_DECADE

OUTCOMES: Final = ("ok", "error", "timeout", "aborted", "unknown", "disconnected", "open")
SUMS: Final = ("count", *OUTCOMES, "frames_in", "frames_out", "bytes_in", "bytes_out")
_KEY: Final = ("_minute", "node", "protocol", "kind", "endpoint", "service")
_MINUTE_US: Final = 60_000_000
_DAY_US: Final = 86_400_000_000


def metrics(journal: DataFrame) -> DataFrame:
    """The metrics of a journal."""
    return metrics_of(exchanges(journal))


def metrics_of(rows: DataFrame) -> DataFrame:
    """The metrics of these exchanges; those whose opening is lost are left out."""
    merged = _merged(_counted(rows.where(F.col("opened").isNotNull())))
    return as_table(
        merged,
        METRICS,
        minute=F.timestamp_micros("_minute"),
        date=F.date_from_unix_date(
            F.expr(f"(_minute - pmod(_minute, {_DAY_US}L)) div {_DAY_US}L").cast("int")
        ),
        p50_us=_quantile(0.5),
        p95_us=_quantile(0.95),
        p99_us=_quantile(0.99),
        waits=F.transform("_waits", _bucket),
    )


def _counted(rows: DataFrame) -> DataFrame:
    """Exchanges counted by minute and bucket of their wait; those without an answer have none."""
    began = F.unix_micros("opened")
    placed = rows.withColumn("_minute", began - F.pmod(began, F.lit(_MINUTE_US))).withColumn(
        "_bucket", _bucket_of(F.col("wait_us"))
    )
    return placed.groupBy(*_KEY, "_bucket").agg(
        F.count("*").alias("count"),
        *[F.count_if(F.col("outcome") == outcome).alias(outcome) for outcome in OUTCOMES],
        *[F.sum(name).alias(name) for name in ("frames_in", "frames_out", "bytes_in", "bytes_out")],
        F.max("wait_us").alias("max_us"),
    )


def _merged(counted: DataFrame) -> DataFrame:
    """The buckets of each minute side by side, lowest first."""
    waited = F.col("_bucket").isNotNull()
    bucket = F.when(waited, F.struct(F.col("_bucket").alias("bucket"), F.col("count").alias("count")))
    return counted.groupBy(*_KEY).agg(
        *[F.sum(name).alias(name) for name in SUMS],
        F.sum(F.when(waited, F.col("count")).otherwise(0)).alias("answered"),
        F.max("max_us").alias("max_us"),
        F.sort_array(F.collect_list(bucket)).alias("_waits"),
    )


def _edge(bucket: Column) -> Column:
    """The upper edge of a bucket; beyond the last one there is none."""
    return F.coalesce(F.get(F.lit(EDGES.tolist()), bucket), F.lit(float("inf")))


def _bucket_of(wait: Column) -> Column:
    """How many edges lie below a wait: guessed by its logarithm, decided by the edges themselves."""
    edges, last = F.lit(EDGES.tolist()), len(EDGES)
    guess = F.ceil(F.log10(wait) * PER_DECADE).try_cast("int")
    found = (
        F.when(F.get(edges, guess - 1) >= wait, guess - 1)
        .when(F.get(edges, guess) < wait, guess + 1)
        .otherwise(guess)
    )
    return (
        F.when(wait <= float(EDGES[0]), 0).when(wait > float(EDGES[-1]), last).when(wait.isNotNull(), found)
    )


def _quantile(share: float) -> Column:
    """The edge that this share of the waits stayed within, and no more than the longest of them."""
    enough = F.lit(share) * F.col("answered")

    def add(seen: Column, bucket: Column) -> Column:
        count = seen["count"] + bucket["count"]
        reached = F.when(count >= enough, bucket["bucket"])
        return F.struct(count.alias("count"), F.coalesce(seen["bucket"], reached).alias("bucket"))

    start = F.struct(F.lit(0).cast("bigint").alias("count"), F.lit(None).cast("int").alias("bucket"))
    bucket = F.aggregate("_waits", start, add)["bucket"]
    return F.when(bucket.isNotNull(), F.least(_edge(bucket), F.col("max_us").cast("double")))


def _bucket(counted: Column) -> Column:
    edge = _edge(counted["bucket"]).alias("le_us")
    return F.struct(edge, counted["count"].alias("count")).cast(BUCKET)
