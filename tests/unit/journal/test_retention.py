import errno
import os
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal.check import check
from framehub.journal.ledger import read_ledger
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


@pytest.mark.parametrize("why", [errno.ENOSPC, errno.EDQUOT])
def test_old_rows_make_room_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: int) -> None:
    journal(tmp_path)
    first = segments(tmp_path)[0].path
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if first.exists():
            write(fd, data[:7])
            raise OSError(why, os.strerror(why))
        return write(fd, data)

    monkeypatch.setattr(os, "write", full)
    assert len(remove_old(tmp_path, now=NOW, keep_seconds=1.5 * 86_400)) == 2
    monkeypatch.undo()
    assert names(tmp_path) == [3, 4]
    assert read_ledger(tmp_path).removed == {1, 2}
    assert check(tmp_path).clean


def test_a_disk_that_fails_keeps_old_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal(tmp_path)

    def fails(_fd: int, _data: bytes) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", fails)
    with pytest.raises(JournalError, match="old segments cannot be removed: Input/output error"):
        remove_old(tmp_path, now=NOW, keep_seconds=1.5 * 86_400)
    assert names(tmp_path) == [1, 2, 3, 4]


def test_what_cannot_be_sealed_goes_when_a_sealed_one_would_and_holds_up_nothing(tmp_path: Path) -> None:
    journal(tmp_path, seal=False)
    first, second, third, fourth = (segment.path.name for segment in segments(tmp_path))
    days = 86_400.0
    assert remove_old(tmp_path, now=NOW, keep_seconds=1.5 * days, spoilt={second, third}) == []
    gone = remove_old(tmp_path, now=NOW, keep_seconds=1.5 * days, spoilt={first, second, third, fourth})
    assert [one.name for one in gone] == [first, second]
    assert names(tmp_path) == [3, 4]
    assert remove_old(tmp_path, now=NOW, keep_bytes=1 << 30, spoilt={third, fourth}) == []
    remove_old(tmp_path, now=NOW + 1e9, keep_seconds=1, keep_bytes=1, spoilt={third, fourth})
    assert names(tmp_path) == [4]


def test_what_was_set_aside_goes_by_its_age_and_is_no_segment(tmp_path: Path) -> None:
    journal(tmp_path)
    poison = tmp_path / "rpc" / "quarantine"
    poison.mkdir(parents=True)
    (tmp_path / "rpc" / "key").touch()
    aside = {name: tmp_path / f"{name}.torn" for name in ("old", "new")}
    aside |= {name: poison / name for name in ("old.bin", "old.json", "new.bin", "note.txt")}
    for name, path in aside.items():
        path.write_bytes(b"12345")
        os.utime(path, (NOW - 86_400 * (1 if name.startswith("new") else 3),) * 2)
    os.utime(tmp_path / "rpc" / "key", (0, 0))
    gone = remove_old(tmp_path, now=NOW, keep_seconds=2.5 * 86_400)
    assert [(one.name, one.bytes) for one in gone if not one.is_segment] == [
        ("old.torn", 5),
        ("old.bin", 5),
        ("old.json", 5),
    ]
    assert [one.name for one in gone if one.is_segment] == [f"{1:020d}.parquet"]
    assert sorted(path.name for path in poison.iterdir()) == ["new.bin", "note.txt"]
    assert (tmp_path / "new.torn").exists()
    assert (tmp_path / "rpc" / "key").exists()
    assert remove_old(tmp_path, now=NOW + 1e9, keep_bytes=1 << 30) == [], "its age is not asked for"
