"""Stage: the journal's rows that are frames, in columns for people.

journal (``record.ROW_SCHEMA``) -> one row per frame, refused ones too (``schemas.FRAMES``). Pure DataFrame to
DataFrame: no read, write, action or session in here, nor in the other stages.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

LINK_EVENTS: Final = ("link_opened", "link_closed")
_DAY_NS: Final = 86_400_000_000_000


def frames(journal: DataFrame) -> DataFrame:
    """One row per frame of the journal."""
    return journal.where(~F.col("kind").isin(*LINK_EVENTS)).select(
        "node",
        "seq",
        timestamp("time_ns").alias("time"),
        day("time_ns").alias("date"),
        hexadecimal("link").alias("link"),
        "protocol",
        "direction",
        "user",
        "endpoint",
        "service",
        "function",
        "kind",
        "head",
        "id",
        "ref",
        "key",
        "code",
        hexadecimal("query").alias("query"),
        "coder",
        "bytes",
        "payload_bytes",
        "files",
        "error",
        "refused",
        hexadecimal("exchange").alias("exchange"),
        hexadecimal("parent").alias("parent"),
        "recorded",
    )


def timestamp(nanoseconds: str) -> Column:
    """Nanoseconds since 1970 as a timestamp."""
    return F.timestamp_micros(_floor_divide(nanoseconds, 1000))


def day(nanoseconds: str) -> Column:
    """The day in UTC, whatever time zone the session has."""
    return F.date_from_unix_date(_floor_divide(nanoseconds, _DAY_NS).cast("int"))


def _floor_divide(column: str, by: int) -> Column:
    # `/` would go through a double, which cannot hold today's nanoseconds.
    return F.expr(f"({column} - pmod({column}, {by}L)) div {by}L")


def hexadecimal(column: str) -> Column:
    """Bytes as lower-case hex digits."""
    return F.lower(F.hex(column))
