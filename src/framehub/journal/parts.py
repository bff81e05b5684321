"""What exists of a journal now, in pieces that can be read anywhere (spec/journal.md, section 8).

A ``Part`` is a promise about rows, not about a file: if its blocks were sealed after the snapshot, the same
rows are read from the Parquet, and no later ones.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from framehub.errors import JournalError
from framehub.journal.record import ROW_SCHEMA, with_position
from framehub.journal.scan import Block, Damage, Extent, extent, scan_segment
from framehub.journal.segments import Node, Segment, SegmentKind, nodes, parquet_path, segments

After: TypeAlias = Mapping[str, int] | int | None
"""Rows already seen: the last number of each node, or one number for all of them."""

OnDamage: TypeAlias = Callable[[Damage], None]

_BATCH_ROWS: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some rows of one segment: those from ``first_seq`` to ``last_seq``."""

    node: str
    file: str
    kind: SegmentKind
    first_seq: int
    last_seq: int
    start: int
    """Where to begin reading the file, in bytes; 0 for a Parquet file."""
    start_seq: int
    """The number of the row that lies there, at or before ``first_seq``."""
    end: int
    """Where the snapshot ended, in bytes."""
    salt: int

    @property
    def rows(self) -> int:
        """How many rows there are, if nothing is damaged."""
        return self.last_seq - self.first_seq + 1


def snapshot(path: Path | str, *, after: After = None, upto: Mapping[str, int] | None = None) -> list[Part]:
    """Every row that exists now, beyond ``after`` and up to ``upto``, as parts in (node, seq) order.

    ``upto`` names the last row wanted of each node; a node it does not name has none.
    """
    found: list[Part] = []
    for node in nodes(path):
        low = last_seen(after, node.name)
        high = None if upto is None else upto.get(node.name, 0)
        every = segments(node.directory)
        for number, segment in enumerate(every):
            following = every[number + 1].first_seq if number + 1 < len(every) else None
            if following is not None and following <= low + 1:
                continue  # seen to its end
            if high is not None and segment.first_seq > high:
                break
            if (part := part_of(node, segment, following, low, high)) is not None:
                found.append(part)
    return found


def last_seen(after: After, node: str) -> int:
    """The last row of a node that was seen already; 0 if none."""
    if after is None:
        return 0
    return after if isinstance(after, int) else after.get(node, 0)


def positions(parts: Sequence[Part], after: After = None) -> dict[str, int]:
    """The last row of each node once these parts are read: the ``after`` of the next snapshot."""
    seen = dict(after) if isinstance(after, Mapping) else {}
    for part in parts:
        seen[part.node] = max(seen.get(part.node, 0), part.last_seq)
    return seen


def part_of(
    node: Node, segment: Segment, following: int | None, low: int = 0, high: int | None = None
) -> Part | None:
    """What exists of one segment beyond ``low`` and up to ``high``; ``following`` begins the next segment.

    Raises:
        JournalError: it cannot be opened.
    """
    if segment.kind == "blocks":
        try:
            there = extent(segment.path, salt=node.salt, after_seq=low)
        except FileNotFoundError:  # sealed since we looked
            segment = segment._replace(path=parquet_path(node.directory, segment.first_seq), kind="parquet")
        except OSError as exc:
            raise JournalError(f"{segment.path}: {exc.strerror}") from exc
        else:
            if there is None:
                return None
            return _between(node, segment, there, low, high)
    try:
        last = segment.first_seq + pq.read_metadata(segment.path).num_rows - 1
    except (OSError, pa.ArrowException):
        # It cannot be read, and whoever reads it is told. What it held is known from the next one; without
        # a next one it held one row at least.
        last = segment.first_seq if following is None else following - 1
    try:
        there = Extent(0, segment.path.stat().st_size, segment.first_seq, last)
    except OSError as exc:
        raise JournalError(f"{segment.path}: {exc.strerror}") from exc
    return _between(node, segment, there, low, high)


def _between(node: Node, segment: Segment, there: Extent, low: int, high: int | None) -> Part | None:
    first = max(there.first_seq, low + 1)
    last = there.last_seq if high is None else min(there.last_seq, high)
    if last < first:
        return None
    return Part(
        node=node.name,
        file=str(segment.path),
        kind=segment.kind,
        first_seq=first,
        last_seq=last,
        start=there.start,
        start_seq=there.first_seq,
        end=there.end,
        salt=node.salt,
    )


def read_part(
    part: Part,
    *,
    columns: Sequence[str] | None = None,
    having: Sequence[bytes] = (),
    on_damage: OnDamage | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a part, as batches of ``record.ROW_SCHEMA`` or of the ``columns`` asked for.

    With ``having``, what surely has none of these bytes in any column may be left out: that saves decoding
    it where somebody looks for a few rows among many.

    Damage is skipped; ``on_damage`` is told what was lost. (``check`` finds it too.)

    Raises:
        JournalError: the file is gone, or a column is none of ours.
    """
    schema = _selected(columns)
    file = Path(part.file)
    if part.kind == "blocks":
        found = scan_segment(file, salt=part.salt, start=part.start, start_seq=part.start_seq, end=part.end)
        try:
            first = next(found, None)
        except FileNotFoundError:  # sealed since the snapshot: the same rows are in the Parquet
            file = file.with_suffix(".parquet")
        else:
            if first is not None:
                blocks = chain((first,), found)
                yield from _from_blocks(part, _with_any(blocks, having), schema, on_damage)
            return
    yield from _from_parquet(part, file, schema, on_damage)


def _selected(columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return ROW_SCHEMA
    if unknown := sorted(set(columns) - set(ROW_SCHEMA.names)):
        raise JournalError(f"no such column: {', '.join(unknown)}")
    return pa.schema([ROW_SCHEMA.field(name) for name in columns])


def _with_any(found: Iterable[Block | Damage], having: Sequence[bytes]) -> Iterator[Block | Damage]:
    """Blocks are not compressed: what is in a row stands in the bytes."""
    for item in found:
        if not having or isinstance(item, Damage) or any(one in item.body for one in having):
            yield item


def _from_blocks(
    part: Part, found: Iterable[Block | Damage], schema: pa.Schema, on_damage: OnDamage | None
) -> Iterator[pa.RecordBatch]:
    for item in found:
        if isinstance(item, Damage):
            if on_damage is not None:
                on_damage(item)
            continue
        header = item.header
        low, high = max(header.first_seq, part.first_seq), min(header.last_seq, part.last_seq)
        if high < low:
            continue
        try:
            rows = item.rows()
        except JournalError as exc:
            if on_damage is not None:
                on_damage(_unreadable(item, Path(part.file).name, str(exc)))
            continue
        batch = with_position(rows, node=part.node, first_seq=header.first_seq)
        yield batch.slice(low - header.first_seq, high - low + 1).select(schema.names)


def _unreadable(item: Block, segment: str, reason: str) -> Damage:
    return Damage(
        segment=segment,
        offset=item.offset,
        bytes=item.end - item.offset,
        after_seq=item.header.first_seq - 1,
        before_seq=item.header.last_seq + 1,
        reason=reason,
    )


def _from_parquet(
    part: Part, file: Path, schema: pa.Schema, on_damage: OnDamage | None
) -> Iterator[pa.RecordBatch]:
    try:
        source = pq.ParquetFile(file, page_checksum_verification=True)
    except FileNotFoundError as exc:
        raise JournalError(f"{file}: a segment is gone") from exc
    except (OSError, pa.ArrowException) as exc:
        if on_damage is not None:
            on_damage(_bad_file(part, file, exc))
        return
    with source:
        seq = int(file.stem)
        for group in range(source.num_row_groups):
            following = seq + source.metadata.row_group(group).num_rows
            if following > part.first_seq and seq <= part.last_seq:
                try:
                    for batch in source.iter_batches(_BATCH_ROWS, [group], schema.names):
                        low, high = max(seq, part.first_seq), min(seq + batch.num_rows - 1, part.last_seq)
                        if low <= high:
                            ordered = [batch.column(name) for name in schema.names]
                            whole = pa.RecordBatch.from_arrays(ordered, schema=schema)
                            yield whole.slice(low - seq, high - low + 1)
                        seq += batch.num_rows
                except (OSError, pa.ArrowException) as exc:
                    if on_damage is not None:
                        on_damage(_bad_group(file, source.metadata.row_group(group), seq, following, exc))
            seq = following


def _bad_file(part: Part, file: Path, exc: Exception) -> Damage:
    is_guess = part.last_seq == int(file.stem)  # nobody knows how many rows there were
    return Damage(
        segment=file.name,
        offset=0,
        bytes=part.end,
        after_seq=part.first_seq - 1,
        before_seq=None if is_guess else part.last_seq + 1,
        reason=f"a sealed segment cannot be read: {exc}",
    )


def _bad_group(file: Path, group: Any, seq: int, following: int, exc: Exception) -> Damage:
    return Damage(
        segment=file.name,
        offset=group.column(0).file_offset or group.column(0).data_page_offset,
        bytes=group.total_byte_size,
        after_seq=seq - 1,
        before_seq=following,
        reason=f"a row group cannot be read: {exc}",
    )
