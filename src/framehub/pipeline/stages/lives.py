"""Stages: how long ids of MFP are taken, and ids that were used again too early (spec/audit.md, 2.1)."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from framehub.pipeline.schemas import VIOLATIONS
from framehub.pipeline.stages.audit_mfp import (
    ACK_WANTED,
    ANNOUNCED,
    CARRIES,
    MORE_FOLLOWS,
    RULES,
    STREAMED,
    mfp_rows,
)
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.links import closings
from framehub.pipeline.stages.rule import broken, least

_NEVER: Final = 2**63 - 1
_RECENT: Final = 16
"""So many earlier uses of an id are looked at one by one."""
_OF_LIVES: Final = [rule for rule in RULES if rule.scope == "life"]


def lives(rows: DataFrame, links: DataFrame) -> DataFrame:
    """One row per MFP exchange but pings: what took the id, and the row that released it.

    ``seq`` is the opening's; ``released_seq`` is null while the id is alive.
    """
    opens = "kind in ('message', 'request', 'ping')"
    ends = "kind in ('response', 'timeout', 'abort', 'unknown')"
    final = f"kind = 'binary' and head & {MORE_FOLLOWS} = 0"
    opening = F.struct("seq", "time_ns", "link", "kind", "direction", "id", "head", "user", "endpoint")
    whole = Window.partitionBy("node", "exchange")
    matter = mfp_rows(rows).where(F.expr(f"{opens} or {ends} or kind = 'ack' or ({final})"))
    told = (
        # One shuffle and one sort serve the window and the gathering.
        matter.repartition("node", "exchange")
        .withColumn("open", F.min_by(opening, F.expr(f"CASE WHEN {opens} THEN seq END")).over(whole))
        .groupBy("node", "exchange")
        .agg(
            F.first("open").alias("open"),
            least(ends).alias("ended"),
            least(final).alias("final"),
            least("kind = 'ack' and ref = open.id and direction <> open.direction").alias("acked"),
        )
        .where(F.expr("open.kind <> 'ping'"))
        .select("node", "exchange", "open.*", "ended", "final", "acked")
    )
    known = told.join(F.broadcast(closings(links)), ["node", "link"], "left")
    lost = F.expr(
        "CASE WHEN get(closings, 0).seq > seq THEN get(closings, 0).seq"
        " ELSE get(filter(closings, c -> c.seq > seq), 0).seq END"
    )
    names = ("node", "link", "direction", "id", "exchange", "endpoint", "user", "seq", "time_ns")
    return known.select(*names, F.least("ended", lost, _complete()).alias("released_seq"))


def _complete() -> Column:
    """The row with which all of a message has come; null until then."""
    wants_ack = f"coalesce(head & {ACK_WANTED} <> 0, false)"
    wants_final = f"coalesce(head & {CARRIES} in ({ANNOUNCED}, {STREAMED}), false)"
    waits = f"({wants_ack} and acked is null) or ({wants_final} and final is null)"
    return F.expr(
        f"CASE WHEN kind = 'message' and not ({waits}) THEN greatest(seq,"
        f" CASE WHEN {wants_ack} THEN acked END, CASE WHEN {wants_final} THEN final END) END"
    )


def reused_ids(lives: DataFrame) -> DataFrame:
    """Openings with an id that was alive, as rows of ``schemas.VIOLATIONS``."""
    uses = Window.partitionBy("node", "link", "direction", "id").orderBy("seq")
    before = uses.rowsBetween(Window.unboundedPreceding, -1)
    life = F.struct(F.col("released").alias("released"), F.col("seq").alias("seq"))
    used = lives.withColumn("released", F.coalesce("released_seq", F.lit(_NEVER))).withColumns(
        {
            "recent": F.collect_list(life).over(uses.rowsBetween(-_RECENT, -1)),
            "longest": F.max(life).over(before),
        }
    )
    # Nearly always the latest that is alive is among the recent ones; else the longest life is shown.
    alive = (
        "coalesce(try_element_at(filter(recent, r -> r.released > seq), -1).seq,"
        " CASE WHEN longest.released > seq THEN longest.seq END)"
    )
    found = used.withColumn("alive_seq", F.expr(alive)).where(F.col("alive_seq").isNotNull())
    shared = ("node", "time_ns", "link", "exchange", "endpoint")
    breaches = broken(found, _OF_LIVES, *shared)
    return as_table(breaches, VIOLATIONS, protocol=F.lit("mfp"), detail=None)
