"""The journal as a Spark data source: ``spark.read.format("framehub").load(path)``, or ``readStream``.

A read is planned from one snapshot of the journal, whose parts become partitions; rows come as Arrow batches.
Options:

- ``view``: ``rows`` (default); ``unsound``, only the rows whose bytes do not bear out their columns
  (``findings.FINDINGS``), found where the rows are read; ``decoded``, what the bytes say (``decode.DECODED``)
- ``columns``: of ``rows``, names, comma-separated: only these are read
- ``parts``: a snapshot as ``encode_parts`` gives it: exactly this is read, whatever has been written since
- ``rowsPerPartition``: of a read, a sealed segment is cut into pieces of about so many rows (131,072)
- ``rowsPerBatch``: of a stream, about so many rows at most in one batch
"""

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from framehub.errors import PipelineError
from framehub.journal.reader import Part, read_part, snapshot
from framehub.journal.record import ROW_SCHEMA
from framehub.pipeline import decode
from framehub.pipeline.findings import FINDINGS
from framehub.pipeline.schemas import journal_schema
from framehub.pipeline.sealed import findings_in
from framehub.pipeline.stages.unsound import as_violations

PARTITION_ROWS: Final = 131_072
"""A sealed segment is read in pieces of about so many rows, cut between its row groups."""


class View(NamedTuple):
    """What is made of rows where they are read."""

    schema: pa.Schema
    of: Callable[[Part], Iterator[pa.RecordBatch]]


def _decoded(part: Part) -> Iterator[pa.RecordBatch]:
    for batch in read_part(part, columns=decode.DECODED_COLUMNS):
        yield decode.decoded(batch)


VIEWS: Final = {"unsound": View(FINDINGS, findings_in), "decoded": View(decode.DECODED, _decoded)}


@dataclass
class PartPartition(InputPartition):
    """One part of a journal, as one partition."""

    part: Part


class JournalSource(DataSource):
    """Rows of a journal (``record.ROW_SCHEMA``), or a view of them."""

    @classmethod
    def name(cls) -> str:
        """What ``spark.read.format`` is given."""
        return "framehub"

    def schema(self) -> StructType:
        """The journal's columns, those asked for, or those of the view."""
        columns = _columns(self.options)
        view = self._view()
        if view is None:
            return journal_schema(columns)
        if columns:
            raise PipelineError("option columns: only of the view rows")
        return StructType(
            [StructField(field.name, field.dataType) for field in from_arrow_schema(view.schema)]
        )

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of one snapshot."""
        self._view()
        rows = self._number("rowsPerPartition") or PARTITION_ROWS
        return JournalReader(self._path(), self._rows(schema), self.options.get("parts"), rows)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """A reader of what there is and what comes."""
        from framehub.pipeline.stream import JournalStream

        return JournalStream(self._path(), self._rows(schema), self._number("rowsPerBatch"))

    def _number(self, name: str) -> int | None:
        given = self.options.get(name)
        if given is not None and not (given.isdecimal() and int(given)):
            raise PipelineError(f"option {name}: {given!r} is no number above 0")
        return None if given is None else int(given)

    def _rows(self, schema: StructType) -> "Rows":
        return Rows(tuple(schema.names), self.options.get("view", "rows"))

    def _path(self) -> str:
        path = self.options.get("path")
        if path is None:
            raise PipelineError(
                'give the journal\'s directory: spark.read.format("framehub").load("journal/")'
            )
        return str(Path(path).absolute())  # executors stand elsewhere

    def _view(self) -> View | None:
        name = self.options.get("view", "rows")
        if name != "rows" and name not in VIEWS:
            raise PipelineError(f"option view: {name!r} is none of rows, {', '.join(VIEWS)}")
        return VIEWS.get(name)


@dataclass(frozen=True)
class Rows:
    """How parts are read; copied to the executors."""

    columns: tuple[str, ...]
    view: str = "rows"

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one part, or what the view makes of them."""
        # Spark makes one partition of nothing where there is none to read.
        if not isinstance(partition, PartPartition):
            return
        _leave_modules_alone()
        view = VIEWS.get(self.view)
        if view is not None:
            yield from view.of(partition.part)
            return
        # Spark wants the very schema it was told, and tells of no column that it is never null.
        schema = pa.schema([ROW_SCHEMA.field(name).with_nullable(True) for name in self.columns])
        for batch in read_part(partition.part, columns=self.columns):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


@cache
def _leave_modules_alone() -> None:
    """Take what this process has loaded out of the garbage collector's sight, once.

    Spark's workers collect garbage after every task: with all that is imported this takes longer than
    decoding tens of thousands of rows.
    """
    gc.collect()
    gc.freeze()


class JournalReader(DataSourceReader):
    """Reads one snapshot; made where the read is planned, and copied to the executors."""

    def __init__(self, path: str, rows: Rows, parts: str | None, partition_rows: int) -> None:
        self._path = path
        self._rows = rows
        self._parts = parts
        self._partition_rows = partition_rows

    def partitions(self) -> Sequence[InputPartition]:
        """One partition per part of the snapshot, several of a large sealed one."""
        parts = snapshot(self._path) if self._parts is None else decode_parts(self._parts)
        return partitions_of(parts, self._partition_rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        return self._rows.read(partition)


def partitions_of(parts: Sequence[Part], rows: int = PARTITION_ROWS) -> list[InputPartition]:
    """The partitions, of about so many rows, in which parts are read."""
    return [PartPartition(piece) for part in parts for piece in split(part, rows)]


def split(part: Part, rows: int = PARTITION_ROWS) -> list[Part]:
    """A part in pieces of about so many rows, cut between row groups; itself if it cannot be cut."""
    if part.kind != "parquet" or part.rows <= rows:
        return [part]
    try:
        metadata = pq.read_metadata(part.file)
    except (OSError, pa.ArrowException):
        return [part]  # whoever reads it says what is wrong
    cuts, at = [part.first_seq], part.start_seq
    for group in range(metadata.num_row_groups):
        if at - cuts[-1] >= rows and at <= part.last_seq:
            cuts.append(at)
        at += metadata.row_group(group).num_rows
    cuts.append(part.last_seq + 1)
    return [replace(part, first_seq=first, last_seq=following - 1) for first, following in pairwise(cuts)]


def read_unsound(spark: SparkSession, path: str | Path, parts: Sequence[Part]) -> DataFrame:
    """The violations of the rules about recorded bytes in these parts (``schemas.VIOLATIONS``).

    The rows stay where they are read: only violations move.
    """
    reader = spark.read.format("framehub").option("view", "unsound").option("parts", encode_parts(parts))
    return as_violations(reader.load(str(Path(path).absolute())))


def encode_parts(parts: Sequence[Part]) -> str:
    """A snapshot as the text of the option ``parts``."""
    return json.dumps([asdict(part) for part in parts])


def decode_parts(text: str) -> list[Part]:
    """The snapshot that ``encode_parts`` wrote.

    Raises:
        PipelineError: the text is something else.
    """
    try:
        return [Part(**fields) for fields in json.loads(text)]
    except (ValueError, TypeError) as exc:
        raise PipelineError(f"option parts: not a snapshot ({exc})") from exc


def _columns(options: Any) -> tuple[str, ...]:
    return tuple(name.strip() for name in options.get("columns", "").split(",") if name.strip())
