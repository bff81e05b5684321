"""Stage: one row per stream of the hub and per ping, its outcome decided and its way timed.

journal (``record.ROW_SCHEMA``) -> the rows of ``schemas.EXCHANGES`` that are the hub's; ``exchanges`` takes
them in.

A stream has rows at its client and rows at its service; the latter have a ``ref`` (spec/journal.md, 3.7). Its
end is that of spec/audit.md, section 4: the first row after which nothing more may come.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.codes import HubCommand, HubError
from framehub.pipeline.stages.columns import hexadecimal, timestamp
from framehub.pipeline.stages.gathering import exchange_table, first, gather

DATA: Final = ("first", "message", "last", "service_error")
"""Frames that carry what users and services say."""
KILLING: Final = tuple(
    HubError[name]
    for name in ("TIMEOUT", "CLIENT_DISCONNECT", "SERVICE_DISCONNECT", "LIMIT", "BUSY", "INTERNAL")
)
"""Errors that end a stream; the others answer one frame."""
_LINK_BYTES: Final = 8
_TOLD: Final = ("kind", "code", "error")
_STREAM: Final = ("service", "function", "endpoint")


def streams(journal: DataFrame) -> DataFrame:
    """One row per stream and ping of the hub."""
    rows = journal.where((F.col("protocol") == "hub") & F.col("exchange").isNotNull())
    opened_stream = F.col("open.kind") == "first"
    return exchange_table(
        _judge(_gather(rows)),
        # Its name begins with the link of whoever opened it.
        link=F.lower(F.hex(F.substring("exchange", 1, _LINK_BYTES))),
        kind=F.when(opened_stream, "stream").when(F.col("open").isNotNull(), "ping"),
        id=F.when(opened_stream, F.col("open.id")),
        **{name: F.coalesce(f"open.{name}", name) for name in _STREAM},
        closed=timestamp("end.time_ns"),
        given=timestamp("given.time_ns"),
        worker_answered=timestamp("worked.time_ns"),
        given_to=hexadecimal("given.link"),
        timeout_s=F.when(opened_stream, F.col("open.code").cast("int")),
        code=F.when(F.col("outcome").isin("error", "disconnected"), F.col("end.error")),
        ended_by=F.col("end.direction"),
        acked=F.lit(False),
    )


def _gather(rows: DataFrame) -> DataFrame:
    """One row per stream or ping, with the frames that matter and the counts."""
    kind, code, incoming = F.col("kind"), F.col("code"), F.col("direction") == "in"
    at_client = F.col("ref").isNull()
    data, command = kind.isin(*DATA), kind == "command"
    ping, pong = command & (code == HubCommand.PING), command & (code == HubCommand.PONG)
    killing = (kind == "stream_error") & ~incoming & code.isin(*KILLING)
    told_last = kind.isin("last", "service_error") & ~incoming & at_client
    ends = told_last | killing | (command & (code == HubCommand.CLOSE) & incoming)
    opens = ((kind == "first") & incoming & at_client) | ping
    return gather(
        rows,
        first(opens, "kind", "code", "id", "user", "parent", *_STREAM).alias("open"),
        first(ends, *_TOLD).alias("ending"),
        first((data | killing) & ~incoming & at_client, *_TOLD).alias("told"),
        first(pong & incoming, *_TOLD).alias("pong_in"),
        first(pong & ~incoming, *_TOLD).alias("pong_out"),
        first((kind == "first") & ~incoming & ~at_client, "link").alias("given"),
        first(data & incoming & ~at_client).alias("worked"),
        *[F.max(name).alias(name) for name in _STREAM],
    )


def _judge(gathered: DataFrame) -> DataFrame:
    """Decide: columns ``end``, ``answer`` and ``outcome``."""
    # A pong goes the other way than its ping; streams have none.
    pong = F.when(F.col("open.direction") == "out", F.col("pong_in")).otherwise(F.col("pong_out"))
    return (
        gathered.withColumn("end", F.coalesce("ending", pong))
        .withColumn("answer", F.coalesce(pong, "told"))
        .withColumn("outcome", _outcome())
    )


def _outcome() -> Column:
    kind, code = F.col("end.kind"), F.col("end.code")
    killed = (
        F.when(code == HubError.TIMEOUT, "timeout")
        .when(code == HubError.CLIENT_DISCONNECT, "disconnected")
        .otherwise("error")
    )
    return (
        F.when(F.col("end").isNull(), "open")
        .when(kind == "last", "ok")
        .when(kind == "service_error", "error")
        .when(kind == "stream_error", killed)
        .when(code == HubCommand.CLOSE, "aborted")
        .otherwise("ok")
    )
