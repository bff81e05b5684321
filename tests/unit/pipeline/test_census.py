"""What new rows touch, against the same found the slow way."""

from pathlib import Path

import pytest

from framehub.journal import reader
from framehub.journal.generate import generate
from framehub.journal.reader import Gap
from framehub.pipeline.census import link_rows, take_census
from framehub.pipeline.stages.links import LINK_KINDS


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    generate(tmp_path / "journal", frames=4000, seed=2, segment_bytes=300_000)
    return tmp_path / "journal"


def test_it_says_what_the_rows_say(journal: Path) -> None:
    parts = reader.snapshot(journal, after=1500)
    census = take_census(parts, {"generated": 1500})
    rows = [row for batch in reader.read(journal, after=1500) for row in batch.to_pylist()]
    node = census.nodes["generated"]
    assert census.rows == node.rows == len(rows) == 2500
    assert (node.first_seq, node.last_seq) == (1501, 4000)
    assert node.horizon_ns == max(row["time_ns"] for row in rows)
    assert node.links == {row["link"] for row in rows}
    opened = {
        row["exchange"]
        for row in rows
        if row["protocol"] == "mfp"
        and (row["kind"] in ("message", "request") or (row["kind"] == "service" and row["code"] == 7))
    }
    assert node.known == {row["exchange"] for row in rows if row["exchange"]} - opened
    assert len(node.known) > 10
    events = census.links_table().to_pylist()
    assert [event["seq"] for event in events] == [row["seq"] for row in rows if row["kind"] in LINK_KINDS]
    assert census.damages == []
    assert census.damaged == set()


def test_a_missing_segment_is_a_gap(tmp_path: Path) -> None:
    generate(tmp_path / "long", frames=12_000, seed=2, segment_bytes=300_000)
    parts = reader.snapshot(tmp_path / "long")
    (parts[1], hole) = (parts[2], parts[1])
    census = take_census([parts[0], parts[1]])
    (gap,) = census.damages
    assert isinstance(gap, Gap)
    assert (gap.after_seq, gap.before_seq) == (hole.first_seq - 1, hole.last_seq + 1)


def test_a_gap_before_the_first_row_is_told_too(journal: Path) -> None:
    (gap,) = take_census(reader.snapshot(journal, after=100), {"generated": 90}).damages
    assert str(gap) == "generated: rows 91 to 100 are missing"


def test_a_changed_segment_is_named(journal: Path) -> None:
    sealed = sorted(journal.glob("*.parquet"))[0]
    data = bytearray(sealed.read_bytes())
    data[len(data) // 3] ^= 1
    sealed.write_bytes(data)
    census = take_census(reader.snapshot(journal))
    assert census.damaged == {sealed.name}
    assert [damage.segment for damage in census.damages if not isinstance(damage, Gap)] == [sealed.name]


def test_link_events_are_chosen_by_node_and_link(journal: Path) -> None:
    table = take_census(reader.snapshot(journal)).links_table()
    link = table.column("link")[3].as_py()
    chosen = link_rows(table, {"generated": {link}, "other": {link}})
    assert {row["link"] for row in chosen.to_pylist()} == {link}
    assert link_rows(table, {}).num_rows == 0
