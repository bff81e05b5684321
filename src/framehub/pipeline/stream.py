"""The journal as a stream: ``spark.readStream.format("framehub").load(path)``.

An offset is the last row of each node, ``{node: seq}``. Rows never change and keep their numbers, so those
between two offsets are the same whenever they are asked for, sealed or not: a query that is killed and
started again goes on where it was, and a sink that knows its batches has each row once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from framehub.errors import PipelineError
from framehub.journal.reader import Part, positions, snapshot
from framehub.pipeline.source import Rows, partitions_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # Spark 4.1: no limits, and all that is available comes in one batch

        class SupportsTriggerAvailableNow:
            """Nothing asks for it."""


class JournalStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what comes after an offset; nodes that appear later are taken in."""

    def __init__(self, path: str, rows: Rows, limit: int | None) -> None:
        self._path = path
        self._rows = rows
        self._limit = limit
        self._target: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before the first row of every node."""
        return {}

    def getDefaultReadLimit(self) -> "ReadLimit":  # noqa: N802
        """The option ``rowsPerBatch``."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

        return ReadAllAvailable() if self._limit is None else ReadMaxRows(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there now is all that will come."""
        self._target = self._latest({})

    def latestOffset(  # noqa: N802
        self, start: dict[str, int] | None = None, limit: "ReadLimit | None" = None
    ) -> dict[str, int]:
        """The last row of each node now, or as far as the limit allows."""
        start = start or {}
        latest = self._latest(start) if self._target is None else start | self._target
        most = getattr(limit, "max_rows", None)
        end = latest if most is None else _within(start, latest, most)
        return {node: end[node] for node in sorted(end)}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        """The last row of each node now."""
        return self._latest({})

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The parts between two offsets."""
        if start == end:
            return []
        parts = snapshot(self._path, after=start, upto=end)
        _check_reach(parts, start, end)
        return partitions_of(parts)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        return self._rows.read(partition)

    def _latest(self, start: Mapping[str, int]) -> dict[str, int]:
        return positions(snapshot(self._path, after=start), start)


def _within(start: Mapping[str, int], latest: Mapping[str, int], most: int) -> dict[str, int]:
    """The offset that is at most so many rows on; every node gets its share, so that none waits for good."""
    new = {node: last - start.get(node, 0) for node, last in latest.items()}
    end = dict(start)
    waiting = sorted((node for node in new if new[node] > 0), key=lambda node: new[node])
    for number, node in enumerate(waiting):
        taken = min(new[node], most // (len(waiting) - number))
        most -= taken
        if taken:
            end[node] = start.get(node, 0) + taken
    return end


def _check_reach(parts: Sequence[Part], start: Mapping[str, int], end: Mapping[str, int]) -> None:
    """A batch that is asked for again must be the same: say so if its rows are gone."""
    reached = positions(parts, start)
    for node, last in end.items():
        if reached.get(node, 0) < last:
            raise PipelineError(
                f"rows of node {node} up to {last} are gone: the stream cannot go on from here"
            )
