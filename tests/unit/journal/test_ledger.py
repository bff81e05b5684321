"""What a node has had is known, and no number is given twice, whatever was taken away."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from framehub.cli.main import run as framehub
from framehub.errors import JournalError
from framehub.journal import reader
from framehub.journal import writer as writing
from framehub.journal.ledger import FULL_ROWS, MOST_ROWS, Gap, note_opened, note_removed, read_ledger
from framehub.journal.record import Row
from framehub.journal.retention import remove_old
from framehub.journal.scan import Block, scan_segment
from framehub.journal.segments import segments
from framehub.journal.writer import JournalWriter, WriterSettings

ROWS = 4
KEPT = WriterSettings(seal=False)


def journal(place: Path, row: Callable[..., Row], *, unsealed: bool = True) -> None:
    """Sealed segments of rows 1-4, 5-8, 9-12, and blocks of rows 13-16."""
    for seal in (True, True, True, *([False] if unsealed else [])):
        writer = JournalWriter(place, node="n1", settings=KEPT)
        for number in range(ROWS):
            writer.append(row(number))
        writer.close(seal=seal)


def next_number(place: Path, row: Callable[..., Row]) -> int:
    with JournalWriter(place, settings=KEPT) as writer:
        return writer.append(row(0))


def checked(place: Path) -> tuple[int, str]:
    """What ``framehub journal check`` exits with, and what it says."""
    result = CliRunner().invoke(framehub, ["journal", "check", str(place)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


PARQUET, BLOCKS = "{:020d}.parquet", "{:020d}.fhj"
BEHIND = 13 + MOST_ROWS
TAKEN = [
    # what is taken away, what is said of it, the least number that is free then
    pytest.param(
        [(13, BLOCKS)], "row 13 and perhaps more are missing", 13 + MOST_ROWS, id="newest, unsealed"
    ),
    pytest.param([(5, PARQUET)], "rows 5 to 8 are missing", 17, id="middle"),
    pytest.param([(1, PARQUET)], "rows 1 to 4 are missing", 17, id="oldest"),
    pytest.param([(1, PARQUET), (5, PARQUET)], "rows 1 to 8 are missing", 17, id="the two oldest"),
    pytest.param([(5, PARQUET), (9, PARQUET)], "rows 5 to 12 are missing", 17, id="two in the middle"),
    pytest.param(
        [(9, PARQUET), (13, BLOCKS)],
        "rows 9 to 13 and perhaps more are missing",
        13 + MOST_ROWS,
        id="two newest",
    ),
    pytest.param(
        [(1, PARQUET), (5, PARQUET), (9, PARQUET), (13, BLOCKS)],
        "rows 1 to 13 and perhaps more are missing",
        BEHIND,
        id="all",
    ),
]


@pytest.mark.parametrize(("taken", "said", "free"), TAKEN)
def test_what_was_taken_away_is_named_and_its_numbers_are_not_given_again(
    tmp_path: Path, row: Callable[..., Row], taken: list[tuple[int, str]], said: str, free: int
) -> None:
    journal(tmp_path, row)
    assert checked(tmp_path)[0] == 0
    names = [name.format(first) for first, name in taken]
    for name in names:
        (tmp_path / name).unlink()
    code, told = checked(tmp_path)
    assert (code, said in told) == (1, True), told
    assert all(name in told for name in names)
    assert next_number(tmp_path, row) == free
    code, told = checked(tmp_path)
    assert code == 1
    assert all(name in told for name in names)
    assert next_number(tmp_path, row) == free + 1
    assert len({seq for batch in reader.read(tmp_path) for seq in batch.column("seq").to_pylist()}) == (
        ROWS * (4 - len(taken)) + 2
    )


@pytest.mark.parametrize(("taken", "said", "free"), TAKEN)
def test_a_gap_is_accepted_by_a_line_for_each_file(
    tmp_path: Path, row: Callable[..., Row], taken: list[tuple[int, str]], said: str, free: int
) -> None:
    journal(tmp_path, row)
    names = [name.format(first) for first, name in taken]
    for name in names:
        (tmp_path / name).unlink()
    assert next_number(tmp_path, row) == free
    for number, name in enumerate(names):
        code, told = checked(tmp_path)
        assert (code, [one in told for one in names]) == (1, [at >= number for at in range(len(names))]), said
        with (tmp_path / "sums").open("a") as file:
            file.write(f"removed {name}\n")
    code, told = checked(tmp_path)
    assert code == 0, told
    assert next_number(tmp_path, row) == free + 1


def test_the_newest_sealed_one_says_where_it_ended(tmp_path: Path, row: Callable[..., Row]) -> None:
    journal(tmp_path, row, unsealed=False)
    newest = tmp_path / PARQUET.format(9)
    newest.unlink()
    code, told = checked(tmp_path)
    assert (code, f"n1: rows 9 to 12 are missing ({newest.name} is gone)" in told) == (1, True)
    writer = JournalWriter(tmp_path, settings=KEPT)
    assert writer.recovery.missing == Gap(node="n1", after_seq=8, before_seq=13, files=(newest.name,))
    writer.close()  # without a row
    assert next_number(tmp_path, row) == 13
    code, told = checked(tmp_path)
    assert (code, f"n1: rows 9 to 12 are missing ({newest.name} is gone)" in told) == (1, True)


def test_what_is_old_is_removed_and_not_missing(tmp_path: Path, row: Callable[..., Row]) -> None:
    journal(tmp_path, row)
    for segment in segments(tmp_path):
        os.utime(segment.path, (1000, 1000))
    gone = remove_old(tmp_path, now=2000, keep_seconds=1)
    assert [one.name for one in gone] == [PARQUET.format(first) for first in (1, 5, 9)]
    assert checked(tmp_path)[0] == 0
    assert next_number(tmp_path, row) == 17
    assert checked(tmp_path)[0] == 0
    (tmp_path / BLOCKS.format(13)).unlink(missing_ok=True)
    (tmp_path / PARQUET.format(13)).unlink(missing_ok=True)
    code, told = checked(tmp_path)
    assert (code, "rows 13 to 16 are missing" in told) == (1, True)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_a_flipped_byte_in_a_sealed_one_is_told_with_file_and_rows(
    tmp_path: Path, row: Callable[..., Row], share: float
) -> None:
    journal(tmp_path, row)
    file = tmp_path / PARQUET.format(5)
    data = bytearray(file.read_bytes())
    data[int(len(data) * share)] ^= 1
    file.write_bytes(data)
    code, told = checked(tmp_path)
    assert (code, file.name in told) == (1, True)
    assert "rows 5 to 8 are lost" in told or "no row is lost" in told
    assert next_number(tmp_path, row) == 17


@pytest.mark.parametrize("size", [10, "opening", "opening and a bit", 0])
def test_a_first_block_that_is_spoilt_is_damage_for_its_row_was_durable(
    tmp_path: Path, row: Callable[..., Row], size: int | str
) -> None:
    journal(tmp_path, row)
    file = tmp_path / BLOCKS.format(13)
    opening = next(found for found in scan_segment(file) if isinstance(found, Block)).offset
    os.truncate(file, size if isinstance(size, int) else opening + 20 * (size != "opening"))
    left = file.read_bytes()
    code, told = checked(tmp_path)
    assert (code, file.name in told, "gone" in told) == (1, True, False), told
    for number in range(2):
        writer = JournalWriter(tmp_path, settings=KEPT)
        found = writer.recovery
        assert (found.missing, found.cut, [damage.segment for damage in found.damages]) == (
            None,
            (),
            [file.name],
        )
        assert not found.damages[0].torn
        assert found.next_seq == 13 + MOST_ROWS + number
        if number == 0:
            writer.close()  # without a row: the next one finds the same
            writer = JournalWriter(tmp_path, settings=KEPT)
        assert writer.append(row(0)) == 13 + MOST_ROWS + number
        writer.close()
        assert (file.read_bytes(), list(tmp_path.glob("*.torn"))) == (left, [])
        code, told = checked(tmp_path)
        assert (code, file.name in told, "gone" in told) == (1, True, False), told


def test_what_is_gone_and_what_is_spoilt_are_told_apart(tmp_path: Path, row: Callable[..., Row]) -> None:
    journal(tmp_path, row)
    (tmp_path / PARQUET.format(9)).unlink()
    os.truncate(tmp_path / BLOCKS.format(13), 10)
    with JournalWriter(tmp_path, settings=KEPT) as writer:
        assert writer.recovery.missing == Gap(
            node="n1", after_seq=8, before_seq=13, files=(PARQUET.format(9),)
        )
        assert [damage.segment for damage in writer.recovery.damages] == [BLOCKS.format(13)]
        assert writer.append(row(0)) == 13 + MOST_ROWS


def test_a_segment_that_never_had_a_row_is_not_missed(tmp_path: Path, row: Callable[..., Row]) -> None:
    """What a crash leaves between the making of the file and its first sync."""
    journal(tmp_path, row)
    (tmp_path / BLOCKS.format(17)).touch()
    assert next_number(tmp_path, row) == 17
    assert checked(tmp_path)[0] == 0


def test_it_is_noted_before_a_row_is_said_to_be_durable(tmp_path: Path, row: Callable[..., Row]) -> None:
    with JournalWriter(tmp_path, node="n1", settings=KEPT) as writer:
        assert read_ledger(tmp_path).ends == {}
        writer.append(row(1))
        writer.flush(20)
        assert read_ledger(tmp_path).ends == {1: None}
    assert read_ledger(tmp_path).ends == {1: 1}


def test_nothing_is_durable_that_could_not_be_noted(tmp_path: Path, row: Callable[..., Row]) -> None:
    writer = JournalWriter(tmp_path, node="n1", settings=KEPT)
    (tmp_path / "sums").mkdir()
    writer.append(row(1))
    with pytest.raises(JournalError, match="stopped at row 0: it is no regular file; remove it: sums"):
        writer.flush(20)
    with pytest.raises(JournalError):
        writer.close()


def test_a_line_that_was_cut_short_spoils_no_other(tmp_path: Path) -> None:
    note_opened(tmp_path / BLOCKS.format(1))
    with (tmp_path / "sums").open("a") as file:
        file.write("opened 000000")
    note_removed(tmp_path / BLOCKS.format(1))
    note_opened(tmp_path / BLOCKS.format(7))
    found = read_ledger(tmp_path)
    assert (found.gone([]), found.gone([7])) == ([7], [])
    assert found == ({}, {1: None, 7: None}, frozenset({1}))


@pytest.mark.parametrize("how", ["crash", "more"])
def test_a_sealed_line_cut_anywhere_gives_no_number_twice(
    tmp_path: Path, row: Callable[..., Row], how: str
) -> None:
    """It was cut as the newest segment was sealed; then that is taken away."""
    with JournalWriter(tmp_path / "j", node="n1", settings=KEPT) as writer:
        for number in range(123):
            writer.append(row(number))
    (name,) = [segment.path.name for segment in segments(tmp_path / "j")]
    opened, sealed = (tmp_path / "j" / "sums").read_bytes().splitlines(keepends=True)
    assert sealed.endswith(f"{name} 123\n".encode())
    (tmp_path / "j" / name).unlink()
    for length in range(len(sealed) + 1):
        place = tmp_path / str(length)
        shutil.copytree(tmp_path / "j", place)
        (place / "sums").write_bytes(opened + sealed[:length])
        is_whole = length == len(sealed)
        if how == "more":  # as whoever writes does next
            note_removed(place / PARQUET.format(999))
        found = read_ledger(place)
        assert found.ends == {1: 123 if is_whole else None}
        assert list(found.sums) == [name] * is_whole
        assert found.removed == ({999} if how == "more" else set())
        assert next_number(place, row) == (124 if is_whole else 1 + MOST_ROWS)


def test_an_end_before_the_beginning_is_none(tmp_path: Path) -> None:
    name = PARQUET.format(50)
    for last in (49, 1, "9" * 5000):
        (tmp_path / "sums").write_text(f"opened {name}\n0badc0de 12 {name} {last}\n")
        assert read_ledger(tmp_path) == ({name: "0badc0de 12"}, {50: None}, frozenset())


def test_lines_that_say_nothing_are_passed_over_and_those_without_an_end_are_known(tmp_path: Path) -> None:
    name = PARQUET.format(5)
    lines = [
        "",
        "x",
        f"opened {name[1:]}",
        f"1 2 3 4 {name}",
        f"0badc0de 12 {name}",
        "\udcff",
        f"moved {name}",
    ]
    (tmp_path / "sums").write_bytes("\n".join(lines).encode(errors="surrogateescape"))
    assert read_ledger(tmp_path) == ({name: "0badc0de 12"}, {}, frozenset())
    note_opened(tmp_path / BLOCKS.format(5))
    assert read_ledger(tmp_path).ends == {5: None}


def test_a_segment_is_finished_before_it_has_more_rows_than_are_left_free(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 2 * FULL_ROWS <= MOST_ROWS
    monkeypatch.setattr(writing, "FULL_ROWS", 5)
    with JournalWriter(tmp_path, node="n1", settings=WriterSettings(gather_bytes=1)) as writer:
        for number in range(17):
            writer.append(row(number))
            writer.flush(20)
    assert [segment.first_seq for segment in segments(tmp_path)] == [1, 6, 11, 16]
    assert checked(tmp_path)[0] == 0


def test_a_disk_that_takes_half_a_line_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:5]))
    with pytest.raises(OSError, match="No space left"):
        note_opened(tmp_path / BLOCKS.format(1))
    monkeypatch.undo()
    note_opened(tmp_path / BLOCKS.format(1))
    assert read_ledger(tmp_path).ends == {1: None}


def test_a_journal_without_it_is_read_and_goes_on(tmp_path: Path, row: Callable[..., Row]) -> None:
    journal(tmp_path, row)
    (tmp_path / "sums").unlink()
    assert checked(tmp_path)[0] == 0
    assert next_number(tmp_path, row) == 17


def test_all_of_it_is_gone_and_nothing_of_it_comes_again(tmp_path: Path, row: Callable[..., Row]) -> None:
    journal(tmp_path / "j", row)
    with JournalWriter(tmp_path / "j", settings=KEPT) as writer:
        salt = writer.node.salt
    shutil.rmtree(tmp_path / "j")
    with JournalWriter(tmp_path / "j", node="n1", settings=KEPT) as writer:
        assert writer.node.salt != salt, "another journal: whoever knows the first one sees it"
        assert writer.append(row(1)) == 1
