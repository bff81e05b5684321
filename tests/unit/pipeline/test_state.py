"""A run goes on where the last one came to, and only with the same journal."""

from pathlib import Path

import pytest

from framehub.errors import PipelineError
from framehub.journal.generate import generate
from framehub.journal.reader import nodes, snapshot
from framehub.journal.segments import create_node
from framehub.pipeline import snapshots
from framehub.pipeline.census import take_census
from framehub.pipeline.draft import Files, Kept
from framehub.pipeline.schemas import TABLES
from framehub.pipeline.state import State, check_same_journal, load_state, manifest_of


def _state(snapshot: Path) -> State:
    files: dict[str, Files] = {name: {} for name in TABLES} | {
        "exchanges": {
            "date=2026-01-05/hot-000002-000.parquet": Kept(rows=3, generation="hot", first_us=1, last_us=2),
            "date=2026-01-05/g000001-000001-000.parquet": Kept(rows=9, generation="g000001"),
        }
    }
    return State(
        snapshot=snapshot,
        commit=2,
        nodes={"one": 12},
        last_rows={"one": 11},
        horizons={"one": 99},
        salts={"one": 7},
        files=files,
        damaged=["x.parquet"],
        damage=["lost"],
        marks={"one": [11, 5, 6]},
    )


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    with snapshots.locked(tmp_path):
        target = snapshots.begin(tmp_path)
        state = _state(target)
        snapshots.commit(tmp_path, target, manifest_of(tmp_path / "journal", state, seconds=1.0))
    found = load_state(tmp_path)
    assert found == _state(target.resolve())
    assert found.rows["exchanges"] == 12
    assert found.generations == ["g000001"]
    assert found.paths("exchanges", {"hot"}) == ["date=2026-01-05/hot-000002-000.parquet"]


def test_without_tables_it_begins_at_the_beginning(tmp_path: Path) -> None:
    assert load_state(tmp_path) == State()


def test_tables_of_another_format_are_made_anew(tmp_path: Path) -> None:
    with snapshots.locked(tmp_path):
        target = snapshots.begin(tmp_path)
        snapshots.commit(tmp_path, target, {"format": 0, "nodes": {"one": 5}})
    assert load_state(tmp_path) == State()


def test_a_manifest_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with snapshots.locked(tmp_path):
        target = snapshots.begin(tmp_path)
        snapshots.commit(tmp_path, target, {})
    (target / "manifest.json").write_text("{")
    with pytest.raises(PipelineError, match=r"manifest\.json cannot be read"):
        load_state(tmp_path)


def test_another_journal_of_the_same_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    create_node(tmp_path / "journal", "one", 7)
    state = _state(tmp_path)
    assert check_same_journal(state, tmp_path / "journal", tmp_path / "out") == {"one": 7}
    create_node(tmp_path / "journal", "one", 8)
    with pytest.raises(PipelineError, match=r"tables of another journal with a node 'one'.*--fresh"):
        check_same_journal(state, tmp_path / "journal", tmp_path / "out")


def test_a_journal_of_other_nodes_is_refused(tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=10, node="two")
    with pytest.raises(PipelineError, match=r"tables of another journal, of node one.*--fresh"):
        check_same_journal(_state(tmp_path), tmp_path / "journal", tmp_path / "out")


def test_a_journal_that_was_cut_is_refused(tmp_path: Path) -> None:
    """However it has grown since: the last row that the tables know is not in it any more."""
    generate(tmp_path / "journal", frames=300, node="one")
    (node,) = nodes(tmp_path / "journal")
    marks = take_census(snapshot(tmp_path / "journal", upto={"one": 200})).marks
    assert marks["one"][0] == 200
    state = State(salts={"one": node.salt}, marks=marks)
    assert check_same_journal(state, tmp_path / "journal", tmp_path / "out") == {"one": node.salt}
    for other in ([200, 1, 1], [301, *marks["one"][1:]]):
        cut = State(salts={"one": node.salt}, marks={"one": other})
        with pytest.raises(PipelineError, match=rf"'one' was cut or replaced: its row {other[0]} .*--fresh"):
            check_same_journal(cut, tmp_path / "journal", tmp_path / "out")


def test_a_journal_whose_old_segments_are_gone_is_the_same(tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=9000, node="one", segment_bytes=500_000)
    (node,) = nodes(tmp_path / "journal")
    first, *_ = snapshot(tmp_path / "journal")
    marks = take_census([first]).marks
    Path(first.file).unlink()
    check_same_journal(State(salts={"one": node.salt}, marks=marks), tmp_path / "journal", tmp_path / "out")
