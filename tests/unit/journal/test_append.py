import errno
import os
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal.append import SegmentAppender, begin, said
from framehub.journal.block import BLOCK_LIMIT, Opening
from framehub.journal.scan import SegmentFile
from framehub.journal.segments import Node

OPENING = Opening("n1", 1, 5, 7, BLOCK_LIMIT)


def test_the_first_write_takes_the_opening_along(tmp_path: Path) -> None:
    appender = SegmentAppender(tmp_path, OPENING, first_seq=12)
    assert appender.path.stat().st_size == 0
    appender.write(b"data")
    appender.sync()
    appender.finish()
    assert appender.path.name == f"{12:020d}.fhj"
    assert appender.path.read_bytes().endswith(b"data")
    assert appender.path.stat().st_size == appender.size
    with SegmentFile(appender.path) as segment:
        assert segment.opening == OPENING


def test_a_segment_is_never_begun_twice(tmp_path: Path) -> None:
    SegmentAppender(tmp_path, OPENING, first_seq=12).abandon()
    with pytest.raises(FileExistsError):
        SegmentAppender(tmp_path, OPENING, first_seq=12)


def test_a_new_segment_says_whose_it_is(tmp_path: Path) -> None:
    appender = begin(Node(tmp_path, "n1", 7), 12, BLOCK_LIMIT)
    appender.write(b"data")
    appender.finish()
    with SegmentFile(appender.path) as segment:
        assert segment.opening is not None
        assert segment.opening._replace(created_ns=5) == OPENING
        assert segment.opening.created_ns > 0


def test_nothing_is_durable_in_a_file_without_its_name(tmp_path: Path) -> None:
    appender = SegmentAppender(tmp_path, OPENING, first_seq=12)
    appender.write(b"data")
    appender.sync()
    aside = appender.path.with_suffix(".aside")
    appender.path.rename(aside)
    for look in (appender.stand, appender.sync):
        with pytest.raises(OSError, match=r"00012\.fhj was removed, or its directory was"):
            look()
    appender.path.write_bytes(aside.read_bytes())
    for look in (appender.stand, appender.sync, appender.finish):
        with pytest.raises(OSError, match=r"00012\.fhj was replaced"):
            look()


def test_a_file_is_closed_once(tmp_path: Path) -> None:
    appender = SegmentAppender(tmp_path, OPENING, first_seq=12)
    fd = appender._fd
    appender.finish()
    again = os.open(os.devnull, os.O_RDONLY)
    try:
        assert again == fd, "the next file has its number"
        appender.abandon()
        os.fstat(again)
    finally:
        os.close(again)


def test_what_went_wrong_is_said_with_the_file_that_it_is_about() -> None:
    assert said(OSError(errno.EIO, "Input/output error")) == "Input/output error"
    assert said(OSError(errno.EACCES, "Permission denied", "/j/1.fhj")) == "Permission denied: 1.fhj"
    gone = FileNotFoundError(errno.ENOENT, "No such file or directory", "/j/1.fhj")
    assert said(gone) == "1.fhj was removed, or its directory was"
    assert said(OSError("odd")) == "OSError('odd')"
    assert said(JournalError("node.json was removed")) == "node.json was removed"
    assert said(ValueError("x")) == "ValueError('x')"
