import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import JournalError
from framehub.journal import reader, recovery, segments, stats
from framehub.journal.faults.catalogue import FAULTS, TRUTH_FILE
from framehub.journal.generate import PAUSE_NS, generate, least_frames
from framehub.journal.traffic import START_NS
from framehub.journal.writer import JournalWriter

LEAST = least_frames(len(FAULTS))


def files(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.name != "lock"}


def rows(directory: Path, *columns: str) -> list[dict[str, Any]]:
    return [row for batch in reader.read(directory, columns=columns) for row in batch.to_pylist()]


def truth(directory: Path) -> Any:
    return json.loads((directory / TRUTH_FILE).read_text())


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal that breaks every rule twice."""
    directory = tmp_path_factory.mktemp("faulty")
    generate(directory, frames=10_000, seed=3, faults="all", each=2, segment_bytes=1_000_000)
    return directory


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        generate(tmp_path / name, frames=3000, seed=seed, segment_bytes=500_000)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a") != files(tmp_path / "c")


def test_another_start_moves_the_wall_clock_only(tmp_path: Path) -> None:
    later = 86_400_000_000_000
    generate(tmp_path / "a", frames=500)
    generate(tmp_path / "b", frames=500, start_ns=START_NS + later)
    rows, moved = (
        [row for batch in reader.read(tmp_path / name) for row in batch.to_pylist()] for name in ("a", "b")
    )
    assert [row | {"time_ns": row["time_ns"] + later} for row in rows] == moved


def test_the_same_faults_give_the_same_bytes(tmp_path: Path) -> None:
    for name, faults, each in (("a", "all", 1), ("b", FAULTS, 1), ("c", "journal-gap", 1)):
        generate(tmp_path / name, frames=LEAST, seed=5, faults=faults, each=each)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a") != files(tmp_path / "c")


@pytest.mark.parametrize("frames", [1, 2047, 2048, 2049, 5000])
def test_there_are_as_many_rows_as_asked_for(tmp_path: Path, frames: int) -> None:
    done: list[int] = []
    assert generate(tmp_path, frames=frames, progress=done.append, segment_bytes=1_000_000) == frames
    report = reader.check(tmp_path)
    assert (report.clean, report.rows, report.nodes[0].last_seq) == (True, frames, frames)
    assert done[-1] == frames
    assert not (tmp_path / TRUTH_FILE).exists()


@pytest.mark.parametrize("seed", range(3))
def test_the_least_number_of_frames_has_room_for_every_fault(tmp_path: Path, seed: int) -> None:
    generate(tmp_path, frames=LEAST, seed=seed, faults="all")
    told = truth(tmp_path)
    assert (told["frames"], told["seed"]) == (LEAST, seed)
    assert Counter(fault["rule"] for fault in told["faults"]) == Counter(list(FAULTS))
    there = {row["seq"] for row in rows(tmp_path, "seq")}
    assert len(there) == LEAST
    assert all(set(fault["evidence"]) <= there for fault in told["faults"])


def test_fewer_frames_or_unknown_faults_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    place = tmp_path / "x"
    with pytest.raises(JournalError, match=f"52 faults need {LEAST} at least, not {LEAST - 1}"):
        generate(place, frames=LEAST - 1, faults="all")
    with pytest.raises(JournalError, match="no such rule: mfp-nothing"):
        generate(place, frames=LEAST, faults="mfp-nothing")
    assert not place.exists()


def test_every_fault_comes_as_often_as_asked_for(faulty: Path) -> None:
    told = truth(faulty)["faults"]
    assert Counter(fault["rule"] for fault in told) == Counter(dict.fromkeys(FAULTS, 2))
    assert all(fault["evidence"] == sorted(set(fault["evidence"])) for fault in told)
    every = [(fault["rule"], *fault["evidence"]) for fault in told]
    assert len(set(every)) == len(every)


def test_gaps_are_rows_missing_and_nothing_worse(faulty: Path) -> None:
    gaps = [tuple(fault["evidence"]) for fault in truth(faulty)["faults"] if fault["rule"] == "journal-gap"]
    report = reader.check(faulty)
    assert [(gap.after_seq, gap.before_seq) for gap in report.gaps] == gaps
    assert (report.rows, report.damages, report.torn) == (10_000, [], [])
    seqs = [row["seq"] for row in rows(faulty, "seq")]
    assert [(a, b) for a, b in pairwise(seqs) if b != a + 1] == gaps


def test_the_truth_is_in_nobodys_way(tmp_path: Path) -> None:
    generate(tmp_path, frames=LEAST, faults="all")
    told = (tmp_path / TRUTH_FILE).read_bytes()
    (node,) = segments.nodes(tmp_path)
    assert {segment.path.suffix for segment in segments.segments(tmp_path)} == {".fhj", ".parquet"}
    assert stats.stats(tmp_path).rows == LEAST
    with segments.locked(tmp_path):
        last = max(row["seq"] for row in rows(tmp_path, "seq"))
        assert recovery.recover(node).next_seq == last + 1
    with JournalWriter(tmp_path, node="generated") as writer:
        writer.flush()
    assert (tmp_path / TRUTH_FILE).read_bytes() == told


def test_the_traffic_pauses_once_when_all_has_come_to_its_end(tmp_path: Path) -> None:
    generate(tmp_path, frames=6000, seed=4)
    told = rows(tmp_path, "seq", "time_ns", "mono_ns", "link", "kind", "protocol")
    pauses = [
        (before, after)
        for before, after in pairwise(told)
        if after["time_ns"] - before["time_ns"] >= PAUSE_NS
    ]
    ((before, after),) = pauses
    assert 0.85 * 6000 <= before["seq"] < 0.95 * 6000
    assert after["mono_ns"] - before["mono_ns"] >= PAUSE_NS
    early = [row for row in told if row["seq"] <= before["seq"] and row["protocol"] != "rpc"]
    opened = {row["link"] for row in early if row["kind"] == "link_opened"}
    assert opened == {row["link"] for row in early if row["kind"] == "link_closed"}


def test_what_is_overdue_began_before_the_pause(faulty: Path) -> None:
    told = rows(faulty, "seq", "time_ns")
    times = {row["seq"]: row["time_ns"] for row in told}
    end = max(times.values())
    for fault in truth(faulty)["faults"]:
        assert end - times[fault["evidence"][-1]] >= PAUSE_NS


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    generate(tmp_path, frames=1)
    with pytest.raises(JournalError, match="there is a journal already"):
        generate(tmp_path, frames=1)
    with pytest.raises(JournalError, match="less than 1"):
        generate(tmp_path / "x", frames=0)
    with pytest.raises(JournalError, match="cannot be written"):
        generate(tmp_path / "node.json" / "x", frames=1)


def test_the_truth_of_another_journal_is_no_place_for_one(tmp_path: Path) -> None:
    (tmp_path / TRUTH_FILE).write_text("{}")
    with pytest.raises(JournalError, match="there is a journal already"):
        generate(tmp_path, frames=1)
