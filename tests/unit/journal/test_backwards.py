from collections.abc import Callable
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal import backwards as module
from framehub.journal.backwards import backwards
from framehub.journal.parts import Part, read_part
from framehub.journal.seal import seal
from framehub.journal.segments import Node


def numbers(part: Part) -> list[int]:
    return [seq for batch in read_part(part) for seq in batch.column("seq").to_pylist()]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_ROWS", 5)


@pytest.fixture
def journal(node: Node, segment: Callable[..., Path]) -> Node:
    """Rows 1 to 36, in blocks of three: sealed, finished, open."""
    seal(segment(node.directory), node="n1")
    segment(node.directory, first_seq=13)
    segment(node.directory, first_seq=25)
    return node


def test_pieces_come_from_the_newest_back_and_have_every_row_once(journal: Node) -> None:
    pieces = list(backwards(journal))
    assert [(piece.first_seq, piece.last_seq) for piece in pieces] == [
        *[(31, 36), (25, 30)],
        *[(19, 24), (13, 18)],
        (1, 12),
    ]
    assert all(numbers(piece) == list(range(piece.first_seq, piece.last_seq + 1)) for piece in pieces)


@pytest.mark.parametrize("before", [1, 2, 12, 13, 14, 20, 36, 37, 99])
def test_pieces_before_a_row_have_those_before(journal: Node, before: int) -> None:
    found = [numbers(piece) for piece in backwards(journal, before=before)]
    assert [seq for piece in reversed(found) for seq in piece] == list(range(1, min(before, 37)))


def test_pieces_end_by_their_bytes_too(journal: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", 1)
    assert [numbers(piece) for piece in backwards(journal)][:2] == [[34, 35, 36], [31, 32, 33]]


def test_sealed_segments_are_cut_at_their_row_groups(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framehub.journal.seal.GROUP_ROWS", 6)
    seal(segment(node.directory), node="n1")
    assert [numbers(piece) for piece in backwards(node)] == [list(range(7, 13)), list(range(1, 7))]


def test_blocks_that_are_sealed_meanwhile_are_read_from_the_parquet(
    node: Node, segment: Callable[..., Path]
) -> None:
    segment(node.directory)
    later = segment(node.directory, first_seq=13)
    pieces = backwards(node)
    first = next(pieces)
    seal(later, node="n1")
    assert numbers(first) == list(range(19, 25))
    assert [numbers(piece) for piece in pieces] == [
        list(range(13, 19)),
        list(range(7, 13)),
        list(range(1, 7)),
    ]


def damaged(node: Node, block: int, *, bad: slice) -> None:
    """Overwrite bytes of a block of the last segment; its opening is block 0."""
    path = sorted(node.directory.glob("*.fhj"))[-1]
    data = bytearray(path.read_bytes())
    at = 0
    for _ in range(block):
        at = data.find(b"FHJ1", at + 4)
    data[at + bad.start : at + bad.stop] = b"\0" * (bad.stop - bad.start)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("block", "lost", "cut"),
    [
        (0, [], [(31, 36), (25, 30)]),
        (1, [25, 26, 27], [(34, 36), (28, 33)]),
        (2, [28, 29, 30], [(31, 36), (25, 27)]),
        (4, [34, 35, 36], [(31, 33), (25, 30)]),
    ],
)
def test_damage_is_passed_over(
    journal: Node, block: int, lost: list[int], cut: list[tuple[int, int]]
) -> None:
    damaged(journal, block, bad=slice(0, 4))
    pieces = list(backwards(journal))
    assert [(piece.first_seq, piece.last_seq) for piece in pieces][: len(cut)] == cut
    found = [seq for piece in pieces for seq in numbers(piece)]
    assert sorted(found) == [seq for seq in range(1, 37) if seq not in lost]


def test_a_block_whose_sum_is_wrong_is_left_to_the_reader(journal: Node) -> None:
    damaged(journal, 2, bad=slice(60, 70))
    pieces = list(backwards(journal))
    assert [(piece.first_seq, piece.last_seq) for piece in pieces][:2] == [(31, 36), (25, 30)]
    assert numbers(pieces[1]) == [25, 26, 27]


def test_rows_that_are_missing_between_sound_blocks_are_passed_over(journal: Node) -> None:
    path = sorted(journal.directory.glob("*.fhj"))[-1]
    data = path.read_bytes()
    places = [place for place in range(len(data)) if data.startswith(b"FHJ1", place)]
    path.write_bytes(data[: places[2]] + data[places[3] :])
    assert [numbers(piece) for piece in backwards(journal)][:2] == [list(range(31, 37)), [25, 26, 27]]


def test_a_segment_that_is_gone_meanwhile_ends_it(journal: Node) -> None:
    pieces = backwards(journal)
    next(pieces)
    for file in journal.directory.glob("*.parquet"):
        file.unlink()
    with pytest.raises(JournalError, match="No such file"):
        list(pieces)


def test_a_sealed_segment_that_cannot_be_read_is_a_piece_of_nothing(journal: Node) -> None:
    (path,) = journal.directory.glob("*.parquet")
    path.write_bytes(b"rubbish")
    assert numbers(list(backwards(journal))[-1]) == []


def test_a_journal_without_rows_has_no_pieces(node: Node) -> None:
    assert list(backwards(node)) == []
