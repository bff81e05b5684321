"""Stage: rows that are missing in a journal (spec/audit.md, section 6).

Rows are counted by blocks of numbers; only of blocks that lack some are the rows themselves put in order.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from framehub.pipeline.schemas import VIOLATIONS
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.rule import Rule, broken

_BLOCK: Final = 65_536


def _about_bytes(name: str, sentence: str) -> Rule:
    """Checked where the bytes are decoded again: ``unsound``."""
    return Rule(name=name, protocol=None, scope="journal", sentence=sentence, when=f"rule = '{name}'")


RULES: Final = (
    Rule(
        name="journal-gap",
        protocol=None,
        scope="journal",
        sentence="No row is missing.",
        when="seq - previous > 1",
        evidence="array(previous, seq)",
    ),
    _about_bytes("raw-unlawful", "What was taken is a lawful frame."),
    _about_bytes("raw-checksum", "Its checksum is right."),
    _about_bytes("raw-differs", "The columns say what the bytes say."),
)


def gaps(rows: DataFrame) -> DataFrame:
    """Numbers that are missing between two rows of a node, as rows of ``schemas.VIOLATIONS``."""
    placed = rows.select("node", "seq", "time_ns", "link", "protocol").withColumn(
        "block", F.expr(f"seq div {_BLOCK}")
    )
    blocks = placed.groupBy("node", "block").agg(
        F.count("*").alias("rows"), F.min("seq").alias("first"), F.max("seq").alias("last")
    )
    lacking = blocks.where(F.expr("last - first + 1 > rows")).select("node", "block")
    inside = Window.partitionBy("node", "block").orderBy("seq")
    within = (
        placed.join(F.broadcast(lacking), ["node", "block"], "left_semi")
        .withColumn("previous", F.lag("seq").over(inside))
        .drop("block")
    )
    # A node has few blocks: this is no sort of its rows.
    before = F.lag("last").over(Window.partitionBy("node").orderBy("block"))
    edges = blocks.withColumn("previous", before).where(F.expr("first - previous > 1"))
    between = placed.drop("block").join(
        F.broadcast(edges.select("node", F.col("first").alias("seq"), "previous")), ["node", "seq"]
    )
    pairs = within.unionByName(between).where(F.expr(RULES[0].when))
    shared = ("node", "time_ns", "link", "protocol")
    return as_table(broken(pairs, RULES[:1], *shared), VIOLATIONS, exchange=None, endpoint=None, detail=None)
