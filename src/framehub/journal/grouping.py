"""Rows waiting become batches that fit a block (spec/journal.md, section 7)."""

from collections import deque
from typing import Final, NamedTuple

import pyarrow as pa

from framehub.journal.record import FIXED, Row, to_batch

ROW_BYTES: Final = FIXED.size + 64
"""What a row without its frame is reckoned at."""
TEXT_LIMIT: Final = 4096
"""Characters a text column keeps of a value that would not fit, or could not be written as it is."""

_MESSAGE_BYTES: Final = 16 << 10
"""Head and padding of an Arrow message, at most."""


class Group(NamedTuple):
    """One block to be: its rows, and what they were reckoned at when they were taken."""

    batch: pa.RecordBatch
    bytes: int


def take_group(rows: deque[Row], *, group_bytes: int, limit: int) -> list[Group]:
    """Take rows off the deque until they make a block; two or more if they fit no single one."""
    taken: list[Row] = []
    size = 0
    while rows and size < group_bytes:
        raw = rows[0][5]
        add = ROW_BYTES if raw is None else ROW_BYTES + len(raw)
        if taken and size + add > limit:
            break
        taken.append(rows.popleft())
        size += add
    return _fitting(taken, limit)


def _fitting(rows: list[Row], limit: int) -> list[Group]:
    try:
        batch = to_batch(rows)
    except (UnicodeError, pa.ArrowException):
        rows = [_plain(row) for row in rows]
        batch = to_batch(rows)
    if batch.nbytes + _MESSAGE_BYTES <= limit:
        return [Group(batch, sum(ROW_BYTES + len(row.raw or b"") for row in rows))]
    if len(rows) > 1:
        middle = len(rows) // 2
        return _fitting(rows[:middle], limit) + _fitting(rows[middle:], limit)
    row = _plain(rows[0])
    return [Group(to_batch([row]), ROW_BYTES + len(row.raw or b""))]


def _plain(row: Row) -> Row:
    """The row with texts that can be written: a peer chooses an endpoint's name, long or no Unicode."""
    return row._replace(
        endpoint=_text(row.endpoint),
        query=row.query[:TEXT_LIMIT] if row.query is not None else None,
        error=_text(row.error),
        refused=_text(row.refused),
        coder=_text(row.coder),
    )


def _text(value: str | None) -> str | None:
    if value is None:
        return None
    return value[:TEXT_LIMIT].encode("utf-8", "backslashreplace").decode()
