"""A journal's rows from the newest back, in pieces that one can stop after (spec/journal.md, section 8)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from framehub.journal.block import HEADER_BYTES
from framehub.journal.parts import Part, snapshot
from framehub.journal.scan import SegmentFile
from framehub.journal.segments import Node, segments

PIECE_ROWS: Final = 1_000
PIECE_BYTES: Final = 1 << 20
"""A piece of blocks ends with the one that reaches either. A sealed segment is cut at its row groups."""


def backwards(node: Node, *, before: int | None = None) -> Iterator[Part]:
    """All rows of a node that exist now, or those before a row: the newest piece first.

    Rows within a piece are in their order. Segments are looked at when their turn comes.

    Raises:
        JournalError: the journal is gone, or a file of it cannot be opened.
    """
    for segment in reversed(segments(node.directory)):
        upto = None if before is None else {node.name: before - 1}
        parts = snapshot(node.directory, after={node.name: segment.first_seq - 1}, upto=upto)
        for part in reversed(parts):
            yield from reversed(_groups(part) if part.kind == "parquet" else _runs(part))
        before = segment.first_seq if before is None else min(before, segment.first_seq)


def _groups(part: Part) -> list[Part]:
    try:
        told = pq.read_metadata(part.file)
    except (OSError, pa.ArrowException):
        return [part]  # whoever reads it is told
    pieces: list[Part] = []
    seq = int(Path(part.file).stem)
    for group in range(told.num_row_groups):
        following = seq + told.row_group(group).num_rows
        _add(pieces, part, seq, following - 1)
        seq = following
    return pieces


def _runs(part: Part) -> list[Part]:
    """From header to header; what comes after one that is none stays whole, and its reader skips it."""
    pieces: list[Part] = []
    try:
        segment = SegmentFile(Path(part.file), salt=part.salt, end=part.end)
    except FileNotFoundError:  # sealed since the snapshot: its reader finds the Parquet
        return [part]
    with segment:
        offset = start = part.start
        seq = start_seq = part.start_seq
        while offset < segment.size and seq <= part.last_seq:
            header = segment.header_at(offset)
            if header is None or not header.rows or header.first_seq != seq:
                _add(pieces, part, start_seq, part.last_seq, start=start, end=part.end)
                return pieces
            offset, seq = offset + HEADER_BYTES + header.length, header.last_seq + 1
            if seq - start_seq >= PIECE_ROWS or offset - start >= PIECE_BYTES:
                _add(pieces, part, start_seq, seq - 1, start=start, end=offset)
                start, start_seq = offset, seq
        _add(pieces, part, start_seq, seq - 1, start=start, end=offset)
    return pieces


def _add(pieces: list[Part], part: Part, first: int, last: int, *, start: int = 0, end: int = 0) -> None:
    """The rows from ``first`` to ``last``, as far as the part has them."""
    low, high = max(first, part.first_seq), min(last, part.last_seq)
    if low <= high:
        end = end or part.end
        pieces.append(replace(part, first_seq=low, last_seq=high, start=start, start_seq=first, end=end))
