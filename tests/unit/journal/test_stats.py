import json
from collections.abc import Callable
from pathlib import Path

from framehub.journal import segments
from framehub.journal.generate import generate
from framehub.journal.rpc_rows import IN, OUT, RpcRows
from framehub.journal.stats import stats
from framehub.journal.writer import JournalWriter


def test_everything_is_counted_once(tmp_path: Path) -> None:
    generate(tmp_path, frames=3000, seed=4)
    found = stats(tmp_path)
    assert found.rows == 3000
    assert found.counts["kind"].total() == found.counts["node"].total() == 3000
    assert found.counts["error"].total() < found.counts["kind"]["response"]
    assert "page closed" not in found.counts["error"]
    assert 48 <= found.links <= 200
    assert found.seconds > 10
    assert json.loads(json.dumps(found.to_json()))["kind"]["request"] == found.counts["kind"]["request"]


def test_an_error_of_a_function_is_counted_once(tmp_path: Path) -> None:
    rows = RpcRows()
    with JournalWriter(tmp_path, node="n") as writer:
        for direction in (IN, OUT):
            parts = [b"RESPONSE_EXCEPTION", b"1", b"oh"]
            writer.append(rows.row((1, 1), direction, b"p", parts, link=bytes(8), error="function_failed"))
    assert stats(tmp_path).counts["error"] == {"function_failed": 1}


def test_rows_that_are_in_no_segment_are_counted_as_missing(
    node: segments.Node, segment: Callable[..., Path]
) -> None:
    for first_seq in (1, 13, 25):
        segment(node.directory, first_seq=first_seq)
    assert stats(node.directory).to_json()["missing"] == 0
    (node.directory / f"{13:020d}.fhj").unlink()
    found = stats(node.directory)
    assert [str(gap) for gap in found.gaps] == ["n1: rows 13 to 24 are missing"]
    assert (found.rows, found.to_json()["missing"]) == (24, 12)


def test_an_empty_journal_has_no_time(tmp_path: Path) -> None:
    segments.create_node(tmp_path, "a", 1)
    assert (stats(tmp_path).rows, stats(tmp_path).seconds) == (0, 0.0)
