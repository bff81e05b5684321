import os
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal.check import check
from framehub.journal.mfp_rows import LinkRows
from framehub.journal.retention import remove_old
from framehub.journal.segments import segments
from framehub.journal.writer import JournalWriter, WriterSettings

NOW = 1_000_000.0


def journal(folder: Path, *, seal: bool = True) -> Path:
    """Four segments of a row each; sealed ones are as old as they are many before the last, in days."""
    for _ in range(4):
        with JournalWriter(folder, node="n", settings=WriterSettings(seal=seal)) as writer:
            writer.append(LinkRows(b"linklink", 0).opened((1, 1)))
            if not seal:
                writer.close(seal=False)
    for age, segment in enumerate(reversed(segments(folder))):
        os.utime(segment.path, (NOW - age * 86_400,) * 2)
    return folder


def names(folder: Path) -> list[int]:
    return [segment.first_seq for segment in segments(folder)]


def test_what_is_too_old_goes_and_the_rest_is_whole(tmp_path: Path) -> None:
    gone = remove_old(journal(tmp_path), now=NOW, keep_seconds=1.5 * 86_400)
    assert [one.reason for one in gone] == ["older than 1.5 days"] * 2
    assert names(tmp_path) == [3, 4]
    assert check(tmp_path).clean
    with JournalWriter(tmp_path, node="n") as writer:
        assert writer.append(LinkRows(b"linklink", 0).opened((1, 1))) == 5


def test_what_is_too_much_goes_the_oldest_first(tmp_path: Path) -> None:
    journal(tmp_path)
    sizes = [segment.path.stat().st_size for segment in segments(tmp_path)]
    assert remove_old(tmp_path, now=NOW, keep_bytes=sum(sizes)) == []
    (one,) = remove_old(tmp_path, now=NOW, keep_bytes=sum(sizes) - 1)
    assert one.bytes == sizes[0]
    assert names(tmp_path) == [2, 3, 4]


def test_the_newest_stays_so_that_numbers_go_on(tmp_path: Path) -> None:
    remove_old(journal(tmp_path), now=NOW + 1e9, keep_seconds=1, keep_bytes=1)
    assert names(tmp_path) == [4]
    assert remove_old(tmp_path, now=NOW + 1e9, keep_seconds=1) == []


def test_what_is_not_sealed_stays(tmp_path: Path) -> None:
    journal(tmp_path, seal=False)
    assert all(segment.kind == "blocks" for segment in segments(tmp_path))
    assert remove_old(tmp_path, now=NOW + 1e9, keep_seconds=1) == []


def test_a_disk_that_says_no_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        remove_old(tmp_path / "nowhere", now=NOW, keep_seconds=1)
