"""SQL over one snapshot of the tables."""

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import VariantType

from framehub.errors import PipelineError
from framehub.pipeline import snapshots
from framehub.pipeline.failures import FAILURES, reason
from framehub.pipeline.journal import literal
from framehub.pipeline.schemas import TABLES
from framehub.pipeline.session import SQL, end, running, session


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of an answer, as plain values."""

    names: list[str]
    rows: list[list[Any]]
    more: bool
    """Whether there are more than were asked for."""


class Explorer:
    """Answers SQL over the tables of one snapshot."""

    def __init__(self, spark: SparkSession, snapshot: Path) -> None:
        self._spark = spark
        self.names = list(TABLES)
        for name in self.names:
            place = literal(snapshot.absolute() / name)
            spark.read.schema(TABLES[name]).parquet(place).createOrReplaceTempView(name)

    def columns(self, name: str) -> list[tuple[str, str, str]]:
        """Name, type and meaning of each column of a table."""
        return [
            (field.name, field.dataType.simpleString(), field.metadata["comment"]) for field in TABLES[name]
        ]

    def ask(self, sql: str, limit: int) -> Answer:
        """The first rows of what the statement answers.

        Raises:
            PipelineError: it cannot be understood, or fails.
        """
        try:
            answer = _plain(self._spark.sql(sql))
            rows = answer.limit(limit + 1).collect()
        except FAILURES as exc:
            raise PipelineError(reason(exc)) from exc
        return Answer(answer.columns, [_values(row) for row in rows[:limit]], len(rows) > limit)


@contextmanager
def explorer(
    out: Path, *, spark: SparkSession | None = None, say: Callable[[str], None] | None = None
) -> Iterator[Explorer]:
    """Tables to ask, until left.

    Raises:
        PipelineError: there are no tables in ``out``, or Spark does not start.
    """
    found = snapshots.load(out)
    if found is None:
        raise PipelineError(f"no tables in {out}: make them with `framehub pipeline run JOURNAL {out}`")
    own = None
    if spark is None and (spark := running()) is None:
        if say is not None:
            say("starting Spark")
        log = Path(tempfile.mkstemp(prefix="framehub-explore-", suffix=".log")[1])
        spark = own = session(log=log)
    try:
        logging.getLogger("SQLQueryContextLogger").setLevel(
            logging.CRITICAL
        )  # what it says, we say in a line
        using = spark.newSession()
        for name, value in SQL.items():
            using.conf.set(name, value)
        with snapshots.held(found[0]):
            yield Explorer(using, found[0])
    finally:
        if own is not None:
            end(own)


def _plain(answer: DataFrame) -> DataFrame:
    """With VARIANT columns as JSON text."""
    columns = [
        F.to_json(F.col(f"`{field.name}`")).alias(field.name)
        if isinstance(field.dataType, VariantType)
        else F.col(f"`{field.name}`")
        for field in answer.schema
    ]
    has_variant = any(isinstance(field.dataType, VariantType) for field in answer.schema)
    return answer.select(*columns) if has_variant else answer


def _values(row: Row) -> list[Any]:
    return [value.asDict(recursive=True) if isinstance(value, Row) else value for value in row]
