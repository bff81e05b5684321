"""Stage: what clients of remote functions sent and got, as data.

journal (``record.ROW_SCHEMA``) -> the rows of ``schemas.MESSAGES`` that are arguments, results and
exceptions; ``messages`` takes them in. Only as clients see them: between proxy and worker the same passes
once more.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.pipeline.schemas import MESSAGES
from framehub.pipeline.stages import coders
from framehub.pipeline.stages.columns import as_table

_MOST_FILES: Final = 1024
"""In one block (spec/rpc.md, section 6)."""


def calls(journal: DataFrame) -> DataFrame:
    """One row per argument that came from a client, and per result or exception that went to one."""
    kind, incoming = F.col("kind"), F.col("direction") == "in"
    at_client = ((kind == "query") & incoming) | (kind.isin("result", "exception") & ~incoming)
    rows = journal.where((F.col("protocol") == "rpc") & at_client & F.col("payload_bytes").isNotNull())
    attached = F.transform(_places(), _attached)
    return as_table(
        opened(rows)
        .withColumn("data", _data())
        .withColumn("readable", F.when(F.col("_payload").isNotNull(), _readable())),
        MESSAGES,
        json=F.to_json("data"),
        error=F.to_json(F.when(kind == "exception", F.col("_text").cast("variant"))),
        files=F.when(F.col("_count") > 0, attached).otherwise(F.col("_names")),
    )


def opened(rows: DataFrame) -> DataFrame:
    """Arguments and results with what is in them.

    That is ``_payload`` and ``_text``; of JSON and blocks the variant ``_document``; of blocks (coder
    ``envelope``) ``_envelope``, its filemap as ``_names``, ``_size`` of the JSON and ``_count`` of files.
    """
    block = F.col("coder") == "envelope"
    return (
        _measured(rows.withColumn("_payload", coders.payload()))
        .withColumn("_text", _text())
        .withColumn(
            "_document", F.when(block | (F.col("coder") == "json"), coders.strict_json(F.col("_text")))
        )
        .withColumn("_envelope", F.when(block & _is_envelope(), F.col("_document")))
        .withColumn("_names", coders.names())
    )


def _measured(rows: DataFrame) -> DataFrame:
    """Of blocks: the size of the JSON in ``_size``, the number of files in ``_count``.

    A block is two sizes, JSON, a map, files: what follows head and id of a request with files.
    """
    at = F.col("payload_at").cast("bigint")
    text, table = coders.u32(at), coders.u32(at + 4)
    fits = (text + table + 8 <= F.col("payload_bytes")) & (table % 8 == 0) & (table <= 8 * _MOST_FILES)
    whole = (F.col("coder") == "envelope") & F.col("_payload").isNotNull() & fits
    return rows.withColumn("_size", F.when(whole, text.try_cast("int"))).withColumn(
        "_count", F.when(whole, F.shiftright(table, 3).try_cast("int"))
    )


def table_at() -> Column:
    """Where the map of a block begins: after its two sizes and the JSON."""
    return F.col("payload_at").cast("bigint") + 8 + F.col("_size")


def _text() -> Column:
    """What may be text: all of the payload, of a block the JSON in it."""
    inside = F.substring("_payload", F.lit(9), F.col("_size"))
    held = F.when(F.col("coder") == "envelope", inside).otherwise(F.col("_payload"))
    # A cast does not look at the bytes, and most functions of text trust it: ask first.
    return F.try_validate_utf8(held.cast("string"))


def _is_envelope() -> Column:
    named = F.try_variant_get("_document", "$.endpoint", "variant")
    return F.schema_of_variant(named) == "STRING"


def _data() -> Column:
    """What an argument or a result says; null if it cannot be read, or says nothing."""
    coder = F.col("coder")
    said = (
        F.when(coder == "json", F.col("_document"))
        .when(coder == "envelope", F.try_variant_get("_envelope", "$.data", "variant"))
        .otherwise(coders.value(F.col("_payload"), coder))
    )
    return F.when(F.col("kind") != "exception", said)


def _readable() -> Column:
    return (
        F.when(F.col("kind") == "exception", F.col("_text").isNotNull())
        .when(F.col("coder") == "envelope", F.col("_envelope").isNotNull())
        .otherwise(F.col("data").isNotNull())
    )


def _places() -> Column:
    return coders.places(F.col("_count"), 8)


def _attached(place: Column) -> Column:
    return coders.attached(table_at(), place)
