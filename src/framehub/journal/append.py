"""A segment being written: create, append whole blocks, sync (spec/journal.md, sections 2 and 7)."""

import os
import time
from pathlib import Path
from typing import Final

from framehub.errors import JournalError
from framehub.journal.block import Opening, encode_opening
from framehub.journal.ledger import note_opened
from framehub.journal.record import VERSION
from framehub.journal.segments import Node, blocks_path, stand, sync_directory
from framehub.private import open_file

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND


class SegmentAppender:
    """One ``.fhj`` file open for appending. Any ``OSError`` means: never use this file descriptor again."""

    def __init__(self, directory: Path, opening: Opening, *, first_seq: int) -> None:
        self.path = blocks_path(directory, first_seq)
        self._directory = directory
        self._fd = open_file(self.path, _FLAGS)
        self._pending = encode_opening(opening, first_seq=first_seq)
        self._new = True
        self.first_seq = first_seq
        self.size = 0
        self._began = time.monotonic()

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
        self._named()

    @property
    def age(self) -> float:
        """Seconds since it was begun."""
        return time.monotonic() - self._began

    def stand(self) -> None:
        """Look whether the file is where it was: rows written to one without a name are lost.

        Raises:
            OSError: it was removed, or another is in its place.
        """
        stand(self._fd, self.path)

    def finish(self) -> None:
        """Sync everything and close: the segment is complete."""
        try:
            os.fsync(self._fd)
            self._named()
        finally:
            self.abandon()

    def _named(self) -> None:
        """Make the file's name durable, and that it was there, if that was not done; then look at it."""
        if self._new:
            sync_directory(self._directory)
        self.stand()
        if self._new and self.size:
            note_opened(self.path)
        self._new = False

    def abandon(self) -> None:
        """Close without another promise, if it is open."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def begin(node: Node, first_seq: int, block_limit: int) -> SegmentAppender:
    """A new segment of a node, for rows from ``first_seq`` on."""
    opening = Opening(node.name, VERSION, time.time_ns(), node.salt, block_limit)
    return SegmentAppender(node.directory, opening, first_seq=first_seq)


def said(exc: BaseException) -> str:
    """What went wrong, in words."""
    if isinstance(exc, FileNotFoundError) and exc.filename:
        return f"{Path(exc.filename).name} was removed, or its directory was"
    if isinstance(exc, OSError) and exc.strerror:
        return f"{exc.strerror}: {Path(exc.filename).name}" if exc.filename else exc.strerror
    return str(exc) if isinstance(exc, JournalError) else repr(exc)
