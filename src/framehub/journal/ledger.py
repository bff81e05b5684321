"""Which segments a node has had, in ``sums`` (spec/journal.md, section 6.7).

It is only added to, a line at a time, so that whoever writes, seals and removes needs no lock. Each line is
on disk before what depends on it is done. What it names and is not there was taken away by somebody else.
"""

import errno
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from framehub.errors import JournalError
from framehub.journal.segments import first_seq_of, sync_directory
from framehub.private import open_file, read_file

SUMS_FILE: Final = "sums"
FULL_ROWS: Final = 1 << 21
"""A segment with so many rows is finished,"""
MOST_ROWS: Final = 1 << 22
"""so that none has more than these."""
_OPENED, _REMOVED = "opened", "removed"
_CUT: Final = b" cut here\n"
"""Ends a line that was cut short: with it, it is like none of those that say something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Rows that are in no segment: those between the two."""

    node: str
    after_seq: int
    before_seq: int
    files: tuple[str, ...] = ()
    """Segments that held them and are gone, as far as that is known."""
    goes_on: bool = False
    """Nobody knows how many rows came after them."""

    @property
    def rows(self) -> int:
        """How many are missing, at least."""
        return self.before_seq - self.after_seq - 1

    def __str__(self) -> str:
        first, last = self.after_seq + 1, self.before_seq - 1
        which = f"row {first}" if first == last else f"rows {first} to {last}"
        which += " and perhaps more are" if self.goes_on else " is" if first == last else " are"
        files = ", ".join(self.files) + (" is" if len(self.files) == 1 else " are")
        return f"{self.node}: {which} missing" + (f" ({files} gone)" if self.files else "")


class Ledger(NamedTuple):
    """What ``sums`` says."""

    sums: dict[str, str]
    """What ``file_sum`` said of each sealed segment when it was sealed."""
    ends: dict[int, int | None]
    """Segments that had a durable row, by the number of the first: that of the last, if they were sealed."""
    removed: frozenset[int]
    """Those that were removed because they were old."""

    def gone(self, there: Collection[int]) -> list[int]:
        """Segments that somebody else has removed; ``there`` are those that are not."""
        return sorted(first for first in self.ends if first not in there and first not in self.removed)

    def explains(self, gap: Gap) -> bool:
        """Whether all that is missing there was removed because it was old."""
        first = gap.after_seq + 1
        while first < gap.before_seq and first in self.removed:
            first = (self.ends.get(first) or gap.before_seq) + 1
        return first >= gap.before_seq

    def gap(self, node: str, gone: Collection[int], after_seq: int, before_seq: int | None) -> Gap:
        """What is missing with them, between these two rows; None: they were the last."""
        files = tuple(self._name(first) for first in sorted(gone))
        if before_seq is not None:
            return Gap(node=node, after_seq=after_seq, before_seq=before_seq, files=files)
        newest = max(gone)
        last = self.ends[newest]
        before_seq = (newest if last is None else last) + 1
        return Gap(node=node, after_seq=after_seq, before_seq=before_seq, files=files, goes_on=last is None)

    def highest(self, first: int) -> int:
        """The highest number that a row of this segment can have."""
        last = self.ends[first]
        return first + MOST_ROWS - 1 if last is None else last

    def _name(self, first: int) -> str:
        return f"{first:020d}.{'fhj' if self.ends[first] is None else 'parquet'}"


def read_ledger(directory: Path) -> Ledger:
    """What is known of a node's segments.

    Raises:
        JournalError: it cannot be read.
    """
    found = Ledger({}, {}, frozenset())
    removed = set()
    for line in _text(directory).split("\n")[:-1]:  # what is after the last newline was cut short
        words = line.split(" ")
        name = words[1] if len(words) == 2 else words[2] if len(words) in (3, 4) else ""
        if (first := first_seq_of(name)) is None:
            continue
        if words[0] == _REMOVED and len(words) == 2:
            removed.add(first)
        elif words[0] == _OPENED and len(words) == 2:
            found.ends.setdefault(first, None)
        elif len(words) > 2:
            found.sums[name] = f"{words[0]} {words[1]}"
            last = words[3] if len(words) == 4 else ""
            if len(last) <= 20 and last.isascii() and last.isdecimal() and int(last) >= first:
                found.ends[first] = int(last)
    return found._replace(removed=frozenset(removed))


def note_opened(segment: Path) -> None:
    """A segment's first row is on disk."""
    _note(segment.parent, f"{_OPENED} {segment.name}")


def note_sealed(sealed: Path, told: str, last_seq: int) -> None:
    """A segment is about to get the name of a sealed one; ``told`` is what ``file_sum`` says."""
    _note(sealed.parent, f"{told} {sealed.name} {last_seq}")


def note_removed(segment: Path) -> None:
    """A segment is about to be removed because it is old."""
    _note(segment.parent, f"{_REMOVED} {segment.name}")


def _text(directory: Path) -> str:
    try:
        return read_file(directory / SUMS_FILE).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as exc:
        raise JournalError(f"{directory / SUMS_FILE}: {exc.strerror}") from exc


def _note(directory: Path, line: str) -> None:
    path = directory / SUMS_FILE
    fd = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = os.fstat(fd).st_size
        is_cut = size and os.pread(fd, 1, size - 1) != b"\n"  # the line before was cut short
        data = (_CUT if is_cut else b"") + f"{line}\n".encode()
        if os.write(fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(fd)
    finally:
        os.close(fd)
    if not size:
        sync_directory(directory)
