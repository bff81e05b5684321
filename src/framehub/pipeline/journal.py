"""The whole journal as one DataFrame: sealed segments at scan speed, the open tail by the data source."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from framehub.journal.reader import Part, snapshot
from framehub.pipeline.schemas import journal_schema
from framehub.pipeline.source import encode_parts


def read_journal(spark: SparkSession, path: str | Path) -> DataFrame:
    """Every row that the journal has now (``record.ROW_SCHEMA``).

    What is written later does not appear: the DataFrame stands for one snapshot, however often it is read.

    Raises:
        JournalError: there is no journal at ``path``.
    """
    return read_parts(spark, path, snapshot(Path(path)))


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
        files = [_literal(Path(part.file).absolute()) for part in sealed]
        pieces.append(spark.read.schema(journal_schema()).parquet(*files))
    if blocks:
        tail = spark.read.format("framehub").option("parts", encode_parts(blocks))
        pieces.append(tail.load(str(Path(path).absolute())))
    return pieces[0] if len(pieces) == 1 else pieces[0].unionByName(pieces[1])


def _literal(file: Path) -> str:
    """The file's address, with what Spark would take for a pattern escaped."""
    return "file://" + re.sub(r"([*?\[\]{}\\])", r"\\\1", str(file))
