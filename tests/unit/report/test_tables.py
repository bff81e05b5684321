from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.pipeline.schemas import TABLES
from framehub.report import breaches, exchanges, families, minutes, received
from framehub.report.tables import Greatest, Sums, batches, plain, search, short, top


def test_every_column_that_is_read_is_promised() -> None:
    read = {
        "violations": breaches._COLUMNS,
        "exchanges": (*exchanges._COLUMNS, *families.COLUMNS),
        "metrics": ("max_us", "waits", "answered", *minutes._SUMS),
        "files": received._FILE,
        "messages": received._MESSAGE,
        "frames": ("time", "protocol", "direction", "bytes"),
    }
    for table, columns in read.items():
        assert set(columns) <= set(TABLES[table].names)


def test_batches_have_only_what_is_asked_for(
    snapshot: Callable[..., Path], metric: Callable[..., Any]
) -> None:
    made = snapshot(metrics=[metric(n) for n in range(10)], rows_per_file=3)
    read = list(batches(made / "metrics", ["count"], pc.field("count") > 6))
    assert [name for table in read for name in table.column_names] == ["count"] * len(read)
    assert [n for table in read for n in table["count"].to_pylist()] == [7, 8, 9]
    assert list(batches(made / "files", ["name"])) == []


def test_a_search_finds_the_rows_and_reads_what_stands_beside_them(
    snapshot: Callable[..., Path], metric: Callable[..., Any]
) -> None:
    made = snapshot(metrics=[metric(n, endpoint=f"e{n}") for n in range(10)], rows_per_file=3)
    found = search(made / "metrics", ["endpoint", "ok"], ["count"], pc.field("count").isin([2, 4, 5]))
    assert [row for table in found for row in table.to_pylist()] == [
        {"endpoint": f"e{n}", "ok": n} for n in (2, 4, 5)
    ]


def test_a_table_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no table files"):
        list(batches(tmp_path / "files", ["name"]))


@given(st.lists(st.integers(0, 50)), st.integers(1, 5))
def test_the_greatest_are_kept_and_of_equals_the_first(values: list[int], rows: int) -> None:
    kept = Greatest(rows)
    for place, value in enumerate(values):
        kept.offer(value, {"place": place})
    best = sorted(range(len(values)), key=lambda place: (-values[place], place))[:rows]
    assert [row["place"] for row in kept.rows()] == best


def test_top_takes_either_end() -> None:
    table = pa.table({"n": [3, 1, 2]})
    assert [row["n"] for row in top(table, "n", 2)] == [3, 2]
    assert [row["n"] for row in top(table, "n", 2, "ascending")] == [1, 2]
    assert top(table.slice(3), "n", 2) == []


def test_sums_are_of_all_whatever_is_let_go() -> None:
    sums: Sums[str] = Sums(2, limit=10)
    for number in range(1000):
        sums.add(f"small {number}", [1, 2])
        sums.add("big", [10, 0])
    assert len(sums.of) <= 20
    ranked = sums.ranked(3)
    assert ranked[0] == ("big", [10_000, 0])
    assert len(ranked) == 3
    assert [sum(values[place] for _, values in ranked) + sums.rest[place] for place in (0, 1)] == [
        11_000,
        2000,
    ]


def test_rows_become_plain_and_texts_short(at: Callable[[float], datetime]) -> None:
    assert plain({"a": at(0), "b": None, "c": 1}) == {"a": "2026-03-01T12:00:00+00:00", "b": None, "c": 1}
    assert (short(None), short("ab", 2), short("abc", 2)) == (None, "ab", "ab…")
