"""A part's findings, with a first look at sealed segments: the same as without."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from framehub.journal import seal
from framehub.journal.generate import generate
from framehub.journal.reader import Part, read_part, snapshot
from framehub.pipeline import sealed
from framehub.pipeline.findings import COLUMNS, RULES, findings
from framehub.pipeline.sealed import findings_in


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small row groups, several broken rows in sealed segments and in the open one."""
    monkeypatch.setattr(seal, "GROUP_ROWS", 2048)
    place = tmp_path / "journal"
    generate(place, frames=40_000, seed=4, faults=RULES, each=2, segment_bytes=6_000_000)
    assert {part.kind for part in snapshot(place)} == {"parquet", "blocks"}
    return place


def found(place: Path) -> list[int]:
    return [
        row["seq"] for part in snapshot(place) for batch in findings_in(part) for row in batch.to_pylist()
    ]


def test_all_that_is_broken_is_found_and_nothing_else(journal: Path) -> None:
    truth = json.loads((journal / "truth.json").read_text())["faults"]
    assert found(journal) == sorted(seq for fault in truth for seq in fault["evidence"])


def test_sound_groups_are_not_read_whole(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def watched(part: Part, **asked: object) -> object:
        read.append(part.rows)
        return read_part(part, columns=COLUMNS)

    monkeypatch.setattr(sealed, "read_part", watched)
    broken = found(journal)
    tail = [part.rows for part in snapshot(journal) if part.kind == "blocks"]
    assert len(read) - len(tail) <= len(broken)
    assert sum(read) - sum(tail) <= 2048 * len(broken) < 40_000 - sum(tail)


def test_only_the_rows_of_the_part_count(journal: Path) -> None:
    first, second = found(journal)[:2]
    part = snapshot(journal)[0]
    assert second <= part.last_seq
    between = replace(part, first_seq=first + 1, last_seq=second)
    assert [row["seq"] for batch in findings_in(between) for row in batch.to_pylist()] == [second]


def test_a_hole_in_a_sealed_file_hides_its_group_only(journal: Path) -> None:
    part = snapshot(journal)[0]
    group = pq.read_metadata(part.file).row_group(1)
    column = group.column(group.num_columns - 1)
    with Path(part.file).open("r+b") as file:
        file.seek(column.data_page_offset + column.total_compressed_size // 2)
        file.write(os.urandom(64))
    want = [row["seq"] for batch in read_part(part, columns=COLUMNS) for row in findings(batch).to_pylist()]
    got = [row["seq"] for batch in findings_in(part) for row in batch.to_pylist()]
    assert got == want
    Path(part.file).write_bytes(b"no Parquet at all")
    assert list(findings_in(part)) == []
