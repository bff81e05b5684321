"""What all exchanges have in common, whatever their protocol: rows gathered, and columns of the table.

A stage groups its rows by exchange and picks the few that matter with ``first`` and ``last``, the opening as
``open``. It decides what became of it, and leaves the answer as ``answer``; ``exchange_table`` does the rest.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.pipeline.schemas import EXCHANGES
from framehub.pipeline.stages.columns import as_table, day, hexadecimal, timestamp

MOMENT: Final = ("seq", "time_ns", "mono_ns", "direction")
"""What is kept of every row that matters."""


def gather(rows: DataFrame, *chosen: Column) -> DataFrame:
    """One row per exchange: the rows that were chosen, and the counts."""
    incoming = F.col("direction") == "in"
    return rows.groupBy("node", "exchange").agg(
        *chosen,
        F.min("protocol").alias("protocol"),
        F.min("link").alias("link"),
        F.min("user").alias("user"),
        F.count_if(incoming).alias("frames_in"),
        F.count_if(~incoming).alias("frames_out"),
        F.sum(F.when(incoming, F.col("bytes")).otherwise(0)).alias("bytes_in"),
        F.sum(F.when(incoming, 0).otherwise(F.col("bytes"))).alias("bytes_out"),
        F.min("seq").alias("first_seq"),
        F.max("seq").alias("last_seq"),
        F.min("time_ns").alias("first_ns"),
        F.max_by("time_ns", "seq").alias("last_ns"),
    )


def first(condition: Column, *columns: str) -> Column:
    """The first row by seq for which the condition holds; null if there is none."""
    return F.min_by(F.struct(*MOMENT, *columns), F.when(condition, F.col("seq")))


def last(condition: Column, *columns: str) -> Column:
    """The last one."""
    return F.max_by(F.struct(*MOMENT, *columns), F.when(condition, F.col("seq")))


def exchange_table(judged: DataFrame, **made: Column | None) -> DataFrame:
    """The columns of ``schemas.EXCHANGES``; what a protocol has of its own is made by its stage."""
    nothing = ("service", "function", "given", "worker_answered", "given_to", "dispatches", "timeout_s")
    usual: dict[str, Column | None] = {
        "parent": hexadecimal("open.parent"),
        "user": F.coalesce("open.user", "user"),
        "direction": F.col("open.direction"),
        "opened": timestamp("open.time_ns"),
        "first_answer": timestamp("answer.time_ns"),
        "wait_us": F.expr("(answer.mono_ns - open.mono_ns) div 1000L"),
        "last": timestamp("last_ns"),
        "date": day("first_ns"),
        **dict.fromkeys(nothing),
    }
    return as_table(judged, EXCHANGES, **(usual | made))
