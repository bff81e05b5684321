"""A finished segment becomes Parquet with the same columns (spec/journal.md, section 6).

The Parquet file appears whole, by rename, before the blocks go: a reader finds every row in one of the two at
any moment. A segment with damage in it is evidence: it is never sealed, and removed only by its age or size.
"""

import os
import zlib
from collections.abc import Iterator
from io import BufferedWriter
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from framehub.errors import JournalError
from framehub.journal.ledger import note_sealed
from framehub.journal.record import ROW_SCHEMA, VERSION, with_position
from framehub.journal.scan import Damage, scan_segment
from framehub.journal.segments import parquet_path, sync_directory
from framehub.private import new_file, open_file

GROUP_ROWS: Final = 65_536
GROUP_BYTES: Final = 32 << 20
_STEP: Final = 1 << 20
_WORDS: Final = ["node", "protocol", "direction", "endpoint", "kind", "recorded", "error", "refused", "link"]
_NO_STATISTICS: Final = {"raw", "query", "link", "exchange", "parent"}


def seal(segment: Path, *, node: str, salt: int | None = None) -> Path:
    """Write the segment as Parquet beside it, then remove it; return the new file.

    Raises:
        JournalError: there is damage in it, it has no rows, or the disk said no; the segment is as it was.
    """
    first_seq = int(segment.stem)
    target = parquet_path(segment.parent, first_seq)
    temporary = target.with_name(target.name + ".tmp")
    try:
        with new_file(temporary) as written:
            rows = _write(segment, written, node=node, salt=salt)
            written.flush()
            os.fsync(written.fileno())
        if pq.read_metadata(temporary).num_rows != rows or not rows:
            raise JournalError(f"{segment}: {rows} rows cannot be sealed")
        note_sealed(target, file_sum(temporary), first_seq + rows - 1)
        temporary.replace(target)
        sync_directory(target.parent)
    except (OSError, pa.ArrowException) as exc:
        raise JournalError(f"{segment}: cannot be sealed: {exc}") from exc
    finally:
        temporary.unlink(missing_ok=True)
    segment.unlink(missing_ok=True)
    return target


def file_sum(file: Path) -> str:
    """CRC-32 and size of a whole file: Parquet's own sums cover its pages, not what describes them."""
    total = size = 0
    with os.fdopen(open_file(file, os.O_RDONLY), "rb") as source:
        while data := source.read(_STEP):
            total = zlib.crc32(data, total)
            size += len(data)
    return f"{total:08x} {size}"


def _write(segment: Path, written: BufferedWriter, *, node: str, salt: int | None) -> int:
    schema = ROW_SCHEMA.with_metadata({"framehub.node": node, "framehub.version": str(VERSION)})
    rows = 0
    with pq.ParquetWriter(
        written,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=_WORDS,
        write_statistics=[name for name in ROW_SCHEMA.names if name not in _NO_STATISTICS],
        write_page_checksum=True,
    ) as writer:
        for group in _groups(_batches(segment, node=node, salt=salt)):
            table = pa.Table.from_batches(group, schema=ROW_SCHEMA)
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            rows += table.num_rows
    return rows


def _batches(segment: Path, *, node: str, salt: int | None) -> Iterator[pa.RecordBatch]:
    for found in scan_segment(segment, salt=salt):
        if isinstance(found, Damage):
            raise JournalError(f"not sealed: {found}")
        yield with_position(found.rows(), node=node, first_seq=found.header.first_seq)


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if group and (rows + batch.num_rows > GROUP_ROWS or size + batch.nbytes > GROUP_BYTES):
            yield group
            group, rows, size = [], 0, 0
        group.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if group:
        yield group
