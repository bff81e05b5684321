"""Stage: one row per call of a remote function, its outcome decided and its way timed.

journal (``record.ROW_SCHEMA``) -> the rows of ``schemas.EXCHANGES`` that are queries; ``exchanges`` takes
them in.

A query is many rows: from the client, to a worker, back, and again when it is sent twice or its worker dies.
One aggregation picks those that matter. The first answer or cancellation at the client's side decides. An
answer "busy" decides only while the client does not ask again: the same query may then be run after all.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.codes import ErrorCode
from framehub.pipeline.stages.columns import hexadecimal, timestamp
from framehub.pipeline.stages.gathering import exchange_table, first, gather, last

ANSWERS: Final = ("result", "exception", "unknown_function")
_TOLD: Final = ("kind", "error")


def queries(journal: DataFrame) -> DataFrame:
    """One row per query of the journal."""
    rows = journal.where((F.col("protocol") == "rpc") & F.col("exchange").isNotNull())
    return exchange_table(
        _judge(_gather(rows)),
        kind=F.lit("query"),
        id=None,
        endpoint=F.coalesce("open.endpoint", "endpoint"),
        closed=timestamp("verdict.time_ns"),
        given=timestamp("given.time_ns"),
        worker_answered=timestamp("worked.time_ns"),
        given_to=hexadecimal("given.link"),
        dispatches=F.col("dispatches"),
        code=F.when(F.col("outcome") == "error", _code()),
        ended_by=F.col("verdict.direction"),
    )


def _gather(rows: DataFrame) -> DataFrame:
    """One row per query, with the messages that matter and the counts."""
    kind, incoming = F.col("kind"), F.col("direction") == "in"
    asks, gives = (kind == "query") & incoming, (kind == "query") & ~incoming
    answers = kind.isin(*ANSWERS)
    told, busy = answers & ~incoming, F.coalesce(F.col("error") == ErrorCode.BUSY, F.lit(False))
    acked = (kind == "query_received") & ~incoming
    at_client = told | acked | (kind.isin("query", "response_received", "cancel") & incoming)
    return gather(
        rows,
        first(asks, "link", "user", "parent", "endpoint").alias("open"),
        F.max(F.when(asks, F.col("seq"))).alias("asked_last"),
        first(told & ~busy, *_TOLD).alias("answered"),
        last(told & busy, *_TOLD).alias("busy"),
        first((kind == "cancel") & incoming, *_TOLD).alias("cancelled"),
        last(gives, "link").alias("given"),
        first(answers & incoming).alias("worked"),
        F.count_if(gives).alias("dispatches"),
        (F.count_if(acked) > 0).alias("acked"),
        F.min_by("link", F.when(at_client, F.col("seq"))).alias("client"),
        F.max("endpoint").alias("endpoint"),
    )


def _judge(gathered: DataFrame) -> DataFrame:
    """Decide: columns ``link``, ``verdict``, ``answer`` and ``outcome``."""
    asked_again = F.coalesce(F.col("busy.seq") < F.col("asked_last"), F.lit(False))
    answer = F.coalesce("answered", F.when(~asked_again, F.col("busy")))
    gave_up = F.coalesce(F.col("cancelled.seq") < F.col("answer.seq"), F.col("cancelled").isNotNull())
    kind, error = F.col("verdict.kind"), F.col("verdict.error")
    outcome = (
        F.when(F.col("verdict").isNull(), "open")
        .when(kind == "result", "ok")
        .when((kind == "cancel") | (error == ErrorCode.CANCELLED), "aborted")
        .when(error == ErrorCode.TIMEOUT, "timeout")
        .otherwise("error")
    )
    return (
        gathered.withColumn("link", F.coalesce("open.link", "client"))
        .withColumn("answer", answer)
        .withColumn("verdict", F.when(gave_up, F.col("cancelled")).otherwise(F.col("answer")))
        .withColumn("answer", F.when(F.col("verdict.kind") != "cancel", F.col("answer")))
        .withColumn("outcome", outcome)
    )


def _code() -> Column:
    """Why there is no result, also where the row does not say it."""
    unknown = F.when(F.col("verdict.kind") == "unknown_function", ErrorCode.UNKNOWN_FUNCTION.value)
    return F.coalesce(F.col("verdict.error"), unknown, F.lit(ErrorCode.FUNCTION_FAILED.value))
