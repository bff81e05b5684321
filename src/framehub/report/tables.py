"""Tables on disk, read a batch at a time; and sums of which only the greatest are kept."""

import heapq
from collections.abc import Hashable, Iterator, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

OTHERS: Final = "(all others)"
TEXT_LIMIT: Final = 400
"""Characters of a stranger's text that are shown."""
NAME_LIMIT: Final = 120
_ROWS: Final = 65_536
"""Held at a time."""

Key = TypeVar("Key", bound=Hashable)
Row = dict[str, Any]


def batches(
    directory: Path, columns: Sequence[str], where: pc.Expression | None = None
) -> Iterator[pa.Table]:
    """Rows of a table, some at a time, so that memory does not grow with it."""
    for file in _files(directory):
        with pq.ParquetFile(file) as source:
            for batch in source.iter_batches(batch_size=_ROWS, columns=list(columns)):
                table = pa.Table.from_batches([batch])
                table = table if where is None else table.filter(where)
                if table.num_rows:
                    yield table


def search(
    directory: Path, columns: Sequence[str], by: Sequence[str], where: pc.Expression
) -> Iterator[pa.Table]:
    """The few rows that fit a condition on the columns ``by``; the others are read beside a hit only."""
    for file in _files(directory):
        with pq.ParquetFile(file) as source:
            for group in range(source.num_row_groups):
                keys = source.read_row_group(group, columns=list(by))
                rows = keys.append_column("_row", pa.array(np.arange(len(keys)))).filter(where)["_row"]
                if len(rows):
                    yield source.read_row_group(group, columns=list(columns)).take(rows)


def _files(directory: Path) -> list[Path]:
    files = sorted(directory.rglob("*.parquet"))
    if not files:
        raise FileNotFoundError(f"no table {directory.name}")
    return files


def top(table: pa.Table, column: str, rows: int, order: str = "descending") -> list[Row]:
    """The rows with the greatest values in a column, or the least."""
    chosen = pc.select_k_unstable(table, k=rows, sort_keys=[(column, order)])
    found: list[Row] = table.take(chosen).to_pylist()
    return found


class Greatest:
    """The rows with the greatest values of all that were offered."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._heap: list[tuple[Any, int, Row]] = []
        self._order = count(step=-1)  # of equals the first one stays

    def offer(self, value: Any, row: Row) -> None:
        """Keep this row if it is among the greatest."""
        heapq.heappush(self._heap, (value, next(self._order), row))
        if len(self._heap) > self._rows:
            heapq.heappop(self._heap)

    def rows(self) -> list[Row]:
        """Those that were kept, the greatest first."""
        return [row for _, _, row in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]


class Sums(Generic[Key]):
    """Sums by key. Beyond ``limit`` keys the smallest are let go: strangers choose names, and many."""

    def __init__(self, width: int, limit: int = 2000) -> None:
        self.of: dict[Key, list[int]] = {}
        self.rest = [0] * width
        """What the keys that were let go had."""
        self._limit = limit

    def add(self, key: Key, values: Sequence[int]) -> None:
        """Add these to the key's sums; the first is the one that keys are measured by."""
        sums = self.of.setdefault(key, [0] * len(self.rest))
        for place, value in enumerate(values):
            sums[place] += value
        if len(self.of) > 2 * self._limit:
            self._let_go(self._limit)

    def ranked(self, keys: int) -> list[tuple[Key, list[int]]]:
        """The keys with most, and no more of them than this; what the others had goes to ``rest``."""
        if len(self.of) > keys:
            self._let_go(keys)
        return sorted(self.of.items(), key=lambda item: -item[1][0])

    def _let_go(self, keys: int) -> None:
        for key, sums in sorted(self.of.items(), key=lambda item: -item[1][0])[keys:]:
            self.rest = [have + more for have, more in zip(self.rest, sums, strict=True)]
            del self.of[key]


def plain(row: Row) -> Row:
    """The row as JSON can hold it."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}


def short(text: str | None, limit: int = TEXT_LIMIT) -> str | None:
    """The text, or as much of it as is shown."""
    return text if text is None or len(text) <= limit else text[:limit] + "…"
