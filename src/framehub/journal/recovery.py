"""What a writer does with what the last one left (spec/journal.md, section 4).

Only the lock's holder may call this. The longest sound run of blocks is kept; a torn tail is cut off and set
aside as ``.torn``; damage inside a segment, or at the end of one that others follow or that has lost its
first row, is reported and left alone. The next row's number follows the highest one found, or that a segment
that is gone can have had.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from framehub.errors import JournalError
from framehub.journal.ledger import Gap, read_ledger
from framehub.journal.scan import Block, Damage, scan_listed
from framehub.journal.segments import Node, Segment, segments, sync_directory
from framehub.private import new_file, open_file

_STEP: Final = 1 << 20
_TIMES: Final = ("time_ns", "mono_ns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What was found when a journal was opened for writing."""

    next_seq: int
    cut: tuple[Damage, ...] = ()
    """Torn tails, now gone from their segments."""
    damages: tuple[Damage, ...] = ()
    """Damage inside segments: those stay as they are."""
    unsealed: tuple[Path, ...] = ()
    """Sound segments that can be sealed, oldest first."""
    missing: Gap | None = None
    """The newest rows, if their segments were taken away: numbers go on behind all that they can have had."""
    last_at: tuple[int, int] | None = None
    """``time_ns`` and ``mono_ns`` of the last row; None if there is none that can be read."""


def recover(node: Node) -> Recovery:
    """Make the node's directory ready for the next row."""
    ledger = read_ledger(node.directory)
    for leftover in sorted(node.directory.glob("*.tmp")):
        leftover.unlink(missing_ok=True)
    every = segments(node.directory, hidden=True)
    sealed = [segment for segment in every if segment.kind == "parquet"]
    last_seq, last_at = _last_sealed(sealed[-1]) if sealed else (0, None)
    done = {segment.first_seq for segment in sealed}
    rows = set(done)  # segments that have some
    there = set(done)  # and those that stay, rows or not
    cut: list[Damage] = []
    damages: list[Damage] = []
    unsealed: list[Path] = []
    for number, segment in enumerate(every):
        if segment.kind == "parquet":
            continue
        if segment.first_seq in done:  # sealed whole; only the removal was missed
            segment.path.unlink(missing_ok=True)
            continue
        following = every[number + 1].first_seq if number + 1 < len(every) else None
        had_rows = segment.first_seq in ledger.ends
        inside, torn, last, at = _examine(segment, node, following, had_rows=had_rows)
        last_seq = max(last_seq, last)
        last_at = at or last_at
        damages += inside
        if torn is not None:
            _cut(segment.path, torn)
            cut.append(torn)
        if last >= segment.first_seq:
            rows.add(segment.first_seq)
        if not inside and last < segment.first_seq:
            segment.path.unlink()  # not one row was ever written to it
            continue
        there.add(segment.first_seq)
        if not inside:
            unsealed.append(segment.path)
    sync_directory(node.directory)
    missing = None
    newest = max(ledger.ends, default=0)
    if newest in rows:
        last_seq = max(last_seq, ledger.ends[newest] or 0)
    elif newest > max(rows, default=0):
        if gone := [first for first in ledger.gone(there) if first > last_seq]:
            missing = ledger.gap(node.name, gone, last_seq, None)
        last_seq = max(last_seq, ledger.highest(newest))
    return Recovery(
        next_seq=last_seq + 1,
        missing=missing,
        cut=tuple(cut),
        damages=tuple(damages),
        unsealed=tuple(unsealed),
        last_at=last_at,
    )


def _examine(
    segment: Segment, node: Node, following: int | None, *, had_rows: bool
) -> tuple[list[Damage], Damage | None, int, tuple[int, int] | None]:
    inside: list[Damage] = []
    torn: Damage | None = None
    last = 0
    block: Block | None = None
    for found in scan_listed(segment, salt=node.salt, following=following, had_rows=had_rows):
        if isinstance(found, Block):
            last = max(last, found.header.last_seq)
            block = found if found.header.rows else block
        elif found.torn:
            torn = found
        else:
            inside.append(found)
            last = max(last, (found.before_seq or 1) - 1)  # numbers of lost rows are not given again
    return inside, torn, last, _times(block.rows()) if block else None


def _last_sealed(segment: Segment) -> tuple[int, tuple[int, int] | None]:
    """The last row of a sealed segment: rows count up from the first, without a gap."""
    try:
        with pq.ParquetFile(segment.path) as file:
            rows: int = file.metadata.num_rows
            groups = file.num_row_groups
            last = file.read_row_group(groups - 1, columns=list(_TIMES)) if groups else None
    except (OSError, pa.ArrowException) as exc:
        raise JournalError(f"{segment.path}: the last sealed segment cannot be read: {exc}") from exc
    return segment.first_seq + rows - 1, _times(last) if last is not None else None


def _times(rows: pa.RecordBatch | pa.Table) -> tuple[int, int]:
    wall, mono = (rows.column(name)[rows.num_rows - 1].as_py() for name in _TIMES)
    return wall, mono


def _cut(file: Path, torn: Damage) -> None:
    """Set the tail aside (it may be all that is left of somebody's row), then shorten the segment."""
    fd = open_file(file, os.O_RDWR)
    try:
        aside = file.with_name(f"{file.stem}.{torn.offset}.torn")
        with new_file(aside) as out:
            at = torn.offset
            while data := os.pread(fd, _STEP, at):
                out.write(data)
                at += len(data)
            out.flush()
            os.fsync(out.fileno())
        os.ftruncate(fd, torn.offset)
        os.fsync(fd)
    finally:
        os.close(fd)
