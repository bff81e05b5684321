"""What a journal holds, counted: rows, bytes, time, and who sent what (spec/journal.md, section 8)."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from framehub.journal.check import missing
from framehub.journal.ledger import Gap
from framehub.journal.parts import OnDamage, read_part, snapshot

_COLUMNS: Final = ("node", "time_ns", "link", "protocol", "direction", "kind", "endpoint", "bytes", "error")
_LISTED: Final = ("node", "protocol", "direction", "kind", "endpoint", "error")


@dataclass(slots=True, kw_only=True)
class Stats:
    """Counts over a journal."""

    rows: int = 0
    frame_bytes: int = 0
    """Bytes of the frames recorded, as they went over the wire."""
    disk_bytes: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    links: int = 0
    gaps: list[Gap] = field(default_factory=list)
    """Rows that are in no segment."""
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in _LISTED})
    """Rows by node, protocol, direction, kind, endpoint and error."""

    @property
    def seconds(self) -> float:
        """From the first row to the last."""
        return 0.0 if self.first_ns is None or self.last_ns is None else (self.last_ns - self.first_ns) / 1e9

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "rows": self.rows,
            "frame_bytes": self.frame_bytes,
            "disk_bytes": self.disk_bytes,
            "first_ns": self.first_ns,
            "last_ns": self.last_ns,
            "seconds": self.seconds,
            "links": self.links,
            "missing": sum(gap.rows for gap in self.gaps),
            **{name: dict(counter.most_common()) for name, counter in self.counts.items()},
        }


def stats(path: Path | str, *, on_damage: OnDamage | None = None) -> Stats:
    """Count what is there now.

    Raises:
        JournalError: there is no journal.
    """
    found = Stats()
    links: set[bytes] = set()
    parts = snapshot(path)
    found.gaps = missing(parts)
    for part in parts:
        found.disk_bytes += part.end - part.start
        for batch in read_part(part, columns=_COLUMNS, on_damage=on_damage):
            _add(found, links, batch)
    found.links = len(links)
    return found


def _add(found: Stats, links: set[bytes], batch: pa.RecordBatch) -> None:
    found.rows += batch.num_rows
    found.frame_bytes += int(batch.column("bytes").to_numpy().sum())
    times = batch.column("time_ns").to_numpy()
    low, high = int(times.min()), int(times.max())
    found.first_ns = low if found.first_ns is None else min(found.first_ns, low)
    found.last_ns = high if found.last_ns is None else max(found.last_ns, high)
    links.update(batch.column("link").unique().to_pylist())
    # The error of a closed link is its reason, in the peer's words: only answers have errors to count, and
    # those of functions once, where they go out to the client.
    failed = pc.is_in(batch.column("kind"), pa.array(["exception", "unknown_function"]))
    told = pc.and_(failed, pc.equal(batch.column("direction"), "out"))
    answers = batch.filter(pc.or_(pc.equal(batch.column("kind"), "response"), told))
    for name in _LISTED:
        column = (answers if name == "error" else batch).column(name)
        for pair in column.value_counts().to_pylist():
            if pair["values"] is not None:
                found.counts[name][pair["values"]] += pair["counts"]
