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
from framehub.pipeline.stages.frames import day, hexadecimal, timestamp

ANSWERS: Final = ("result", "exception", "unknown_function")
_MOMENT: Final = ("seq", "time_ns", "mono_ns", "direction", "kind", "error")


def queries(journal: DataFrame) -> DataFrame:
    """One row per query of the journal."""
    rows = journal.where((F.col("protocol") == "rpc") & F.col("exchange").isNotNull())
    judged = _judge(_gather(rows))
    return judged.select(
        hexadecimal("exchange").alias("exchange"),
        hexadecimal("open.parent").alias("parent"),
        "node",
        "protocol",
        hexadecimal("link").alias("link"),
        F.coalesce("open.user", "user").alias("user"),
        F.lit("query").alias("kind"),
        "open.direction",
        "endpoint",
        timestamp("open.time_ns").alias("opened"),
        timestamp("answer.time_ns").alias("first_answer"),
        timestamp("verdict.time_ns").alias("closed"),
        F.expr("(answer.mono_ns - open.mono_ns) div 1000L").alias("wait_us"),
        timestamp("given.time_ns").alias("given"),
        timestamp("worked.time_ns").alias("worker_answered"),
        "dispatches",
        "outcome",
        F.when(F.col("outcome") == "error", _code()).alias("code"),
        F.col("verdict.direction").alias("ended_by"),
        "acked",
        "frames_in",
        "frames_out",
        "bytes_in",
        "bytes_out",
        "first_seq",
        "last_seq",
        day("first_ns").alias("date"),
    )


def _gather(rows: DataFrame) -> DataFrame:
    """One row per query, with the messages that matter and the counts."""
    kind, incoming = F.col("kind"), F.col("direction") == "in"
    asks, gives = (kind == "query") & incoming, (kind == "query") & ~incoming
    answers = kind.isin(*ANSWERS)
    told, busy = answers & ~incoming, F.coalesce(F.col("error") == ErrorCode.BUSY, F.lit(False))
    return rows.groupBy("node", "exchange").agg(
        _first(asks, "link", "user", "parent").alias("open"),
        F.max(F.when(asks, F.col("seq"))).alias("asked_last"),
        _first(told & ~busy).alias("answered"),
        _last(told & busy).alias("busy"),
        _first((kind == "cancel") & incoming).alias("cancelled"),
        _last(gives).alias("given"),
        _first(answers & incoming).alias("worked"),
        F.count_if(gives).alias("dispatches"),
        (F.count_if((kind == "query_received") & ~incoming) > 0).alias("acked"),
        F.min("protocol").alias("protocol"),
        F.min("user").alias("user"),
        F.min("link").alias("any_link"),
        F.max("endpoint").alias("endpoint"),
        F.count_if(incoming).alias("frames_in"),
        F.count_if(~incoming).alias("frames_out"),
        F.sum(F.when(incoming, F.col("bytes")).otherwise(0)).alias("bytes_in"),
        F.sum(F.when(incoming, 0).otherwise(F.col("bytes"))).alias("bytes_out"),
        F.min("seq").alias("first_seq"),
        F.max("seq").alias("last_seq"),
        F.min("time_ns").alias("first_ns"),
    )


def _first(condition: Column, *columns: str) -> Column:
    return F.min_by(F.struct(*_MOMENT, *columns), F.when(condition, F.col("seq")))


def _last(condition: Column) -> Column:
    return F.max_by(F.struct(*_MOMENT), F.when(condition, F.col("seq")))


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
        gathered.withColumn("link", F.coalesce("open.link", "any_link"))
        .withColumn("answer", answer)
        .withColumn("verdict", F.when(gave_up, F.col("cancelled")).otherwise(F.col("answer")))
        .withColumn("answer", F.when(F.col("verdict.kind") != "cancel", F.col("answer")))
        .withColumn("outcome", outcome)
    )


def _code() -> Column:
    """Why there is no result, also where the row does not say it."""
    unknown = F.when(F.col("verdict.kind") == "unknown_function", ErrorCode.UNKNOWN_FUNCTION.value)
    return F.coalesce(F.col("verdict.error"), unknown, F.lit(ErrorCode.FUNCTION_FAILED.value))
