"""Stages: when links came and went, and how far the time of each node has come.

journal (``record.ROW_SCHEMA``) -> small tables that the rules about exchanges ask (spec/audit.md, section 1).
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

LINK_KINDS: Final = ("link_opened", "link_closed", "register")
"""Rows that tell of a link: it came, it went, it is a worker's."""


def link_events(journal: DataFrame) -> DataFrame:
    """One row per link that came, went or registered as a worker."""
    told = F.col("kind").isin(*LINK_KINDS) & (F.col("direction") == "in") & F.col("refused").isNull()
    return journal.where(told).select("node", "link", "protocol", "kind", "seq", "time_ns", "code", "ref")


def horizon(journal: DataFrame) -> DataFrame:
    """The latest time of each node."""
    return journal.groupBy("node").agg(F.max("time_ns").alias("horizon_ns"))


def closings(links: DataFrame) -> DataFrame:
    """Per link that was ever closed: when first (``gone_ns``), and all closings (``closings``) in order."""
    closed = links.where(F.col("kind") == "link_closed").groupBy("node", "link")
    return closed.agg(
        F.min("time_ns").alias("gone_ns"),
        F.array_sort(F.collect_list(F.struct("seq", "time_ns"))).alias("closings"),
    )


def standing(links: DataFrame) -> DataFrame:
    """Per link: its first registration and closing, and in order how it came and went (``events``)."""
    kind, seq = F.col("kind"), F.col("seq")
    event = F.struct("seq", (kind == "link_closed").alias("closes"))
    return links.groupBy("node", "link").agg(
        F.min(F.when(kind == "register", seq)).alias("registered"),
        F.min(F.when(kind == "link_closed", seq)).alias("first_closed"),
        F.array_sort(F.collect_list(F.when(kind != "register", event))).alias("events"),
    )
