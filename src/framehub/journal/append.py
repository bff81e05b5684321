"""A segment being written: create, append whole blocks, sync (spec/journal.md, sections 2 and 7)."""

import os
from pathlib import Path
from typing import Final

from framehub.journal.block import Opening, encode_opening
from framehub.journal.segments import blocks_path, sync_directory

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC


class SegmentAppender:
    """One ``.fhj`` file open for appending. Any ``OSError`` means: never use this file descriptor again."""

    def __init__(self, directory: Path, opening: Opening, *, first_seq: int) -> None:
        self.path = blocks_path(directory, first_seq)
        self._directory = directory
        self._fd = os.open(self.path, _FLAGS, 0o644)
        self._pending = encode_opening(opening, first_seq=first_seq)
        self._new = True
        self.size = 0

    def write(self, *pieces: bytes | memoryview) -> None:
        """Append one block, in pieces, with one write; the first takes the opening block along."""
        left = [memoryview(piece) for piece in (self._pending, *pieces) if len(piece)]
        self._pending = b""
        while left:  # a full disk writes what fits, then says so
            written = os.writev(self._fd, left)
            self.size += written
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if written:
                left[0] = left[0][written:]

    def sync(self) -> None:
        """Make what was written durable; the first time, the file's name too."""
        os.fdatasync(self._fd)
        if self._new:
            sync_directory(self._directory)
            self._new = False

    def finish(self) -> None:
        """Sync everything and close: the segment is complete."""
        try:
            os.fsync(self._fd)
            if self._new:
                sync_directory(self._directory)
        finally:
            os.close(self._fd)

    def abandon(self) -> None:
        """Close after a failure, without another promise."""
        os.close(self._fd)
