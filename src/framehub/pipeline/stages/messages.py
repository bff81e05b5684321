"""Stage: what users sent and got, as data.

journal (``record.ROW_SCHEMA``) -> one row per message, request and response with a payload, and what
``calls`` finds (``schemas.MESSAGES``). A payload that is no envelope keeps its row and is marked; it never
fails the job.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.pipeline.stages import coders
from framehub.pipeline.stages.calls import calls
from framehub.pipeline.stages.frames import day, hexadecimal, timestamp

WITH_PAYLOAD: Final = ("message", "request", "response")
_CARRIES: Final = 0b0110
"""These two bits of the head say what comes with the payload (spec/mfp.md, section 3)."""
_ATTACHED, _ANNOUNCED = 0b0110, 0b0010


def messages(journal: DataFrame) -> DataFrame:
    """One row per payload that a user sent or got."""
    # Not one plan for both: it was slower by half where there are no calls.
    return _envelopes(journal).unionAll(calls(journal))


def _envelopes(journal: DataFrame) -> DataFrame:
    rows = journal.where(F.col("kind").isin(*WITH_PAYLOAD) & F.col("payload_bytes").isNotNull())
    parsed = rows.withColumn("_payload", coders.payload()).withColumn("_envelope", _envelope())
    readable = _is_envelope()
    return (
        parsed.withColumn("readable", F.when(F.col("_payload").isNotNull(), readable))
        .withColumn("_envelope", F.when(F.col("readable"), F.col("_envelope")))
        .withColumn("data", F.try_variant_get("_envelope", "$.data", "variant"))
        .withColumn("_names", coders.names())
        .select(
            "node",
            "seq",
            timestamp("time_ns").alias("time"),
            day("time_ns").alias("date"),
            hexadecimal("link").alias("link"),
            "user",
            "protocol",
            "kind",
            "direction",
            "endpoint",
            F.lit(None).cast("string").alias("coder"),
            "data",
            F.to_json("data").alias("json"),
            F.to_json(F.try_variant_get("_envelope", "$.error", "variant")).alias("error"),
            _files().alias("files"),
            hexadecimal("exchange").alias("exchange"),
            hexadecimal("parent").alias("parent"),
            "readable",
        )
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
    carries = F.col("head").bitwiseAND(_CARRIES)
    recorded = F.col("_payload").isNotNull() & (F.coalesce("files", F.lit(0)) > 0)
    return (
        F.when(recorded & (carries == _ATTACHED), F.transform(_places(), _attached))
        .when(recorded & (carries == _ANNOUNCED), F.transform(_places(), _announced))
        .otherwise(F.col("_names"))
    )


def _places() -> Column:
    return F.sequence(F.lit(0), F.col("files") - 1)


def _attached(place: Column) -> Column:
    return coders.attached(F.col("payload_at") + F.col("payload_bytes"), place)


def _announced(place: Column) -> Column:
    """Entry of the set: a key of four bytes."""
    at = F.col("payload_at") + F.col("payload_bytes") + place * 4
    return coders.file(coders.u32(at), place, F.lit(None).cast("bigint"))
