from collections.abc import Callable
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal.reader import read
from framehub.journal.recovery import recover
from framehub.journal.seal import seal
from framehub.journal.segments import Node, parquet_path


def test_an_empty_journal_begins_with_one(node: Node) -> None:
    found = recover(node)
    assert (found.next_seq, found.cut, found.damages, found.unsealed) == (1, (), (), ())


def test_a_torn_tail_is_cut_and_set_aside(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory)
    size = path.stat().st_size
    with path.open("ab") as out:
        out.write(b"FHJ1 half a block")
    found = recover(node)
    assert found.next_seq == 13
    assert [damage.bytes for damage in found.cut] == [17]
    assert found.unsealed == (path,)
    assert path.stat().st_size == size
    assert (node.directory / f"{path.stem}.{size}.torn").read_bytes() == b"FHJ1 half a block"
    assert recover(node).cut == ()


def test_a_segment_with_damage_inside_is_left_alone(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found = recover(node)
    assert len(found.damages) == 1
    assert (found.unsealed, found.next_seq) == ((), 13)
    assert path.read_bytes() == data


def test_a_segment_without_a_row_goes(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, first_seq=5, blocks=0)
    path.write_bytes(b"FH")
    found = recover(node)
    assert not path.exists()
    assert len(found.cut) == 1


def test_blocks_beside_their_parquet_and_half_a_parquet_go(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory)
    kept = path.read_bytes()
    seal(path, node="n1")
    path.write_bytes(kept)
    half = parquet_path(node.directory, 99).with_suffix(".parquet.tmp")
    half.write_bytes(b"PAR1")
    found = recover(node)
    assert (found.next_seq, found.unsealed) == (13, ())
    assert not path.exists()
    assert not half.exists()


def test_numbers_go_on_after_the_last_sealed_segment(node: Node, segment: Callable[..., Path]) -> None:
    seal(segment(node.directory), node="n1")
    seal(segment(node.directory, first_seq=13, blocks=1), node="n1")
    assert recover(node).next_seq == 16


def test_a_last_parquet_that_cannot_be_read_stops_the_writer(node: Node) -> None:
    parquet_path(node.directory, 1).write_bytes(b"nonsense")
    with pytest.raises(JournalError, match="cannot be read"):
        recover(node)


def test_the_time_of_the_last_row_is_told_sealed_or_not(node: Node, segment: Callable[..., Path]) -> None:
    assert recover(node).last_at is None
    path = segment(node.directory)
    times = [(row["time_ns"], row["mono_ns"]) for batch in read(node.directory) for row in batch.to_pylist()]
    assert recover(node).last_at == times[-1]
    seal(path, node="n1")
    assert recover(node).last_at == times[-1]


@pytest.mark.parametrize("size", [0.9, 0.01])
def test_a_cut_off_end_that_a_segment_follows_is_damage_and_left_alone(
    node: Node, segment: Callable[..., Path], size: float
) -> None:
    first, second, third = (segment(node.directory, first_seq=seq) for seq in (1, 13, 25))
    data = second.read_bytes()[: int(second.stat().st_size * size)]
    second.write_bytes(data)
    found = recover(node)
    assert (found.cut, found.unsealed, found.next_seq) == ((), (first, third), 37)
    assert [damage.torn for damage in found.damages] == [False]
    assert found.damages[0].lost == ("rows 22 to 24 are lost" if size > 0.5 else "rows 13 to 24 are lost")
    assert second.read_bytes() == data
    assert not list(node.directory.glob("*.torn"))
