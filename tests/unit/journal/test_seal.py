from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from framehub.errors import JournalError
from framehub.journal import seal as sealing
from framehub.journal.ledger import read_ledger
from framehub.journal.record import ROW_SCHEMA
from framehub.journal.seal import seal
from framehub.journal.segments import Node


def test_a_sealed_segment_holds_the_same_rows(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, first_seq=4)
    sealed = seal(path, node="n1")
    assert not path.exists()
    table = pq.read_table(sealed)
    assert table.schema.remove_metadata().equals(ROW_SCHEMA)
    assert table.column("seq").to_pylist() == list(range(4, 16))
    assert table.column("raw").to_pylist()[0] == b"frame 4"
    assert sorted(file.name for file in node.directory.iterdir()) == [sealed.name, "node.json", "sums"]


def test_row_groups_are_bounded(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "GROUP_ROWS", 7)
    assert pq.read_metadata(seal(segment(node.directory), node="n1")).num_row_groups == 2


@pytest.mark.parametrize("harm", ["flip", "torn", "empty"])
def test_what_is_not_whole_is_never_sealed(node: Node, segment: Callable[..., Path], harm: str) -> None:
    path = segment(node.directory, blocks=0 if harm == "empty" else 4)
    data = bytearray(path.read_bytes())
    if harm == "flip":
        data[len(data) // 2] ^= 1
    elif harm == "torn":
        data += b"half"
    path.write_bytes(data)
    with pytest.raises(JournalError, match="sealed"):
        seal(path, node="n1")
    assert path.read_bytes() == data
    assert sorted(file.name for file in node.directory.iterdir()) == sorted(
        [path.name, "node.json", *(["sums"] if harm != "empty" else [])]
    )


def test_the_sum_of_a_sealed_segment_is_noted(node: Node, segment: Callable[..., Path]) -> None:
    sealed = seal(segment(node.directory), node="n1")
    assert read_ledger(node.directory).sums == {sealed.name: sealing.file_sum(sealed)}
    assert read_ledger(node.directory).ends == {1: 12}
