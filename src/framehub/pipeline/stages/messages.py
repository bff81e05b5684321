"""Stage: what users sent and got, as data.

journal (``record.ROW_SCHEMA``) -> one row per message, request and response with a payload, and what
``calls`` and ``bodies`` find (``schemas.MESSAGES``). A payload that is no envelope keeps its row and is
marked; it never fails the job.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.journal.record import WHOLE
from framehub.pipeline.schemas import MESSAGES
from framehub.pipeline.stages import coders
from framehub.pipeline.stages.bodies import bodies
from framehub.pipeline.stages.calls import calls
from framehub.pipeline.stages.columns import as_table

WITH_PAYLOAD: Final = ("message", "request", "response")
CARRIES: Final = 0b0110
"""These two bits of the head say what comes with the payload (spec/mfp.md, section 5)."""
_HAS_PAYLOAD: Final = 0b0001
ATTACHED, ANNOUNCED, STREAMED = 0b0110, 0b0010, 0b0100


def messages(journal: DataFrame) -> DataFrame:
    """One row per payload that a user sent or got."""
    # Not one plan for all: it was slower by half where there are no calls.
    return _envelopes(journal).unionAll(calls(journal)).unionAll(bodies(journal))


def _envelopes(journal: DataFrame) -> DataFrame:
    with_payload = F.col("kind").isin(*WITH_PAYLOAD) & F.col("payload_bytes").isNotNull()
    rows = opened(journal.where((F.col("protocol") == "mfp") & with_payload))
    return as_table(
        rows.withColumn("data", F.try_variant_get("_envelope", "$.data", "variant")),
        MESSAGES,
        coder=None,
        json=F.to_json("data"),
        error=F.to_json(F.try_variant_get("_envelope", "$.error", "variant")),
        files=_files(),
    )


def opened(rows: DataFrame) -> DataFrame:
    """MFP frames with what is in their payload.

    That is ``_payload``, ``readable``, the envelope as the variant ``_envelope`` and its filemap as
    ``_names``.
    """
    return (
        rows.withColumn("_payload", coders.payload())
        .withColumn("_envelope", _envelope())
        .withColumn("readable", F.when(F.col("_payload").isNotNull(), _is_envelope()))
        .withColumn("_envelope", F.when(F.col("readable"), F.col("_envelope")))
        .withColumn("_names", coders.names())
    )


def _envelope() -> Column:
    # A cast does not look at the bytes, and most functions of text trust it: ask first.
    return F.try_parse_json(F.try_validate_utf8(F.col("_payload").cast("string")))


def _is_envelope() -> Column:
    """An object that names the endpoint which the gateway read in it.

    Spark's parser stops after the first value, so it takes `{...} and more` for JSON; the gateway does not,
    and then it wrote no endpoint.
    """
    named = F.try_variant_get("_envelope", "$.endpoint", "variant")
    is_text = F.schema_of_variant(named) == "STRING"
    same = F.try_variant_get("_envelope", "$.endpoint", "string") == F.col("endpoint")
    return F.coalesce(is_text & same, F.lit(False))


def _files() -> Column:
    """Attached files with sizes from the map, announced ones by key, streamed ones as they are named."""
    carries = F.col("head").bitwiseAND(CARRIES)
    return (
        F.when(has_table(8) & (carries == ATTACHED), F.transform(_places(8), _attached))
        .when(has_table(4) & (carries == ANNOUNCED), F.transform(_places(4), _announced))
        .otherwise(F.col("_names"))
    )


def table_at() -> Column:
    """Where the map or set of a frame begins: after head, id, ref, the two sizes and the payload."""
    before = F.when(F.col("kind") == "response", 9).otherwise(5) + 4 * F.col("head").bitwiseAND(_HAS_PAYLOAD)
    return before + 4 + F.coalesce(F.col("payload_bytes"), F.lit(0)).cast("bigint")


def has_table(entry_bytes: int) -> Column:
    """Whether a frame was recorded whole, and has room for a map or set of ``files`` entries."""
    entries = F.coalesce("files", F.lit(0)).cast("bigint")
    room = table_at() + entries * entry_bytes <= F.octet_length("raw")
    return F.col("recorded").isin(*WHOLE) & (entries > 0) & room


def _places(entry_bytes: int) -> Column:
    return coders.places(F.col("files"), entry_bytes)


def _attached(place: Column) -> Column:
    return coders.attached(table_at(), place)


def _announced(place: Column) -> Column:
    """Entry of the set: a key of four bytes."""
    return coders.file(coders.u32(table_at() + place * 4), place, F.lit(None).cast("bigint"))
