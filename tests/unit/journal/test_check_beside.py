"""A journal is checked while its gateway writes, and removes what is old."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from framehub.journal import check as checking
from framehub.journal.check import check
from framehub.journal.record import Row
from framehub.journal.retention import remove_old
from framehub.journal.writer import JournalWriter, WriterSettings

KEPT = WriterSettings(seal=False)
PARQUET = "{:020d}.parquet"


@pytest.fixture
def journal(tmp_path: Path, row: Callable[..., Row]) -> Path:
    """Sealed segments of rows 1-4, 5-8, 9-12, and blocks of rows 13-16."""
    for seal in (True, True, True, False):
        writer = JournalWriter(tmp_path, node="n1", settings=KEPT)
        for number in range(4):
            writer.append(row(number))
        writer.close(seal=seal)
    return tmp_path


def once(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, act: Callable[[], None], at: str) -> None:
    """Act in the middle of a check: at the first call of one of its functions, "before" or "after" it."""
    real = getattr(place, name)

    def called(*args: Any, **named: Any) -> Any:
        monkeypatch.setattr(place, name, real)
        if at == "before":
            act()
        found = real(*args, **named)
        if at == "after":
            act()
        return found

    monkeypatch.setattr(place, name, called)


def remove(journal: Path, *numbers: int) -> None:
    """As a gateway does with what is old."""
    for number in numbers:
        os.utime(journal / PARQUET.format(number), (1000, 1000))
    assert len(remove_old(journal, now=2000, keep_seconds=1)) == len(numbers)


def test_a_segment_is_opened_while_another_is_missing(
    journal: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    (journal / PARQUET.format(5)).unlink()
    before = [str(gap) for gap in check(journal).gaps]

    def write() -> None:
        writer = JournalWriter(journal, settings=KEPT)
        assert writer.append(row(1)) == 17
        writer.close(seal=False)

    once(monkeypatch, checking, "segments", write, "after")
    assert [str(gap) for gap in check(journal).gaps] == before
    assert (journal / f"{17:020d}.fhj").exists()


@pytest.mark.parametrize(
    ("place", "name", "at", "numbers", "rows"),
    [
        pytest.param(checking, "segments", "after", (1, 5), 8, id="before the first is read"),
        pytest.param(pq, "ParquetFile", "before", (1, 5), 8, id="as the first is opened"),
        pytest.param(pq, "ParquetFile", "after", (1, 5), 12, id="while the first is read"),
        pytest.param(checking, "file_sum", "before", (1, 5), 12, id="once its rows are read"),
        pytest.param(checking, "file_sum", "after", (1, 5), 12, id="after the first"),
        pytest.param(checking, "file_sum", "after", (1, 5, 9), 8, id="all that are sealed"),
    ],
)
def test_what_is_removed_because_it_is_old_is_no_damage(
    journal: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: Any,
    name: str,
    at: str,
    numbers: tuple[int, ...],
    rows: int,
) -> None:
    once(monkeypatch, place, name, lambda: remove(journal, *numbers), at)
    report = check(journal)
    assert (report.clean, report.gaps, report.damages) == (True, [], [])
    assert (report.rows, report.segments, report.nodes[0].sealed) == (rows, rows // 4, rows // 4 - 1)
    after = check(journal)
    assert (after.clean, after.segments) == (True, 4 - len(numbers))


def test_what_somebody_takes_away_meanwhile_is_damage(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = journal / PARQUET.format(5)
    once(monkeypatch, checking, "segments", file.unlink, "after")
    report = check(journal)
    assert [(damage.segment, damage.lost) for damage in report.damages] == [
        (file.name, "rows 5 to 8 are lost")
    ]
    assert (report.gaps, report.rows) == ([], 12)
