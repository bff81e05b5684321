from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal import reader
from framehub.journal.generate import generate


def files(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.name != "lock"}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        generate(tmp_path / name, frames=3000, seed=seed, segment_bytes=500_000)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a") != files(tmp_path / "c")


@pytest.mark.parametrize("frames", [1, 2047, 2048, 2049, 5000])
def test_there_are_as_many_rows_as_asked_for(tmp_path: Path, frames: int) -> None:
    done: list[int] = []
    assert generate(tmp_path, frames=frames, progress=done.append, segment_bytes=1_000_000) == frames
    report = reader.check(tmp_path)
    assert (report.clean, report.rows, report.nodes[0].last_seq) == (True, frames, frames)
    assert done[-1] == frames


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    generate(tmp_path, frames=1)
    with pytest.raises(JournalError, match="there is a journal already"):
        generate(tmp_path, frames=1)
    with pytest.raises(JournalError, match="less than 1"):
        generate(tmp_path / "x", frames=0)
    with pytest.raises(JournalError, match="cannot be written"):
        generate(tmp_path / "node.json" / "x", frames=1)
