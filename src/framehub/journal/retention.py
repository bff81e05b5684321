"""Old rows go: whole sealed segments, the oldest first (spec/journal.md, section 6).

A segment of blocks is never removed, nor is anything after one that has not been sealed, nor the newest
segment: it says which number comes next.
"""

import os
from pathlib import Path
from typing import NamedTuple

from framehub.errors import JournalError
from framehub.journal.segments import segments, sync_directory


class Removed(NamedTuple):
    """A segment that is gone, and why."""

    name: str
    bytes: int
    reason: str


def remove_old(
    directory: Path, *, now: float, keep_seconds: float | None = None, keep_bytes: int | None = None
) -> list[Removed]:
    """Remove sealed segments of a node that are too old, or beyond ``keep_bytes``; gives those removed.

    The age is that of the file: it was sealed after its last row.

    Raises:
        JournalError: a segment cannot be looked at or removed.
    """
    removed: list[Removed] = []
    try:
        found = [(segment, os.stat(segment.path)) for segment in segments(directory)]  # noqa: PTH116
        left = sum(facts.st_size for _, facts in found)
        for segment, facts in found[:-1]:
            if segment.kind != "parquet":
                break
            if keep_seconds is not None and now - facts.st_mtime > keep_seconds:
                reason = f"older than {keep_seconds / 86_400:g} days"
            elif keep_bytes is not None and left > keep_bytes:
                reason = f"the journal has over {keep_bytes} bytes"
            else:
                break
            segment.path.unlink(missing_ok=True)
            left -= facts.st_size
            removed.append(Removed(segment.path.name, facts.st_size, reason))
        if removed:
            sync_directory(directory)
    except FileNotFoundError:
        pass  # sealed while we looked: the next look sees it
    except OSError as exc:
        raise JournalError(f"{directory}: old segments cannot be removed: {exc.strerror}") from exc
    return removed
