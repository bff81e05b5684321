import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from framehub.journal.check import check, missing
from framehub.journal.parts import snapshot
from framehub.journal.seal import seal
from framehub.journal.segments import Node


def test_a_whole_journal_is_clean(node: Node, segment: Callable[..., Path]) -> None:
    seal(segment(node.directory), node="n1")
    segment(node.directory, first_seq=13)
    report = check(node.directory)
    assert report.clean
    (found,) = report.nodes
    assert (found.rows, found.segments, found.sealed, found.first_seq, found.last_seq) == (24, 2, 1, 1, 24)
    assert json.loads(json.dumps(report.to_json()))["clean"] is True


def test_a_segment_that_is_gone_is_a_gap(node: Node, segment: Callable[..., Path]) -> None:
    for first_seq in (1, 13, 25):
        segment(node.directory, first_seq=first_seq)
    (node.directory / f"{13:020d}.fhj").unlink()
    report = check(node.directory)
    assert not report.clean
    (gap,) = report.gaps
    assert (gap.after_seq, gap.before_seq, gap.rows) == (12, 25, 12)
    assert str(gap) == f"n1: rows 13 to 24 are missing ({13:020d}.fhj is gone)"
    assert str(replace(gap, before_seq=14, files=())) == "n1: row 13 is missing"
    assert missing(snapshot(node.directory)) == [replace(gap, files=())]
    assert missing(snapshot(node.directory, after=15)) == []


def test_a_torn_tail_is_clean_at_the_end_only(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory)
    path.write_bytes(path.read_bytes()[:-1])
    report = check(node.directory)
    assert (report.clean, len(report.torn), report.rows) == (True, 1, 9)
    segment(node.directory, first_seq=13)
    report = check(node.directory)
    assert (report.clean, report.torn) == (False, [])
    (damage,) = report.damages
    assert (damage.after_seq, damage.before_seq) == (9, 13)
    assert report.gaps == [], "one loss is told once"


def test_two_segments_swapped_are_reported_and_every_row_is_counted(
    node: Node, segment: Callable[..., Path]
) -> None:
    first, second = segment(node.directory), segment(node.directory, first_seq=13)
    aside = first.rename(first.with_suffix(".aside"))
    second.rename(first)
    aside.rename(second)
    report = check(node.directory)
    assert not report.clean
    assert report.rows == 24


def test_a_flip_in_a_sealed_segment_is_reported(node: Node, segment: Callable[..., Path]) -> None:
    sealed = seal(segment(node.directory), node="n1")
    data = bytearray(sealed.read_bytes())
    for offset in range(0, len(data), 37):
        data[offset] ^= 4
        sealed.write_bytes(data)
        data[offset] ^= 4
        report = check(node.directory)
        assert not report.clean, offset


def test_a_sealed_segment_that_cannot_be_read_is_told_once_with_its_rows(
    node: Node, segment: Callable[..., Path]
) -> None:
    segment(node.directory)
    sealed = seal(segment(node.directory, first_seq=13), node="n1")
    whole = sealed.read_bytes()
    segment(node.directory, first_seq=25)
    sealed.write_bytes(whole[:-1])
    report = check(node.directory)
    assert (report.gaps, [damage.lost for damage in report.damages]) == ([], ["rows 13 to 24 are lost"])
    sealed.write_bytes(whole)
    (node.directory / "sums").write_text(f"00000000 1 {sealed.name}\n")
    report = check(node.directory)
    assert (report.gaps, [damage.lost for damage in report.damages]) == ([], ["no row is lost"])


def test_a_parquet_of_another_place_is_reported(node: Node, segment: Callable[..., Path]) -> None:
    sealed = seal(segment(node.directory), node="somebody else")
    assert "another node" in check(node.directory).damages[0].reason
    (node.directory / "sums").unlink()
    sealed.rename(sealed.with_name(f"{40:020d}.parquet"))
    assert "not numbered from 40" in check(node.directory).damages[0].reason
    (node.directory / f"{40:020d}.parquet").write_bytes(b"PAR1")
    assert not check(node.directory).clean
