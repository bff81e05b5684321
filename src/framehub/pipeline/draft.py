"""The next snapshot while it is being made: tables that Spark writes, files that it takes over."""

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from framehub.pipeline import schemas, snapshots
from framehub.pipeline.journal import literal
from framehub.pipeline.sizes import USUAL, Sizes

HOT: Final = "hot"
"""The generation of exchanges that may still change; each step writes it anew."""
EMPTY: Final = "empty.parquet"
_SETTINGS: Final = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A file of a table, as the manifest tells of it."""

    rows: int
    generation: str
    first_us: int | None = None
    """When the first of its exchanges was opened."""
    last_us: int | None = None


Files = dict[str, Kept]
"""By their path inside the table's directory."""


def load_files(manifest: dict[str, Any]) -> dict[str, Files]:
    """The files of each table."""
    return {
        name: {path: Kept(**told) for path, told in files.items()}
        for name, files in manifest["files"].items()
    }


class Draft:
    """One snapshot in the making."""

    def __init__(self, spark: SparkSession, target: Path, commit: int, *, sizes: Sizes = USUAL) -> None:
        self._spark = spark
        self.target = target
        self.commit = commit
        self._sizes = sizes
        self.files: dict[str, Files] = {name: {} for name in schemas.TABLES}

    def write(self, name: str, table: DataFrame, *, rows: int, by: Sequence[str] = ("date",)) -> Path:
        """Let Spark write a table, or new rows of it; where they are, until ``adopt`` takes them."""
        staged = self.target / snapshots.STAGED / name
        files = max(1, rows // self._sizes.rows_per_file)
        writer = table.coalesce(files).write.options(**_SETTINGS)
        writer.partitionBy(*by).parquet(f"file://{staged.absolute()}", mode="overwrite")
        return staged

    def adopt(self, name: str, staged: Path, generation: str) -> list[Path]:
        """Take over what was written below ``staged``; the files in their places."""
        taken = []
        for number, file in enumerate(sorted(staged.rglob("*.parquet"))):
            facts = pq.read_metadata(file)
            if not facts.num_rows:
                continue
            day = next(part for part in file.relative_to(staged).parts if part.startswith("date="))
            path = f"{day}/{generation}-{self.commit:06d}-{number:03d}.parquet"
            snapshots.take(file, self.target / name / path)
            first, last = _span(facts) if name == "exchanges" else (None, None)
            self.files[name][path] = Kept(
                rows=facts.num_rows, generation=generation, first_us=first, last_us=last
            )
            taken.append(self.target / name / path)
        return taken

    def keep(self, name: str, source: Path, files: Files) -> None:
        """Take over files of an earlier snapshot."""
        for path, told in files.items():
            snapshots.keep(source / name / path, self.target / name / path)
            self.files[name][path] = told

    def fill_empty(self, before: Path | None = None) -> None:
        """Give tables without rows a file that tells readers their columns: that of the snapshot before."""
        for name, files in self.files.items():
            if files:
                continue
            if before is not None and (before / name / EMPTY).exists():
                snapshots.keep(before / name / EMPTY, self.target / name / EMPTY)
            else:
                staged = self.target / snapshots.STAGED / f"{name}-empty"
                empty = self._spark.createDataFrame([], schemas.TABLES[name]).coalesce(1)
                empty.write.options(**_SETTINGS).parquet(f"file://{staged.absolute()}")
                (file,) = staged.glob("*.parquet")
                snapshots.take(file, self.target / name / EMPTY)

    def rows(self) -> dict[str, int]:
        """Rows of each table."""
        return {name: sum(told.rows for told in files.values()) for name, files in self.files.items()}

    def drop(self) -> None:
        """Leave nothing of it."""
        shutil.rmtree(self.target, ignore_errors=True)


def read_files(spark: SparkSession, name: str, source: Path, paths: Iterable[str]) -> DataFrame:
    """Rows of some files of a table in a snapshot."""
    place = source.absolute() / name
    files = [literal(place / path) for path in paths]
    schema = schemas.TABLES[name]
    if not files:
        return spark.createDataFrame([], schema)
    rows = spark.read.option("basePath", f"file://{place}").schema(schema).parquet(*files)
    return rows.select(*schema.names)


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A table in memory, for Spark.

    In one piece: of pieces that begin with two empty ones, ``createDataFrame`` takes none at all.
    """
    return spark.createDataFrame(table.combine_chunks())


def small_ones(files: Files, sizes: Sizes = USUAL) -> Files:
    """Those worth putting together: of days that have many."""
    small = {
        path: told for path, told in files.items() if told.rows < sizes.small_file and told.generation != HOT
    }
    of_day = Counter(_day(path) for path in small)
    return {path: told for path, told in small.items() if of_day[_day(path)] >= sizes.many_files}


def _day(path: str) -> str:
    return path.partition("/")[0]


def _span(facts: Any) -> tuple[int | None, int | None]:
    """The earliest and the latest ``opened`` by the file's own statistics, in microseconds."""
    place = next(n for n in range(facts.num_columns) if facts.schema.column(n).path == "opened")
    first: int | None = None
    last: int | None = None
    for group in range(facts.num_row_groups):
        told = facts.row_group(group).column(place).statistics
        if told is None or not told.has_min_max:
            continue
        low, high = told.min_raw, told.max_raw
        first = low if first is None else min(first, low)
        last = high if last is None else max(last, high)
    return first, last
