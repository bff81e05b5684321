from pathlib import Path

import pytest

from framehub.journal.append import SegmentAppender
from framehub.journal.block import BLOCK_LIMIT, Opening
from framehub.journal.scan import SegmentFile

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
