"""Stage: what users sent and got, as data.

journal (``record.ROW_SCHEMA``) -> one row per message, request and response with a payload
(``schemas.MESSAGES``). A payload that is no envelope keeps its row and is marked; it never fails the job.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.pipeline.stages.frames import day, hexadecimal, timestamp

WITH_PAYLOAD: Final = ("message", "request", "response")
_CARRIES: Final = 0b0110
"""These two bits of the head say what comes with the payload (spec/mfp.md, section 3)."""
_ATTACHED, _ANNOUNCED = 0b0110, 0b0010
_FILE: Final = "struct<key:bigint,name:string,type:string,bytes:bigint>"


def messages(journal: DataFrame) -> DataFrame:
    """One row per message, request and response that has a payload."""
    rows = journal.where(F.col("kind").isin(*WITH_PAYLOAD) & F.col("payload_bytes").isNotNull())
    parsed = rows.withColumn("_payload", _payload()).withColumn("_envelope", _envelope())
    readable = _is_envelope()
    return (
        parsed.withColumn("readable", F.when(F.col("_payload").isNotNull(), readable))
        .withColumn("_envelope", F.when(F.col("readable"), F.col("_envelope")))
        .withColumn("data", F.try_variant_get("_envelope", "$.data", "variant"))
        .withColumn("_names", _names())
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
            "data",
            F.to_json("data").alias("json"),
            F.to_json(F.try_variant_get("_envelope", "$.error", "variant")).alias("error"),
            _files().alias("files"),
            hexadecimal("exchange").alias("exchange"),
            hexadecimal("parent").alias("parent"),
            "readable",
        )
    )


def _payload() -> Column:
    """The payload's bytes; null unless all of it was recorded."""
    end = F.col("payload_at") + F.col("payload_bytes")
    whole = (F.col("recorded") == "full") & (F.octet_length("raw") >= end)
    return F.when(whole, F.substring("raw", F.col("payload_at") + 1, F.col("payload_bytes")))


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


def _names() -> Column:
    """The envelope's ``filemap`` as an array of structs; empty if there is none."""
    entries = F.try_variant_get("_envelope", "$.filemap", "array<variant>")
    named = F.transform(
        entries,
        lambda entry: F.struct(
            F.try_variant_get(entry, "$[0]", "bigint").alias("key"),
            F.try_variant_get(entry, "$[1]", "string").alias("name"),
            F.try_variant_get(entry, "$[2]", "string").alias("type"),
            F.lit(None).cast("bigint").alias("bytes"),
        ),
    )
    return F.coalesce(named, F.array().cast(f"array<{_FILE}>"))


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
    """Entry of the map: key and size, four bytes each."""
    at = F.col("payload_at") + F.col("payload_bytes") + place * 8
    return _file(_u32(at), place, _u32(at + 4))


def _announced(place: Column) -> Column:
    """Entry of the set: a key of four bytes."""
    at = F.col("payload_at") + F.col("payload_bytes") + place * 4
    return _file(_u32(at), place, F.lit(None).cast("bigint"))


def _file(key: Column, place: Column, size: Column) -> Column:
    names = F.col("_names")
    # The envelope names the files in the order of the map, nearly always: look there before searching.
    there = F.get(names, place)
    named = F.when(there["key"] == key, there).otherwise(
        F.get(F.filter(names, lambda entry: entry["key"] == key), F.lit(0))
    )
    return F.struct(
        key.alias("key"), named["name"].alias("name"), named["type"].alias("type"), size.alias("bytes")
    )


def _u32(at: Column) -> Column:
    """The big-endian number at this 0-based place of the frame."""
    return F.conv(F.hex(F.substring("raw", at + 1, F.lit(4))), 16, 10).cast("bigint")
