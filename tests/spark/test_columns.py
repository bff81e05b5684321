from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from framehub.pipeline.stages.columns import as_table

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]


def schema_of(fields: str) -> StructType:
    schema = StructType.fromDDL(fields)
    assert isinstance(schema, StructType)
    return schema


def test_columns_are_made_or_the_journals_own(journal_of: JournalOf) -> None:
    rows: list[dict[str, Any]] = [{"kind": "service", "time_ns": -1, "exchange": b"\x0a\xff", "code": 3}]
    schema = schema_of("date date, code smallint, link string, exchange string, key bigint, kind string")
    made = as_table(journal_of(rows), schema, kind=lit("made"), key=None)
    assert [field.dataType for field in made.schema] == [field.dataType for field in schema]
    (row,) = made.select(made["date"].cast("string").alias("date"), *made.columns[1:]).collect()
    want = Row(date="1969-12-31", code=3, link="00000000000000a1", exchange="0aff", key=None, kind="made")
    assert row == want


def test_a_column_that_nobody_makes_is_an_error(journal_of: JournalOf) -> None:
    with pytest.raises(AnalysisException, match="no_such"):
        as_table(journal_of([]), schema_of("no_such string"))
