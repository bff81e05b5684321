"""Is a journal whole? Every block and every sealed row is read (spec/journal.md, section 5)."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framehub.errors import JournalError
from framehub.journal.ledger import Gap, Ledger, read_ledger
from framehub.journal.parts import Part
from framehub.journal.scan import Block, Damage, scan_listed
from framehub.journal.seal import file_sum
from framehub.journal.segments import Node, Segment, nodes, parquet_path, segments


@dataclass(slots=True, kw_only=True)
class NodeReport:
    """What was found of one node."""

    node: str
    directory: str
    segments: int = 0
    sealed: int = 0
    rows: int = 0
    bytes: int = 0
    first_seq: int | None = None
    last_seq: int | None = None
    gaps: list[Gap] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    torn: list[Damage] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What was found of a journal."""

    path: str
    nodes: list[NodeReport]

    @property
    def rows(self) -> int:
        """Rows that can be read."""
        return sum(node.rows for node in self.nodes)

    @property
    def segments(self) -> int:
        """Segments, sealed or not."""
        return sum(node.segments for node in self.nodes)

    @property
    def gaps(self) -> list[Gap]:
        """Rows missing between segments."""
        return [gap for node in self.nodes for gap in node.gaps]

    @property
    def damages(self) -> list[Damage]:
        """What cannot be read, inside segments."""
        return [damage for node in self.nodes for damage in node.damages]

    @property
    def torn(self) -> list[Damage]:
        """What a crash left at the end; the next writer cuts it off."""
        return [damage for node in self.nodes for damage in node.torn]

    @property
    def clean(self) -> bool:
        """Nothing durable is missing, as far as the journal can tell."""
        return not (self.gaps or self.damages)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "path": self.path,
            "clean": self.clean,
            "rows": self.rows,
            "segments": self.segments,
            "nodes": [asdict(node) for node in self.nodes],
        }


def check(path: Path | str) -> CheckReport:
    """Read everything and say what is wrong; nothing is changed.

    Raises:
        JournalError: there is no journal.
    """
    return CheckReport(path=str(path), nodes=[_check_node(node) for node in nodes(path)])


def _check_node(node: Node) -> NodeReport:
    report = NodeReport(node=node.name, directory=str(node.directory))
    ledger = read_ledger(node.directory)  # first: what it names is there then, or was taken away
    every = segments(node.directory)
    for number, segment in enumerate(every):
        if report.last_seq is not None and segment.first_seq > report.last_seq + 1 and not report.torn:
            gap = Gap(node=node.name, after_seq=report.last_seq, before_seq=segment.first_seq)
            told = any(damage.before_seq == gap.before_seq for damage in report.damages)
            if not told and not read_ledger(node.directory).explains(gap):
                report.gaps.append(gap)
        following = every[number + 1].first_seq if number + 1 < len(every) else None
        report.segments += 1
        try:
            if segment.kind == "parquet":
                _check_parquet(node, segment, report, following, ledger)
            else:
                _check_blocks(node, segment, report, following, ledger)
        except FileNotFoundError:
            _check_moved(node, segment, report, following)
    _name_gone(node, report, ledger, {segment.first_seq for segment in every})
    return report


def _name_gone(node: Node, report: NodeReport, ledger: Ledger, there: set[int]) -> None:
    """Say which segments are gone: of gaps that were found, and before and after all that is there."""
    gone = ledger.gone(there)
    if gone:  # or old ones were removed meanwhile
        removed = read_ledger(node.directory).removed
        gone = [first for first in gone if first not in removed]
    before, after = report.first_seq, report.last_seq
    for number, gap in enumerate(report.gaps):
        of_gap = [first for first in gone if gap.after_seq < first < gap.before_seq]
        report.gaps[number] = ledger.gap(node.name, of_gap, gap.after_seq, gap.before_seq)
    if before is not None and (old := [first for first in gone if first < before]):
        report.gaps.insert(0, ledger.gap(node.name, old, old[0] - 1, before))
    if new := [first for first in gone if after is None or first > after]:
        report.gaps.append(ledger.gap(node.name, new, new[0] - 1 if after is None else after, None))


def missing(parts: Iterable[Part]) -> list[Gap]:
    """Rows between parts of a snapshot, in order, that are in none of them."""
    seen: dict[str, int] = {}
    gaps: list[Gap] = []
    for part in parts:
        last = seen.get(part.node, part.first_seq - 1)
        if part.first_seq > last + 1:
            gaps.append(Gap(node=part.node, after_seq=last, before_seq=part.first_seq))
        seen[part.node] = max(last, part.last_seq)
    return gaps


def _saw(report: NodeReport, first: int, last: int) -> None:
    report.rows += last - first + 1
    report.first_seq = first if report.first_seq is None else min(report.first_seq, first)
    report.last_seq = last if report.last_seq is None else max(report.last_seq, last)


def _check_moved(node: Node, segment: Segment, report: NodeReport, following: int | None) -> None:
    """Look at a segment that was sealed, or removed because it is old, after it was listed."""
    ledger, first = read_ledger(node.directory), segment.first_seq
    sealed = Segment(parquet_path(node.directory, first), first, "parquet")
    try:
        _check_parquet(node, sealed, report, following, ledger)
    except FileNotFoundError:
        if first not in read_ledger(node.directory).removed:
            reason = "somebody removed it just now"
            report.damages.append(_sealed_damage(sealed, 0, first - 1, following, reason))
            return
        report.segments -= 1


def _check_blocks(
    node: Node, segment: Segment, report: NodeReport, following: int | None, ledger: Ledger
) -> None:
    """Look at blocks.

    Raises:
        FileNotFoundError: they are not there; nothing is reported then.
    """
    size = segment.path.stat().st_size
    had_rows = segment.first_seq in ledger.ends
    for found in scan_listed(segment, salt=node.salt, following=following, had_rows=had_rows):
        if isinstance(found, Block):
            if report.last_seq is not None and found.header.first_seq <= report.last_seq:
                report.damages.append(_repeated(segment, found, report.last_seq))
            try:
                found.rows()
            except JournalError as exc:
                report.damages.append(_unreadable(segment, found, str(exc)))
                continue
            _saw(report, found.header.first_seq, found.header.last_seq)
        else:
            (report.torn if found.torn else report.damages).append(found)
    report.bytes += size


def _repeated(segment: Segment, found: Block, last: int) -> Damage:
    return Damage(
        segment=segment.path.name,
        offset=found.offset,
        bytes=0,
        after_seq=last,
        before_seq=found.header.first_seq,
        reason=f"row {found.header.first_seq} comes after row {last}",
    )


def _unreadable(segment: Segment, found: Block, reason: str) -> Damage:
    return Damage(
        segment=segment.path.name,
        offset=found.offset,
        bytes=found.end - found.offset,
        after_seq=found.header.first_seq - 1,
        before_seq=found.header.last_seq + 1,
        reason=reason,
    )


def _check_parquet(
    node: Node, segment: Segment, report: NodeReport, next_seq: int | None, ledger: Ledger
) -> None:
    """Look at a sealed segment.

    Raises:
        FileNotFoundError: it is not there; nothing is reported then.
    """
    size = segment.path.stat().st_size
    seq = segment.first_seq
    before = len(report.damages)
    try:
        with pq.ParquetFile(segment.path, page_checksum_verification=True) as source:
            rows = source.metadata.num_rows
            for group in range(source.num_row_groups):
                following = seq + source.metadata.row_group(group).num_rows
                try:
                    _check_group(node, source, group, seq)
                    _saw(report, seq, following - 1)
                except (OSError, ValueError, pa.ArrowException) as exc:
                    report.damages.append(_sealed_damage(segment, size, seq - 1, following, str(exc)))
                seq = following
            if not rows:
                report.damages.append(_sealed_damage(segment, size, seq - 1, next_seq, "no rows"))
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as exc:
        report.damages.append(_sealed_damage(segment, size, seq - 1, next_seq, str(exc)))
    report.sealed += 1
    report.bytes += size
    told = ledger.sums.get(segment.path.name)
    with suppress(FileNotFoundError):  # removed, after every row of it was read
        if len(report.damages) == before and told is not None and told != file_sum(segment.path):
            reason = "every row can be read, but the file is not as it was sealed"
            report.damages.append(_sealed_damage(segment, size, seq - 1, seq, reason))


def _check_group(node: Node, source: Any, group: int, seq: int) -> None:
    for batch in source.iter_batches(8192, [group]):
        want = np.arange(seq, seq + batch.num_rows)
        if not np.array_equal(batch.column("seq").to_numpy(), want):
            raise ValueError(f"rows are not numbered from {seq} on")
        if batch.column("node").unique().to_pylist() != [node.name]:
            raise ValueError(f"rows of another node than {node.name}")
        seq += batch.num_rows


def _sealed_damage(
    segment: Segment, size: int, after_seq: int, before_seq: int | None, reason: str
) -> Damage:
    return Damage(
        segment=segment.path.name,
        offset=0,
        bytes=size,
        after_seq=after_seq,
        before_seq=before_seq,
        reason=reason,
    )
