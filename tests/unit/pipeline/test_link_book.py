"""Links of any number of steps: none is lost, none comes twice, and few of them are written again."""

from pathlib import Path
from random import Random

import pyarrow as pa

from framehub.pipeline.census import LINK_SCHEMA
from framehub.pipeline.link_book import PLACE, add_links, known_links


def links(first: int, count: int) -> pa.Table:
    rows = [
        {
            "node": "one",
            "link": number.to_bytes(8, "big"),
            "protocol": "mfp",
            "kind": "link_opened" if number % 2 else "link_closed",
            "seq": number,
            "time_ns": number * 1000,
            "code": None if number % 2 else 1000,
            "ref": None,
        }
        for number in range(first, first + count)
    ]
    return pa.Table.from_pylist(rows, LINK_SCHEMA)


def sizes(snapshot: Path) -> list[int]:
    return [pa.ipc.open_file(str(file)).read_all().num_rows for file in sorted((snapshot / PLACE).iterdir())]


def test_before_the_first_step_nothing_is_known() -> None:
    assert known_links(None) == LINK_SCHEMA.empty_table()


def test_steps_of_any_size_know_all_links_in_order(tmp_path: Path) -> None:
    dice, total, written = Random(5), 0, 0
    before: Path | None = None
    for commit in range(1, 60):
        new = links(total, dice.choice((0, 1, 3, 40)))
        snapshot = tmp_path / f"{commit:03d}"
        add_links(before, snapshot, commit, new)
        total += new.num_rows
        assert known_links(snapshot).to_pylist() == links(0, total).to_pylist()
        own = snapshot / PLACE / f"{commit:09d}.arrow"
        written += pa.ipc.open_file(str(own)).read_all().num_rows if own.exists() else 0
        before = snapshot
    assert total > 400
    assert written < 8 * total, "not all of them by each step"


def test_there_are_few_pieces_and_each_is_much_longer_than_the_next(tmp_path: Path) -> None:
    before: Path | None = None
    for commit in range(1, 101):
        add_links(before, tmp_path / str(commit), commit, links(commit, 1))
        before = tmp_path / str(commit)
    assert sizes(tmp_path / "100") == [64, 32, 4]


def test_a_step_without_links_passes_on_what_there_is(tmp_path: Path) -> None:
    add_links(None, tmp_path / "a", 1, links(0, 5))
    add_links(tmp_path / "a", tmp_path / "b", 2, links(5, 0))
    assert sizes(tmp_path / "b") == [5]
    add_links(None, tmp_path / "c", 1, links(0, 0))
    assert known_links(tmp_path / "c").num_rows == 0
