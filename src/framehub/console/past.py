"""What passed before somebody looked on, from the journal: rows to make figures of, and older frames."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor
from time import monotonic
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from framehub.console import frame_rows
from framehub.console.figures import COLUMNS, SECONDS, Figures
from framehub.console.frame_rows import Filter
from framehub.errors import JournalError
from framehub.journal.backwards import backwards
from framehub.journal.reader import read_part
from framehub.journal.record import ROW_SCHEMA
from framehub.journal.segments import Node, segments

MOST_ROWS: Final = 100_000
"""Read for figures; of a busy gateway that is some of the last minutes."""
LONGEST: Final = 1.0
"""Seconds that are read for somebody who waits; what was found until then counts."""
COUNTED: Final = ("rows", "open", "hub")
"""What is counted each second though nobody looks on."""
_NS: Final = 1_000_000_000


class Past(NamedTuple):
    """The newest rows, in order."""

    batches: list[pa.RecordBatch]
    """With the columns that figures look at."""
    last_seq: int
    """The number of the last one; 0 without any."""
    since: float
    """The clock's seconds from which on nothing is missing."""


def recent(node: Node, now: float) -> Past:
    """The rows of the last minutes, or as many of them as may be read.

    Raises:
        JournalError: the journal cannot be read.
    """
    until, began = monotonic() + LONGEST, now - SECONDS
    batches: list[pa.RecordBatch] = []
    last_seq = rows = 0
    since, first = began, now
    try:
        for piece in backwards(node):
            found = list(read_part(piece, columns=COLUMNS))
            last_seq = last_seq or piece.last_seq
            rows += piece.rows
            if found:  # else it is damaged
                batches.insert(0, _copied(found))
                first = found[0].column("time_ns")[0].as_py() / _NS
                if first < began:
                    break
            if rows >= MOST_ROWS or monotonic() > until:
                since = first
                break
    except JournalError as exc:
        _end_if_gone(exc)
        since = first
    return Past(batches, last_seq, since)


def _copied(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """As one, and without the frames that lie beside what was read."""
    joined = _joined(batches)
    return joined if len(batches) > 1 else joined.take(np.arange(joined.num_rows))


def _end_if_gone(exc: JournalError) -> None:
    """Retention removes segments from the oldest on: what comes next is gone as well."""
    if not isinstance(exc.__cause__, FileNotFoundError):
        raise exc


def figures_of(past: Past, points: Sequence[Mapping[str, Any]], now: float) -> Figures:
    """What a page would have if it had looked on until ``now``.

    ``points`` are what was counted anyway, each at the end of its second; they stay where ``past`` does not
    reach. Of the time before the gateway was up, nobody knows who was connected.
    """
    figures = Figures()
    known = [point for point in points if now - SECONDS < point["t"] <= now]  # the clock may have been set
    up = ceil(known[0]["t"]) if known else floor(now) + 1
    seconds = [now - SECONDS, *range(ceil(now - SECONDS), up), *(point["t"] for point in known)]
    rows = _joined(past.batches)
    ends = _ends(rows, seconds)
    begins = max(past.since, rows.column("time_ns")[0].as_py() / _NS) if rows.num_rows else now
    for place in range(1, len(seconds)):
        if seconds[place - 1] >= past.since and ends[place] > ends[place - 1]:
            some = rows.slice(ends[place - 1], ends[place] - ends[place - 1])
            figures.take(some, some.num_rows)
        point = known[place - len(seconds)] if len(seconds) - place <= len(known) else {}
        told = figures.tick(seconds[place], **{name: point.get(name) for name in COUNTED}, watched=True)
        if point and seconds[place - 1] < past.since:
            figures.points[-1] = dict(point)
        elif not point and seconds[place] < begins:
            figures.points.pop()
        elif not point:
            told["rows"] = told["frames"]
    if rows.num_rows > ends[-1]:
        figures.take(rows.slice(ends[-1]), rows.num_rows - ends[-1])
    return figures


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if not batches:
        return pa.RecordBatch.from_pylist([], schema=ROW_SCHEMA)
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _ends(rows: pa.RecordBatch, seconds: Sequence[float]) -> list[int]:
    """Where the rows after each of these moments begin; none lies before that of the moment before."""
    times = np.maximum.accumulate(rows.column("time_ns").to_numpy())
    moments = np.maximum.accumulate(np.array(seconds) * _NS)
    return [int(place) for place in np.searchsorted(times, moments, side="right")]


class Older(NamedTuple):
    """Frames from before, the newest first."""

    lines: list[dict[str, Any]]
    before: int
    """Everything from here on was looked at."""
    at: float | None
    """When that was, in milliseconds; nothing if nothing was looked at."""
    more: bool
    """Whether there are rows before that."""


def older(node: Node, wanted: Filter, before: int | None, *, most: int, inside: bool) -> Older:
    """The newest frames that fit, before a row of the journal.

    Raises:
        JournalError: the journal cannot be read.
    """
    until = monotonic() + LONGEST
    lines: list[dict[str, Any]] = []
    reached, at = before or 1, None
    try:
        for looked, piece in enumerate(backwards(node, before=before)):
            if looked and monotonic() > until:
                return Older(lines, reached, at, more=True)
            newest, began = _newest(read_part(piece), wanted, most - len(lines), inside=inside)
            lines += newest
            if len(lines) == most:
                last = lines[-1]
                return Older(lines, last["seq"], last["at"], more=last["seq"] > _first(node))
            reached, at = piece.first_seq, began or at
    except JournalError as exc:
        _end_if_gone(exc)
    return Older(lines, reached, at, more=False)


def _newest(
    batches: Iterable[pa.RecordBatch], wanted: Filter, most: int, *, inside: bool
) -> tuple[list[dict[str, Any]], float | None]:
    """The last lines that fit, the newest first; and when the first row of all was, in milliseconds."""
    kept: deque[pa.RecordBatch] = deque()
    rows, began = 0, None
    for batch in batches:
        began = began or batch.column("time_ns")[0].as_py() / 1e6
        fitting = frame_rows.chosen(batch, wanted)
        kept.append(fitting.slice(max(0, fitting.num_rows - most)))
        rows += kept[-1].num_rows
        while rows - kept[0].num_rows >= most:
            rows -= kept.popleft().num_rows
    found = [row for batch in kept for row in batch.to_pylist()][-most:]
    return [frame_rows.line(row, inside=inside) for row in reversed(found)], began


def _first(node: Node) -> int:
    """The first row that there is."""
    return segments(node.directory)[0].first_seq
