"""Links that a killed gateway left open are ended by the next one."""

import os
from pathlib import Path

import pytest

from framehub.journal import open_links
from framehub.journal.columns import to_batch
from framehub.journal.hub_rows import HubRows
from framehub.journal.mfp_rows import LinkRows
from framehub.journal.open_links import FILE, OpenLinks
from framehub.journal.record import FIXED, Row

ALICE, BOB = LinkRows(b"alice...", 7), HubRows(b"bob.....", version=2, is_service=True)


def told(rows: list[Row]) -> list[dict[str, object]]:
    made: list[dict[str, object]] = to_batch(rows).to_pylist()
    return made


def ended(directory: Path) -> list[dict[str, object]]:
    """What the next writer appends."""
    rows: list[Row] = []
    OpenLinks(directory).end_left(rows.append, (50, 5))
    return told(rows)


def test_who_was_open_is_ended_with_the_last_rows_time_and_its_own_columns(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    for row in (ALICE.opened((1, 1)), BOB.opened((2, 2))):
        links.note(row, 0, 0)
    alice, bob = ended(tmp_path)
    assert (alice["kind"], alice["link"], alice["protocol"], alice["user"]) == (
        "link_closed",
        b"alice...",
        "mfp",
        7,
    )
    assert (alice["time_ns"], alice["mono_ns"], alice["code"]) == (50, 5, 1006)
    assert alice["error"] == "the gateway was ended before this link"
    assert (bob["protocol"], bob["version"], bob["ref"]) == ("hub", 2, 0)


def test_who_was_closed_is_not(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    links.note(ALICE.opened((1, 1)), 0, 0)
    links.note(ALICE.closed((2, 2), 1000, ""), 0, 0)
    assert ended(tmp_path) == []


def test_what_was_ended_once_is_not_ended_again(tmp_path: Path) -> None:
    OpenLinks(tmp_path).note(ALICE.opened((1, 1)), 0, 0)
    assert len(ended(tmp_path)) == 1
    assert ended(tmp_path) == []


def test_a_gateway_that_dies_before_it_ended_them_leaves_them_to_the_next(tmp_path: Path) -> None:
    OpenLinks(tmp_path).note(ALICE.opened((1, 1)), 0, 0)
    OpenLinks(tmp_path)
    assert len(ended(tmp_path)) == 1


def test_half_a_record_is_none(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    links.note(ALICE.opened((1, 1)), 0, 0)
    links.note(BOB.opened((1, 1)), 0, 0)
    data = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(data[:-1])
    assert [row["link"] for row in ended(tmp_path)] == [b"alice..."]


def test_who_has_no_end_in_a_journal_that_failed_is_ended_by_the_next(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    links.note(ALICE.opened((1, 1)), 1, 0)
    links.close(durable=1)
    links.note(ALICE.closed((2, 2), 1000, ""), 2, 1)
    assert [row["link"] for row in ended(tmp_path)] == [b"alice..."]


def test_an_end_that_never_was_durable_is_taken_back(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    links.note(ALICE.opened((1, 1)), 1, 0)
    links.note(BOB.opened((2, 2)), 2, 0)
    links.note(ALICE.closed((3, 3), 1000, ""), 3, 2)
    links.note(BOB.closed((4, 4), reason=""), 4, 3)
    links.close(durable=3)
    assert [row["link"] for row in ended(tmp_path)] == [b"bob....."]


def test_no_end_is_kept_longer_than_it_may_be_lost(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    for seq in range(1, 101, 2):
        links.note(ALICE.opened((1, 1)), seq, seq - 1)
        links.note(ALICE.closed((1, 1), 1000, ""), seq + 1, seq)
    assert len(links._ended) == 1


def test_a_directory_that_is_anothers_now_is_left_alone(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    links.note(ALICE.opened((1, 1)), 1, 0)
    links.note(ALICE.closed((2, 2), 1000, ""), 2, 1)
    (tmp_path / FILE).rename(tmp_path / "aside")
    OpenLinks(tmp_path).note(BOB.opened((1, 1)), 1, 0)
    links.close(durable=1)
    assert [row["link"] for row in ended(tmp_path)] == [b"bob....."]


def test_a_clean_end_leaves_no_file(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    links.note(ALICE.opened((1, 1)), 0, 0)
    links.close()
    links.close()
    assert not (tmp_path / FILE).exists()
    assert ended(tmp_path) == []


def test_the_file_stays_short_however_many_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_links, "_LONG_FILE", 10 * FIXED.size)
    links = OpenLinks(tmp_path)
    links.note(BOB.opened((1, 1)), 0, 0)
    for _ in range(100):
        links.note(ALICE.opened((1, 1)), 0, 0)
        links.note(ALICE.closed((1, 1), 1000, ""), 0, 0)
    assert (tmp_path / FILE).stat().st_size <= 14 * FIXED.size
    assert [row["link"] for row in ended(tmp_path)] == [b"bob....."]


def test_where_nothing_can_be_written_nothing_is_noted(tmp_path: Path) -> None:
    """The journal in that place says so itself."""
    links = OpenLinks(tmp_path / "nowhere")
    links.note(ALICE.opened((1, 1)), 0, 0)
    links.end_left(lambda _row: None, (0, 0))
    links.close()
    assert not (tmp_path / "nowhere").exists()


def test_a_disk_that_fails_ends_the_notes_only(tmp_path: Path) -> None:
    links = OpenLinks(tmp_path)
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123
        os.dup2(full.fileno(), links._fd)
    links.note(ALICE.opened((1, 1)), 0, 0)
    links.note(BOB.opened((1, 1)), 0, 0)
    assert links._fd == -1
