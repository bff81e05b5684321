"""What new rows of a journal touch: read once, by Arrow, a few columns only.

A step (``step.py``) must know before it starts Spark's jobs which exchanges the new rows belong to, which
links came and went, and how far each node's clock has come. Memory is bounded by the rows of one step.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framehub.codes import Service
from framehub.journal.ledger import read_ledger
from framehub.journal.reader import Damage, Gap, Part, read_part
from framehub.journal.seal import file_sum
from framehub.pipeline.stages.links import LINK_KINDS

_COLUMNS: Final = [
    "node",
    "seq",
    "time_ns",
    "mono_ns",
    "link",
    "protocol",
    "direction",
    "kind",
    "id",
    "code",
    "ref",
    "refused",
    "exchange",
]
_FOR_ROWS: Final = ["seq"]
"""What it takes to count them, and to find out which can be read."""
LINK_SCHEMA: Final = pa.schema(
    [
        pa.field("node", pa.string()),
        pa.field("link", pa.binary()),
        pa.field("protocol", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("seq", pa.int64()),
        pa.field("time_ns", pa.int64()),
        pa.field("code", pa.int16()),
        pa.field("ref", pa.int64()),
    ]
)


@dataclass(slots=True, kw_only=True)
class NodeCensus:
    """What was found of one node's new rows."""

    rows: int = 0
    first_seq: int | None = None
    """The first row that could be read."""
    last_seq: int | None = None
    horizon_ns: int | None = None
    """The latest time of any of them."""
    links: set[bytes] = field(default_factory=set)
    """Links they are on."""
    known: set[bytes] = field(default_factory=set)
    """Exchanges that may have begun before these rows."""
    openings: list[pa.RecordBatch] = field(default_factory=list)
    """Link, direction and id of what MFP opened: an id may be in use."""

    def uses(self, ids: Collection[tuple[bytes, str, int]]) -> set[tuple[bytes, str, int]]:
        """Which of these (link, direction, id) the new rows open something with."""
        wanted = pa.array({number for _, _, number in ids}, pa.int64())
        found = [
            (row["link"], row["direction"], row["id"])
            for batch in self.openings
            for row in batch.filter(pc.is_in(batch.column("id"), wanted)).to_pylist()
        ]
        return set(found) & set(ids)


@dataclass(slots=True, kw_only=True)
class Census:
    """What was found of all of them."""

    nodes: dict[str, NodeCensus] = field(default_factory=dict)
    link_events: list[pa.RecordBatch] = field(default_factory=list)
    damages: list[Damage | Gap] = field(default_factory=list)
    """What cannot be read, and what is not there."""
    damaged: set[str] = field(default_factory=set)
    """Names of sealed segments that are not as they were sealed."""
    marks: dict[str, list[int]] = field(default_factory=dict)
    """Number and both times of each node's last row."""

    @property
    def rows(self) -> int:
        """Rows that could be read."""
        return sum(node.rows for node in self.nodes.values())

    def links_table(self) -> pa.Table:
        """Links that came, went, or registered."""
        return pa.Table.from_batches(self.link_events, LINK_SCHEMA)


def count_rows(parts: Sequence[Part]) -> tuple[int, list[Damage | Gap], set[str]]:
    """How many rows of these parts can be read, what is lost, and which files are not as they were sealed."""
    damages = _gaps(parts, {})
    damaged: set[str] = set()
    rows = 0
    for part in parts:
        whole = part.kind == "blocks" or is_whole(Path(part.file))
        if not whole:
            damaged.add(Path(part.file).name)
        for batch in read_part(part, columns=_FOR_ROWS if whole else None, on_damage=damages.append):
            rows += batch.num_rows
    return rows, damages, damaged


def take_census(parts: Sequence[Part], after: Mapping[str, int] | None = None) -> Census:
    """Look at every row of these parts, once; ``after`` names the last row before them of each node."""
    census = Census(damages=_gaps(parts, dict(after or {})))
    opened: dict[str, list[pa.Array]] = {}
    for part in parts:
        file = Path(part.file)
        whole = part.kind == "blocks" or is_whole(file)
        if not whole:
            census.damaged.add(file.name)
        # Of a damaged file all columns are read, so that what is left is the same for everybody.
        for batch in read_part(part, columns=_COLUMNS if whole else None, on_damage=census.damages.append):
            _count(census, part.node, batch.select(_COLUMNS), opened.setdefault(part.node, []))
    for node, arrays in opened.items():
        if arrays:
            census.nodes[node].known.difference_update(pa.chunked_array(arrays).unique().to_pylist())
    return census


def _gaps(parts: Sequence[Part], seen: dict[str, int]) -> list[Damage | Gap]:
    """Rows between the parts: segments that are gone."""
    found: list[Damage | Gap] = []
    for part in parts:
        before = seen.get(part.node)
        if before is not None and part.first_seq > before + 1:
            found.append(Gap(node=part.node, after_seq=before, before_seq=part.first_seq))
        seen[part.node] = part.last_seq
    return found


def is_whole(file: Path) -> bool:
    """Whether a sealed segment is as it was sealed; it is not read again until it changes."""
    try:
        facts = file.stat()
        return _is_whole(file, facts.st_size, facts.st_mtime_ns)
    except OSError:
        return False


@lru_cache(maxsize=4096)
def _is_whole(file: Path, _size: int, _changed: int) -> bool:
    told = read_ledger(file.parent).sums.get(file.name)
    if told is not None:
        return told == file_sum(file)
    try:
        pq.read_metadata(file)
    except pa.ArrowException:
        return False
    return True


def _count(census: Census, name: str, batch: pa.RecordBatch, opened: list[pa.Array]) -> None:
    if not batch.num_rows:
        return
    node = census.nodes.setdefault(name, NodeCensus())
    node.rows += batch.num_rows
    low, high = (value.as_py() for value in pc.min_max(batch.column("seq")).values())
    node.first_seq = low if node.first_seq is None else min(low, node.first_seq)
    node.last_seq = high if node.last_seq is None else max(high, node.last_seq)
    if node.last_seq == high:
        last = batch.slice(batch.num_rows - 1)
        census.marks[name] = [last.column(column)[0].as_py() for column in ("seq", "time_ns", "mono_ns")]
    latest = pc.max(batch.column("time_ns")).as_py()
    node.horizon_ns = latest if node.horizon_ns is None else max(latest, node.horizon_ns)
    node.links.update(batch.column("link").unique().to_pylist())
    kind, exchange = batch.column("kind"), batch.column("exchange")
    events = batch.filter(pc.and_(pc.is_in(kind, pa.array(LINK_KINDS)), pc.is_null(batch.column("refused"))))
    if events.num_rows:
        census.link_events.append(events.select(LINK_SCHEMA.names).cast(LINK_SCHEMA))
    node.known.update(exchange.unique().drop_null().to_pylist())
    # Of MFP, the row that opens an exchange is its first: nothing of it is older. A query or a hub stream can
    # be opened once more.
    mfp = pc.equal(batch.column("protocol"), "mfp")
    ping = pc.and_(
        pc.equal(kind, "service"), pc.fill_null(pc.equal(batch.column("code"), Service.PING), False)
    )
    takes_id = pc.and_(mfp, pc.is_in(kind, pa.array(["message", "request"])))
    opened.append(exchange.filter(pc.or_(takes_id, pc.and_(mfp, ping))).drop_null())
    node.openings.append(batch.select(["link", "direction", "id"]).filter(takes_id))


def link_rows(table: pa.Table, links: dict[str, set[bytes]]) -> pa.Table:
    """Of all link events, those of these links of each node."""
    kept = [
        table.filter(
            pc.and_(
                pc.equal(table.column("node"), node),
                pc.is_in(table.column("link"), pa.array(sorted(wanted), pa.binary())),
            )
        )
        for node, wanted in links.items()
    ]
    return pa.concat_tables(kept) if kept else table.schema.empty_table()
