"""Stage: the files that were attached, announced or streamed.

journal (``record.ROW_SCHEMA``) -> one row per file (``schemas.FILES``), ``pieces`` finds those that came in
frames of their own. Their bytes stay in the journal; a complete file whose bytes were recorded has its
SHA-256 here.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.journal.record import WHOLE
from framehub.pipeline.schemas import FILES
from framehub.pipeline.stages import calls, coders, messages
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.pieces import pieces

_LONGEST_SUM: Final = 4
"""Bytes of a checksum at the end of an MFP frame, at most."""


def files(rows: DataFrame) -> DataFrame:
    """One row per file of the journal."""
    return _in_frames(rows).unionAll(_in_blocks(rows)).unionAll(pieces(rows))


def _in_frames(rows: DataFrame) -> DataFrame:
    """Attached to an MFP frame: map and files follow the payload."""
    carries = F.col("head").bitwiseAND(messages.CARRIES)
    attached = F.col("kind").isin(*messages.WITH_PAYLOAD) & (carries == messages.ATTACHED)
    return _attached(
        messages.opened(rows.where((F.col("protocol") == "mfp") & attached & messages.has_table(8))),
        table=messages.table_at(),
        count=F.col("files"),
        end=F.octet_length("raw"),
        slack=_LONGEST_SUM,
    )


def _in_blocks(rows: DataFrame) -> DataFrame:
    """Attached to an argument or a result, as clients see them: the coder ``envelope``."""
    kind, incoming = F.col("kind"), F.col("direction") == "in"
    at_client = ((kind == "query") & incoming) | ((kind == "result") & ~incoming)
    block = (F.col("coder") == "envelope") & F.col("recorded").isin(*WHOLE)
    return _attached(
        calls.opened(rows.where((F.col("protocol") == "rpc") & at_client & block)),
        table=calls.table_at(),
        count=F.col("_count"),
        end=F.col("payload_at").cast("bigint") + F.col("payload_bytes"),
        slack=0,
    )


def _attached(opened: DataFrame, *, table: Column, count: Column, end: Column, slack: int) -> DataFrame:
    """Files that follow a map; none where map and files do not fill the space up to ``end``."""
    measured = (
        opened.withColumn("_table", table)
        .withColumn("_places", coders.places(count, 8))
        .withColumn("_entries", F.array_size("_places"))
        .withColumn(
            "_sizes",
            F.transform("_places", lambda place: coders.u32(F.col("_table") + place * 8 + 4)),
        )
        # More names than files: nobody looks a file up in a list that a stranger made long.
        .withColumn("_names", F.slice("_names", F.lit(1), F.col("_entries")))
        .withColumn("_body", F.col("_table") + 8 * F.col("_entries"))
    )

    def file(place: Column) -> Column:
        at = F.col("_body") + F.aggregate(F.slice("_sizes", F.lit(1), place), F.lit(0).cast("bigint"), _add)
        data = coders.cut("raw", at, F.get("_sizes", place))
        return F.struct(
            coders.attached(F.col("_table"), place).alias("file"), F.sha2(data, 256).alias("sha256")
        )

    fills = (end - F.col("_body") - _sum("_sizes")).between(0, slack)
    # The sums are made before each file gets a row, so that no row holds the frame of all of them.
    found = measured.withColumn("_found", F.when(fills, F.transform("_places", file)))
    # Not filtered earlier: Spark takes a filter down to the rows, and puts all that a column is made of there
    # as often as the filter names it. That was more code than Java has room for in a method.
    each = found.withColumn("_file", F.explode_outer("_found")).where(F.col("_file").isNotNull())
    return as_table(
        each,
        FILES,
        last_seq=F.col("seq"),
        how=F.lit("attached"),
        **{name: F.col(f"_file.file.{name}") for name in ("key", "name", "type", "bytes")},
        frames=F.lit(1).cast("bigint"),
        complete=F.lit(True),
        sha256=F.col("_file.sha256"),
    )


def _sum(numbers: str) -> Column:
    return F.aggregate(numbers, F.lit(0).cast("bigint"), _add)


def _add(total: Column, number: Column) -> Column:
    return total + number
