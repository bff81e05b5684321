"""Old rows go: whole sealed segments, the oldest first (spec/journal.md, section 6).

A segment that is still to be sealed is never removed, nor is anything after it, nor the newest segment: it
says which number comes next. One that cannot be sealed goes when a sealed one would.

What was set aside, torn tails and queries that killed their workers, goes by its age.
"""

import errno
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

from framehub.errors import JournalError
from framehub.journal.ledger import note_removed
from framehub.journal.segments import segments, sync_directory

_ASIDE: Final = ("*.torn", "rpc/quarantine/*.bin", "rpc/quarantine/*.json")


class Removed(NamedTuple):
    """A file that is gone, and why."""

    name: str
    bytes: int
    reason: str
    is_segment: bool = True


def remove_old(
    directory: Path,
    *,
    now: float,
    keep_seconds: float | None = None,
    keep_bytes: int | None = None,
    spoilt: Collection[str] = (),
) -> list[Removed]:
    """Remove segments of a node that are too old, or beyond ``keep_bytes``; gives what was removed.

    The age is that of the file: it was sealed after its last row. ``spoilt`` are names of segments that
    nobody will seal: they are as old as what was last written to them.

    Raises:
        JournalError: a segment cannot be looked at or removed.
    """
    removed: list[Removed] = []
    try:
        found = [(segment, os.stat(segment.path)) for segment in segments(directory)]  # noqa: PTH116
        left = sum(facts.st_size for _, facts in found)
        for segment, facts in found[:-1]:
            if segment.kind != "parquet" and segment.path.name not in spoilt:
                break
            if keep_seconds is not None and now - facts.st_mtime > keep_seconds:
                reason = f"older than {keep_seconds / 86_400:g} days"
            elif keep_bytes is not None and left > keep_bytes:
                reason = f"the journal has over {keep_bytes} bytes"
            else:
                break
            _remove(segment.path)
            left -= facts.st_size
            removed.append(Removed(segment.path.name, facts.st_size, reason))
        if keep_seconds is not None:
            removed += _remove_aside(directory, now - keep_seconds)
        if removed:
            sync_directory(directory)
    except FileNotFoundError:
        pass  # sealed while we looked: the next look sees it
    except OSError as exc:
        raise JournalError(f"{directory}: old segments cannot be removed: {exc.strerror}") from exc
    return removed


def _remove(segment: Path) -> None:
    try:
        note_removed(segment)
    except OSError as exc:
        if exc.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        segment.unlink(missing_ok=True)  # which makes room for its line
        note_removed(segment)
    segment.unlink(missing_ok=True)


def _remove_aside(directory: Path, before: float) -> list[Removed]:
    removed = []
    for path in (path for pattern in _ASIDE for path in sorted(directory.glob(pattern))):
        facts = path.stat()
        if facts.st_mtime < before:
            path.unlink(missing_ok=True)
            reason = "it was set aside, and is as old as segments that go"
            removed.append(Removed(path.name, facts.st_size, reason, is_segment=False))
    return removed
