"""Reading a journal: all of it, from a place on, or as it grows (spec/journal.md, section 8)."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from framehub.journal.check import CheckReport, check, missing
from framehub.journal.ledger import Gap
from framehub.journal.parts import After, OnDamage, Part, last_seen, positions, read_part, snapshot
from framehub.journal.scan import Block, Damage, scan_segment
from framehub.journal.segments import nodes

__all__ = [
    "After",
    "Block",
    "CheckReport",
    "Damage",
    "Gap",
    "OnDamage",
    "Part",
    "check",
    "follow",
    "missing",
    "nodes",
    "positions",
    "read",
    "read_part",
    "scan_segment",
    "snapshot",
]


def read(
    path: Path | str,
    *,
    after: After = None,
    columns: Sequence[str] | None = None,
    on_damage: OnDamage | None = None,
) -> Iterator[pa.RecordBatch]:
    """Every row there is now, in (node, seq) order, whether sealed or not.

    Safe beside a writer: what comes is a prefix of what it writes, no row twice and none left out.

    Raises:
        JournalError: there is no journal, or a file of it cannot be opened.
    """
    for part in snapshot(path, after=after):
        yield from read_part(part, columns=columns, on_damage=on_damage)


def follow(
    path: Path | str,
    *,
    after: After = None,
    columns: Sequence[str] | None = None,
    on_damage: OnDamage | None = None,
    poll: float = 0.2,
    stop: Callable[[], bool] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Every row beyond ``after``, then each new one soon after it is written, until ``stop`` says so."""
    seen = {node.name: last_seen(after, node.name) for node in nodes(path)}
    while True:
        parts = snapshot(path, after=seen)
        for part in parts:
            yield from read_part(part, columns=columns, on_damage=on_damage)
        seen = positions(parts, seen)
        if stop is not None and stop():
            return
        if not parts:
            time.sleep(poll)
