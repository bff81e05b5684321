import pickle
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from framehub.errors import JournalError
from framehub.journal.parts import Part, positions, read_part, snapshot
from framehub.journal.record import ROW_SCHEMA
from framehub.journal.scan import Damage
from framehub.journal.seal import seal
from framehub.journal.segments import Node


def numbers(parts: Iterable[Part]) -> list[int]:
    return [seq for part in parts for batch in read_part(part) for seq in batch.column("seq").to_pylist()]


@pytest.fixture
def journal(node: Node, segment: Callable[..., Path]) -> Path:
    """Rows 1 to 36: sealed, finished, open."""
    seal(segment(node.directory), node="n1")
    segment(node.directory, first_seq=13)
    segment(node.directory, first_seq=25)
    return node.directory


def test_a_snapshot_has_every_row_once(journal: Path) -> None:
    parts = snapshot(journal)
    assert [(part.kind, part.first_seq, part.last_seq, part.rows) for part in parts] == [
        ("parquet", 1, 12, 12),
        ("blocks", 13, 24, 12),
        ("blocks", 25, 36, 12),
    ]
    assert pickle.loads(pickle.dumps(parts)) == parts
    assert numbers(parts) == list(range(1, 37))
    for part in parts:
        assert all(batch.schema.equals(ROW_SCHEMA) for batch in read_part(part))


@pytest.mark.parametrize("low", range(0, 37, 5))
@pytest.mark.parametrize("high", [0, 1, 12, 13, 20, 36, 99])
def test_a_snapshot_between_two_rows_has_those_between(journal: Path, low: int, high: int) -> None:
    parts = snapshot(journal, after={"n1": low}, upto={"n1": high})
    assert numbers(parts) == list(range(low + 1, min(high, 36) + 1))
    assert numbers(snapshot(journal, after=low)) == list(range(low + 1, 37))


def test_positions_are_where_the_next_snapshot_begins(journal: Path) -> None:
    seen = positions(snapshot(journal, upto={"n1": 20}))
    assert seen == {"n1": 20}
    assert numbers(snapshot(journal, after=seen)) == list(range(21, 37))
    assert positions([], seen) == seen


def test_blocks_sealed_after_the_snapshot_are_read_from_the_parquet(
    journal: Path, segment: Callable[..., Path]
) -> None:
    parts = snapshot(journal, after=5, upto={"n1": 33})
    for file in sorted(journal.glob("*.fhj")):
        seal(file, node="n1")
    assert numbers(parts) == list(range(6, 34))


def test_rows_written_after_the_snapshot_are_not_in_it(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, blocks=2)
    parts = snapshot(node.directory)
    path.unlink()
    seal(segment(node.directory, blocks=4), node="n1")
    assert numbers(parts) == list(range(1, 7))


def test_only_the_columns_asked_for_are_read(journal: Path) -> None:
    for part in snapshot(journal):
        assert next(read_part(part, columns=["raw", "seq"])).schema.names == ["raw", "seq"]
    with pytest.raises(JournalError, match="no such column: colour"):
        next(read_part(part, columns=["colour"]))


def read_and_told(journal: Path) -> tuple[list[int], list[Damage]]:
    told: list[Damage] = []
    seqs = [
        seq
        for part in snapshot(journal)
        for batch in read_part(part, on_damage=told.append)
        for seq in batch.column("seq").to_pylist()
    ]
    assert numbers(snapshot(journal)) == seqs
    return seqs, told


def flip(file: Path, offset: int) -> None:
    data = bytearray(file.read_bytes())
    data[offset] ^= 1
    file.write_bytes(data)


def test_damage_in_blocks_is_skipped_and_told(journal: Path) -> None:
    flip(journal / f"{13:020d}.fhj", 3000)
    seqs, (damage,) = read_and_told(journal)
    assert damage.after_seq is not None
    assert damage.before_seq is not None
    assert seqs == [seq for seq in range(1, 37) if not damage.after_seq < seq < damage.before_seq]


@pytest.mark.parametrize("where", ["page", "footer"])
def test_damage_in_a_parquet_is_skipped_and_told(journal: Path, where: str) -> None:
    file = journal / f"{1:020d}.parquet"
    column = pq.read_metadata(file).row_group(0).column(1)
    end_of_page: int = column.data_page_offset + column.total_compressed_size
    flip(file, end_of_page - 2 if where == "page" else -60)
    seqs, (damage,) = read_and_told(journal)
    assert seqs == list(range(13, 37))
    assert (damage.after_seq, damage.before_seq) == (0, 13)


def test_a_file_that_is_gone_for_good_is_a_journal_error(journal: Path) -> None:
    parts = snapshot(journal)
    for file in (*journal.glob("*.fhj"), *journal.glob("*.parquet")):
        file.unlink()
    for part in parts:
        with pytest.raises(JournalError, match="a segment is gone"):
            next(read_part(part))


def test_a_last_segment_that_cannot_be_read_is_told_and_hides_no_other(journal: Path) -> None:
    last = sorted(journal.glob("*.fhj"))[-1]
    before = int(last.stem) - 1
    last.unlink()
    last.with_suffix(".parquet").write_bytes(b"PAR1")
    seqs, (damage,) = read_and_told(journal)
    assert seqs == list(range(1, before + 1))
    assert damage.lost == f"nothing after row {before} can be read"
    assert "a sealed segment cannot be read" in damage.reason
    assert snapshot(journal, after={"n1": before + 1}) == [], "it is told once"


def test_blocks_without_the_bytes_looked_for_may_be_left_out(journal: Path) -> None:
    parts = snapshot(journal)
    (raw,) = next(read_part(parts[-1], columns=["raw"])).slice(0, 1).column("raw").to_pylist()
    found = [
        value
        for part in parts
        for batch in read_part(part, columns=["raw"], having=[b"nowhere at all", raw])
        for value in batch.column("raw").to_pylist()
    ]
    everything = [
        value for part in parts for batch in read_part(part) for value in batch.column("raw").to_pylist()
    ]
    assert found.count(raw) == everything.count(raw)
    blocks = [part for part in parts if part.kind == "blocks"]
    assert [batch for part in blocks for batch in read_part(part, having=[b"nowhere at all"])] == []
