from collections.abc import Callable
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal import reader, segments
from framehub.journal.record import Row
from framehub.journal.segments import Node
from framehub.journal.writer import JournalWriter


def test_several_nodes_are_read_as_one(tmp_path: Path, row: Callable[..., Row]) -> None:
    for name in ("b", "a"):
        with JournalWriter(tmp_path / name, node=f"node-{name}") as writer:
            for number in (1, 2):
                writer.append(row(number))
    seen = [
        (known["node"], known["seq"])
        for batch in reader.read(tmp_path, columns=["node", "seq"])
        for known in batch.to_pylist()
    ]
    assert seen == [("node-a", 1), ("node-a", 2), ("node-b", 1), ("node-b", 2)]
    after = reader.read(tmp_path, after={"node-a": 2, "node-b": 1}, columns=["seq"])
    assert [batch.column("seq").to_pylist() for batch in after] == [[2]]


def test_no_journal_is_an_error_and_an_empty_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no journal here"):
        list(reader.read(tmp_path))
    segments.create_node(tmp_path, "a", 1)
    assert list(reader.read(tmp_path)) == []


def test_following_goes_on_with_what_is_written_next(node: Node, row: Callable[..., Row]) -> None:
    with JournalWriter(node.directory) as writer:
        writer.append(row(1))
        writer.flush(5)
        rounds = iter(range(100))

        def stop() -> bool:
            number = next(rounds)
            if number < 5:
                writer.append(row(number + 2))
                writer.flush(5)
            return number > 6

        found = reader.follow(node.directory, columns=["seq"], poll=0.0, stop=stop)
        assert [seq for batch in found for seq in batch.column("seq").to_pylist()] == [1, 2, 3, 4, 5, 6]
