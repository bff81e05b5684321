"""The journal as a Spark data source: ``spark.read.format("framehub").load(path)``.

A snapshot of the journal is taken when the read is planned, and each of its parts is one partition; rows
come as Arrow batches. Options: ``columns`` (names, comma-separated: only these are read) and ``parts`` (a
snapshot as ``encode_parts`` gives it: exactly this is read, whatever has been written since).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from framehub.errors import PipelineError
from framehub.journal.reader import Part, read_part, snapshot
from framehub.journal.record import ROW_SCHEMA
from framehub.pipeline.schemas import journal_schema


@dataclass
class PartPartition(InputPartition):
    """One part of a journal, as one partition."""

    part: Part


class JournalSource(DataSource):
    """Rows of a journal (``record.ROW_SCHEMA``)."""

    @classmethod
    def name(cls) -> str:
        """What ``spark.read.format`` is given."""
        return "framehub"

    def schema(self) -> StructType:
        """The journal's columns, or those asked for."""
        return journal_schema(_columns(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of one snapshot."""
        path = self.options.get("path")
        if path is None:
            raise PipelineError(
                'give the journal\'s directory: spark.read.format("framehub").load("journal/")'
            )
        return JournalReader(path, schema.names, self.options.get("parts"))


class JournalReader(DataSourceReader):
    """Reads one snapshot; made where the read is planned, and copied to the executors."""

    def __init__(self, path: str, columns: Sequence[str], parts: str | None) -> None:
        self._path = path
        self._columns = list(columns)
        self._parts = parts

    def partitions(self) -> Sequence[InputPartition]:
        """One partition per part of the snapshot."""
        parts = snapshot(self._path) if self._parts is None else decode_parts(self._parts)
        return [PartPartition(part) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        # Spark makes one partition of nothing where there is none to read.
        if isinstance(partition, PartPartition):
            # Spark wants the very schema it was told, and tells of no column that it is never null.
            schema = pa.schema([ROW_SCHEMA.field(name).with_nullable(True) for name in self._columns])
            for batch in read_part(partition.part, columns=self._columns):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


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
