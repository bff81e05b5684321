"""A journal's rows from the newest back, in pieces that one can stop after (spec/journal.md, section 8)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from framehub.journal.block import HEADER_BYTES
from framehub.journal.parts import Part, part_of
from framehub.journal.scan import Block, SegmentFile
from framehub.journal.segments import Node, segments

PIECE_ROWS: Final = 1_000
PIECE_BYTES: Final = 1 << 20
"""A piece of blocks ends with the one that reaches either. A sealed segment is cut at its row groups."""


def backwards(node: Node, *, before: int | None = None) -> Iterator[Part]:
    """All rows of a node that exist now, or those before a row: the newest piece first.

    Rows within a piece are in their order. Segments are looked at when their turn comes.

    Raises:
        JournalError: the journal is gone, or a file of it: older ones are as well, then.
    """
    high = None if before is None else before - 1
    following = None
    for segment in reversed(segments(node.directory)):
        if high is None or segment.first_seq <= high:
            part = part_of(node, segment, following, high=high)
            if part is not None:
                yield from reversed(_groups(part) if part.kind == "parquet" else _runs(part))
        following = segment.first_seq


def _groups(part: Part) -> list[Part]:
    try:
        told = pq.read_metadata(part.file)
    except (OSError, pa.ArrowException):
        return [part]  # whoever reads it is told
    pieces: list[Part] = []
    seq = int(Path(part.file).stem)
    for group in (told.row_group(number) for number in range(told.num_row_groups)):
        following = seq + group.num_rows
        _add(pieces, part, seq, following - 1, start=0, end=group.total_byte_size)
        seq = following
    return pieces


def _runs(part: Part) -> list[Part]:
    """From header to header; where that leads to no block, from the next one on."""
    try:
        segment = SegmentFile(Path(part.file), salt=part.salt, end=part.end)
    except FileNotFoundError:  # sealed since the snapshot: its reader finds the Parquet
        return [part]
    pieces: list[Part] = []
    with segment:
        offset, seq = part.start, part.start_seq
        if offset == 0 and segment.opening is not None and (opening := segment.header_at(0)) is not None:
            offset = HEADER_BYTES + opening.length
        start, start_seq = offset, seq
        while offset < segment.size and seq <= part.last_seq:
            header = segment.header_at(offset)
            if header is None or not header.rows or header.first_seq != seq:
                _add(pieces, part, start_seq, seq - 1, start=start, end=offset)
                found = _next(segment, offset, seq)
                if found is None:
                    return pieces
                offset = start = found.offset
                seq = start_seq = found.header.first_seq
                continue
            offset, seq = offset + HEADER_BYTES + header.length, header.last_seq + 1
            if seq - start_seq >= PIECE_ROWS or offset - start >= PIECE_BYTES:
                _add(pieces, part, start_seq, seq - 1, start=start, end=offset)
                start, start_seq = offset, seq
        _add(pieces, part, start_seq, seq - 1, start=start, end=offset)
    return pieces


def _next(segment: SegmentFile, offset: int, seq: int) -> Block | None:
    """The first sound block of later rows that is there or follows."""
    there = segment.block_at(offset)
    if there is not None and there.header.rows and there.header.first_seq > seq:
        return there  # rows are missing before it
    return segment.resync(offset, after_seq=seq - 1)


def _add(pieces: list[Part], part: Part, first: int, last: int, *, start: int, end: int) -> None:
    """The rows from ``first`` to ``last``, as far as the part has them."""
    low, high = max(first, part.first_seq), min(last, part.last_seq)
    if low <= high:
        pieces.append(replace(part, first_seq=low, last_seq=high, start=start, start_seq=first, end=end))
