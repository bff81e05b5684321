"""What was before somebody looked on: figures and frames out of the journal."""

import os
from pathlib import Path
from typing import Any

import pytest

from framehub.console import past
from framehub.console.figures import SECONDS, Figures
from framehub.console.frame_rows import Filter
from framehub.console.past import Older, Past, figures_of, older, recent
from framehub.errors import JournalError
from framehub.journal import parts
from framehub.journal.mfp_rows import IN
from framehub.journal.parts import Part
from framehub.journal.record import Row
from framehub.journal.seal import seal
from framehub.journal.segments import Node
from framehub.journal.settings import WriterSettings
from framehub.journal.writer import JournalWriter
from framehub.mfp.frames import RequestFrame
from tests.unit.console.rows import Script

BEGAN = 1_700_000_000
"""The second of a script's millisecond 0."""


def written(tmp_path: Path, *scripts: list[Row]) -> Node:
    """A journal of these rows, each list a block or more."""
    writer = JournalWriter(tmp_path / "here", node="here", settings=WriterSettings(seal=False))
    for rows in scripts:
        for row in rows:
            writer.append(row)
        writer.flush()
    writer.close(seal=False)
    return writer.node


def calls(*at_seconds: float, error: str | None = None) -> list[Row]:
    """A call of 40 ms at each of these seconds."""
    script = Script()
    for number, second in enumerate(at_seconds):
        exchange = b"exchange" + int(second * 1000).to_bytes(4, "big") + number.to_bytes(4, "big")
        script.request(second * 1000, exchange=exchange)
        script.respond(second * 1000 + 40, error=error, exchange=exchange)
    return script.rows


def point(second: float, **more: Any) -> dict[str, Any]:
    told = Figures().tick(second, rows=7, open=3, hub=1, watched=False)
    return {**told, **more}


def test_figures_are_those_of_a_page_that_had_looked_on(tmp_path: Path) -> None:
    node = written(tmp_path, calls(1.2, 1.3), calls(4.1, error="application"))
    now = BEGAN + 6
    found = recent(node, now)
    assert (found.last_seq, found.since) == (6, now - SECONDS)
    known = [point(BEGAN + second) for second in range(1, 7)]
    figures = figures_of(found, known, now)
    counted = [(one["t"] - BEGAN, one["calls"], one["failed"], one["frames"]) for one in figures.points]
    assert counted == [(1, 0, 0, 0), (2, 2, 0, 4), (3, 0, 0, 0), (4, 0, 0, 0), (5, 1, 1, 2), (6, 0, 0, 0)]
    assert all(
        (one["rows"], one["open"], one["hub"], one["watched"]) == (7, 3, 1, True) for one in figures.points
    )
    assert figures.points[1]["p50"] == pytest.approx(40, rel=0.1)
    (named,) = figures.told()
    assert (named["name"], named["outcomes"], named["recent"]) == ("nap", {"ok": 2, "error": 1}, 3)
    (failure,) = figures.failures
    assert failure["at"] == (BEGAN + 4) * 1000 + 140
    assert figures.minute()["p95"] == pytest.approx(40, rel=0.1)


def test_a_call_that_is_under_way_goes_on_and_so_does_the_second(tmp_path: Path) -> None:
    script = Script()
    script.request(5_900)
    node = written(tmp_path, script.rows)
    figures = figures_of(recent(node, BEGAN + 5), [], BEGAN + 5)
    later = Script()
    later.respond(7_000)
    figures.take(later.batch, 10)
    told = figures.tick(BEGAN + 8)
    assert (told["frames"], told["calls"], told["p50"]) == (2, 1, pytest.approx(1100, rel=0.1))


def test_of_times_before_the_gateway_was_up_there_is_what_the_journal_has(tmp_path: Path) -> None:
    node = written(tmp_path, calls(5.5, error="application"))
    figures = figures_of(recent(node, BEGAN + 10), [point(BEGAN + 9)], BEGAN + 10)
    told = [(one["t"] - BEGAN, one["rows"], one["failed"], one["open"]) for one in figures.points]
    assert told == [(6, 2, 1, None), (7, 0, 0, None), (8, 0, 0, None), (9, 7, 0, 3)]
    assert len(figures.failures) == 1


def test_what_is_older_than_the_minutes_that_are_shown_counts_nowhere(tmp_path: Path) -> None:
    node = written(tmp_path, calls(0, error="application"), calls(10))
    now = BEGAN + SECONDS + 5
    figures = figures_of(recent(node, now), [], now)
    assert (len(figures.failures), figures.told()[0]["outcomes"]) == (0, {"ok": 1})
    long_ago = figures_of(recent(node, now + SECONDS), [], now + SECONDS)
    assert (long_ago.told(), long_ago.tick(0)["frames"]) == ([], 0)


def test_where_too_much_passed_to_read_it_all_the_points_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = written(tmp_path, calls(1), calls(2), calls(3), calls(4))
    monkeypatch.setattr(past, "MOST_ROWS", 4)
    monkeypatch.setattr("framehub.journal.backwards.PIECE_ROWS", 2)
    found = recent(node, BEGAN + 5)
    assert (found.last_seq, found.since, sum(one.num_rows for one in found.batches)) == (8, BEGAN + 3, 4)
    known = [point(BEGAN + second + 0.5, calls=9) for second in range(5)]
    figures = figures_of(found, known, BEGAN + 5)
    assert [one["calls"] for one in figures.points] == [9, 9, 9, 9, 1]
    assert [one["watched"] for one in figures.points] == [False] * 4 + [True]


def test_reading_ends_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = written(tmp_path, calls(1), calls(2))
    monkeypatch.setattr("framehub.journal.backwards.PIECE_ROWS", 1)
    monkeypatch.setattr(past, "LONGEST", -1.0)
    assert sum(one.num_rows for one in recent(node, BEGAN + 5).batches) == 2
    found = older(node, Filter(kinds=["link_opened"]), None, most=10, inside=True)
    assert (found.lines, found.before, found.more) == ([], 3, True)


def test_what_is_kept_for_figures_keeps_no_frames(tmp_path: Path) -> None:
    script = Script()
    script.say(0, IN, RequestFrame(id=1, payload=bytes(8 << 20)), endpoint="large")
    node = written(tmp_path, script.rows)
    (batch,) = recent(node, BEGAN + 1).batches
    assert batch.get_total_buffer_size() < 10_000


def test_without_rows_there_are_no_figures(tmp_path: Path) -> None:
    node = written(tmp_path)
    found = recent(node, BEGAN)
    assert found == Past([], 0, BEGAN - SECONDS)
    assert figures_of(found, [], BEGAN).told() == []
    assert older(node, Filter(), None, most=10, inside=True) == Older([], 1, None, more=False)


def test_damage_does_not_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framehub.journal.backwards.PIECE_ROWS", 1)
    node = written(tmp_path, calls(1), calls(2))
    (path,) = node.directory.glob("*.fhj")
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    path.write_bytes(data)
    assert sum(one.num_rows for one in recent(node, BEGAN + 5).batches) == 2
    assert [line["seq"] for line in older(node, Filter(), None, most=10, inside=True).lines] == [2, 1]


def test_older_frames_come_newest_first_and_go_on_where_they_ended(tmp_path: Path) -> None:
    node = written(tmp_path, calls(1, 2), calls(3))
    found = older(node, Filter(), None, most=4, inside=True)
    assert ([line["seq"] for line in found.lines], found.before, found.more) == ([6, 5, 4, 3], 3, True)
    assert found.at == found.lines[-1]["at"] == (BEGAN + 2) * 1000
    rest = older(node, Filter(), found.before, most=4, inside=True)
    assert ([line["seq"] for line in rest.lines], rest.before, rest.more) == ([2, 1], 1, False)
    asked = older(node, Filter(kinds=["request"]), None, most=2, inside=False)
    assert [line["seq"] for line in asked.lines] == [5, 3]
    assert all("preview" not in line for line in asked.lines)
    none = older(node, Filter(name="nobody"), None, most=2, inside=True)
    assert (none.lines, none.before, none.at, none.more) == ([], 1, (BEGAN + 1) * 1000, False)


def test_a_clock_that_was_set_back_has_nothing_counted_twice(tmp_path: Path) -> None:
    node = written(tmp_path, calls(50, 51, 52), calls(3, 4, 5, 6))
    now = BEGAN + 8
    known = [
        *(point(BEGAN + second) for second in (50, 51, 52, 53)),
        *(point(BEGAN + second) for second in range(1, 9)),
    ]
    figures = figures_of(recent(node, now), known, now)
    figures.tick(now + 1)
    assert figures.told()[0]["calls"] == 7
    assert sum(one["calls"] for one in figures.points) == 7
    assert len(figures.points) == 9


def test_segments_that_retention_takes_meanwhile_end_it_with_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = written(tmp_path, calls(1))
    seal(next(old.directory.glob("*.fhj")), node="here")
    node = written(tmp_path, calls(2), calls(3))
    monkeypatch.setattr("framehub.journal.backwards.PIECE_ROWS", 2)
    reads = []

    def read_part(piece: Part, **options: Any) -> Any:
        reads.append(piece)
        for file in node.directory.glob("*.parquet"):
            file.unlink()
        return parts.read_part(piece, **options)

    monkeypatch.setattr(past, "read_part", read_part)
    found = recent(node, BEGAN + 5)
    assert (sum(one.num_rows for one in found.batches), found.since) == (4, BEGAN + 2)
    assert [line["seq"] for line in older(node, Filter(), None, most=9, inside=True).lines] == [6, 5, 4, 3]
    assert len(reads) == 4
    for file in node.directory.glob("*.fhj"):
        file.chmod(0)
    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(JournalError, match="Permission denied"):
        recent(node, BEGAN + 5)
    with pytest.raises(JournalError, match="Permission denied"):
        older(node, Filter(), None, most=9, inside=True)


def refused(*_: object, **__: object) -> int:
    raise PermissionError(13, "Permission denied")


def test_there_are_no_more_where_the_journal_begins(tmp_path: Path) -> None:
    node = written(tmp_path, calls(1))
    assert not older(node, Filter(), None, most=2, inside=True).more
    assert older(node, Filter(), None, most=1, inside=True).more
