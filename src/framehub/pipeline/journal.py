"""The whole journal as one DataFrame: sealed segments at scan speed, the open tail by the data source."""

import re
from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from framehub.journal.reader import Part, snapshot
from framehub.pipeline.schemas import journal_schema
from framehub.pipeline.source import encode_parts


def read_journal(spark: SparkSession, path: str | Path) -> DataFrame:
    """Every row that the journal has now (``record.ROW_SCHEMA``).

    What is written later does not appear: the DataFrame stands for one snapshot, however often it is read.

    Raises:
        JournalError: there is no journal at ``path``.
    """
    path = Path(path).absolute()
    return read_parts(spark, path, snapshot(path))


def read_parts(
    spark: SparkSession, path: str | Path, parts: Sequence[Part], *, damaged: Collection[str] = ()
) -> DataFrame:
    """The rows of these parts of a snapshot.

    Spark gives up on a Parquet file of which it cannot read all. Those named in ``damaged`` go through the
    data source, which reads what is left.
    """
    whole = {part for part in parts if part.kind == "parquet" and Path(part.file).name not in damaged}
    sealed = [part for part in parts if part in whole]
    blocks = [part for part in parts if part not in whole]
    if not parts:
        return spark.createDataFrame([], journal_schema())
    pieces = []
    if sealed:
        files = dict.fromkeys(literal(Path(part.file).absolute()) for part in sealed)
        rows = spark.read.schema(journal_schema()).parquet(*files)
        pieces.append(rows.where(_within(sealed)))
    if blocks:
        tail = spark.read.format("framehub").option("parts", encode_parts(blocks))
        pieces.append(tail.load(str(Path(path).absolute())))
    return pieces[0] if len(pieces) == 1 else pieces[0].unionByName(pieces[1])


def _within(parts: Sequence[Part]) -> Column:
    """The rows that the parts promise: a file may hold more of them."""
    ranges: list[tuple[str, int, int]] = []
    for part in sorted(parts, key=lambda part: (part.node, part.first_seq)):
        if ranges and ranges[-1][0] == part.node and ranges[-1][2] + 1 >= part.first_seq:
            node, first, last = ranges.pop()
            ranges.append((node, first, max(last, part.last_seq)))
        else:
            ranges.append((part.node, part.first_seq, part.last_seq))
    return reduce(or_, [(F.col("node") == node) & F.col("seq").between(*span) for node, *span in ranges])


def literal(file: Path) -> str:
    """The file's address, with what Spark would take for a pattern escaped."""
    return "file://" + re.sub(r"([*?\[\]{}\\])", r"\\\1", str(file))
