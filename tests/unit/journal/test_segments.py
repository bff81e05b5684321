import os
from pathlib import Path

import pytest

from framehub.errors import JournalError, JournalLocked
from framehub.journal import segments


def test_a_node_is_its_directory_or_one_of_several(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        segments.create_node(tmp_path / name, f"node-{name}", 7)
    (tmp_path / "other").mkdir()
    assert [node.name for node in segments.nodes(tmp_path)] == ["node-a", "node-b"]
    assert segments.nodes(tmp_path / "a") == [segments.Node(tmp_path / "a", "node-a", 7)]


def test_what_is_no_journal_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no such journal"):
        segments.nodes(tmp_path / "nope")
    with pytest.raises(JournalError, match="no journal here"):
        segments.nodes(tmp_path)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(JournalError, match="not a directory"):
        segments.nodes(file)


def test_two_nodes_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        segments.create_node(tmp_path / name, "same", 7)
    with pytest.raises(JournalError, match="both named 'same'"):
        segments.nodes(tmp_path)


def test_journals_within_a_journal_are_refused_by_writers_and_readers(tmp_path: Path) -> None:
    """Else nobody would find them any more, and whatever is checked there would be well."""
    for name in ("north", "south"):
        (tmp_path / name).mkdir()
        segments.open_node(tmp_path / name, name)
    with pytest.raises(JournalError, match=r"journals in it already: north, south; write beside them"):
        segments.open_node(tmp_path, None)
    assert not (tmp_path / segments.NODE_FILE).exists()
    segments.create_node(tmp_path, "above", 7)
    with pytest.raises(JournalError, match=r"the journal of node 'above', with others in it: north, south"):
        segments.nodes(tmp_path)
    assert [node.name for node in segments.nodes(tmp_path / "north")] == ["north"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"node": "a", "version": 1}', "says no 'salt'"),
        ('{"node": "a", "version": 1, "salt": 3}', "cannot be read"),
        ('{"node": "a", "version": 2, "salt": "0"}', "version 2"),
        ('{"version": 99}', "version 99"),
        ('{"node": "", "version": 1, "salt": "0"}', "no name"),
    ],
)
def test_a_bad_node_file_says_so(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "node.json").write_text(text)
    with pytest.raises(JournalError, match=reason):
        segments.nodes(tmp_path)


def test_the_parquet_wins_and_strangers_are_ignored(tmp_path: Path) -> None:
    for name in (
        f"{1:020d}.fhj",
        f"{1:020d}.parquet",
        f"{9:020d}.fhj",
        "1.fhj",
        "lock",
        f"{1:020d}.parquet.tmp",
    ):
        (tmp_path / name).touch()
    seen = [(segment.first_seq, segment.kind) for segment in segments.segments(tmp_path)]
    assert seen == [(1, "parquet"), (9, "blocks")]
    assert len(segments.segments(tmp_path, hidden=True)) == 3


def test_there_is_one_writer(tmp_path: Path) -> None:
    with segments.locked(tmp_path):
        with pytest.raises(JournalLocked, match=f"process {os.getpid()} writes"), segments.locked(tmp_path):
            raise AssertionError
        assert JournalLocked.exit_code == 3
    with segments.locked(tmp_path):
        pass


def test_a_lock_that_was_removed_or_replaced_is_noticed(tmp_path: Path) -> None:
    with segments.locked(tmp_path) as lock:
        lock.stand()
        (tmp_path / "lock").rename(tmp_path / "other")
        with pytest.raises(OSError, match=r"lock was removed, or its directory was"):
            lock.stand()
        (tmp_path / "lock").touch()
        with pytest.raises(OSError, match=r"lock was replaced"):
            lock.stand()
        (tmp_path / "other").rename(tmp_path / "lock")
        lock.stand()


def test_a_directory_that_is_no_longer_the_nodes_is_noticed(tmp_path: Path) -> None:
    node = segments.create_node(tmp_path, "a", 7)
    node.stand()
    segments.create_node(tmp_path, "a", 8)
    with pytest.raises(JournalError, match=r"^node\.json was replaced$"):
        node.stand()
    (tmp_path / "node.json").unlink()
    with pytest.raises(JournalError, match=r"^node\.json was removed$"):
        node.stand()
