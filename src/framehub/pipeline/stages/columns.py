"""Columns of a table, in the order that its schema promises.

Times, days and ids look the same in every table; most other columns are the journal's own.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

_DAY_NS: Final = 86_400_000_000_000
_IDS: Final = ("link", "exchange", "parent", "query")


def as_table(rows: DataFrame, schema: StructType, **made: Column | None) -> DataFrame:
    """Select the schema's columns from rows of the journal, except those that are made here.

    ``time`` and ``date`` are those of ``time_ns``, ids are in hex digits, everything else is the column of
    that name. What is made as None is null in every row.
    """
    usual = {"time": timestamp("time_ns"), "date": day("time_ns")}
    usual |= {name: hexadecimal(name) for name in _IDS}
    columns = []
    for field in schema:
        column = made[field.name] if field.name in made else usual.get(field.name, F.col(field.name))
        columns.append((F.lit(None).cast(field.dataType) if column is None else column).alias(field.name))
    return rows.select(*columns)


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
