"""A journal full of made-up traffic, for tests and benchmarks (spec/journal.md, section 9).

The files are what a gateway's writer makes, byte for byte in the same format; only the sync comes once per
segment instead of once per block. The same seed and number of frames give the same bytes.
"""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from framehub.errors import JournalError
from framehub.journal import block, segments
from framehub.journal.append import SegmentAppender
from framehub.journal.record import VERSION, Row, to_batch
from framehub.journal.seal import seal
from framehub.journal.stories import conversations
from framehub.journal.traffic import START_NS

BLOCK_ROWS: Final = 2048
SEGMENT_BYTES: Final = 128 << 20


def generate(
    directory: Path | str,
    *,
    frames: int,
    seed: int = 1,
    node: str = "generated",
    segment_bytes: int = SEGMENT_BYTES,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write a new journal of exactly ``frames`` rows and return that number.

    Full segments are sealed, the last one is left open. ``progress`` is told how many rows are written.

    Raises:
        JournalError: the directory has a journal already, or cannot be written.
    """
    if frames < 1:
        raise JournalError(f"frames: {frames} is less than 1")
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with segments.locked(place):
            if segments.load_node(place) is not None or segments.segments(place):
                raise JournalError(f"{place}: there is a journal already")
            salt = zlib.crc32(f"{node}/{seed}".encode())
            owner = segments.create_node(place, node, salt)
            return _write(owner, frames, seed, segment_bytes, progress)
    except OSError as exc:
        raise JournalError(f"{place}: cannot be written: {exc.strerror or exc}") from exc


def _write(
    node: segments.Node,
    frames: int,
    seed: int,
    segment_bytes: int,
    progress: Callable[[int], None] | None,
) -> int:
    opening = block.Opening(node.name, VERSION, START_NS, node.salt, block.BLOCK_LIMIT)
    written = 0
    segment: SegmentAppender | None = None
    for rows in _groups(frames, seed):
        if segment is None:
            segment = SegmentAppender(node.directory, opening, first_seq=written + 1)
        segment.write(block.encode_rows(to_batch(rows), first_seq=written + 1, salt=node.salt))
        written += len(rows)
        if progress is not None:
            progress(written)
        if segment.size >= segment_bytes:
            segment.finish()
            seal(segment.path, node=node.name, salt=node.salt)
            segment = None
    if segment is not None:
        segment.finish()
    return written


def _groups(frames: int, seed: int) -> Iterator[list[Row]]:
    """Exactly ``frames`` rows, a block's worth at a time."""
    waiting: list[Row] = []
    left = frames
    for rows in conversations(seed):
        waiting += rows
        while len(waiting) >= min(BLOCK_ROWS, left):
            size = min(BLOCK_ROWS, left)
            yield waiting[:size]
            waiting = waiting[size:]
            left -= size
            if not left:
                return
