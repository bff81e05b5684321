"""Which exchanges of earlier steps the next one must look at again, and where their rows are.

An exchange is touched when a row of it has come; when its id is used again; when the end of a link decides
an open one; and when time itself decides something about it: a rule of the audit gives it ten seconds
(spec/audit.md 1.3), a query an hour, a hub stream its timeout.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framehub.pipeline.census import Census
from framehub.pipeline.index import look_up

SECOND_NS: Final = 1_000_000_000
GRACE_NS: Final = 10 * SECOND_NS
"""What "in time" means (spec/audit.md 1.3)."""
OVERDUE_NS: Final = 3600 * SECOND_NS
_SLACK_NS: Final = SECOND_NS
"""Tables know microseconds only: look a little too often rather than once too seldom."""
_TAKES_ID: Final = ("message", "request", "stream")
"""Kinds of MFP exchanges that take an id for as long as they live."""
_GAP_ROWS: Final = 65_536
"""Spans nearer to each other than this are read as one: a row group has as many rows."""
_MOST_SPANS: Final = 32
HOT_COLUMNS: Final = [
    "node",
    "exchange",
    "protocol",
    "kind",
    "link",
    "given_to",
    "direction",
    "id",
    "endpoint",
    "opened",
    "outcome",
    "timeout_s",
    "last",
    "first_seq",
    "last_seq",
]

Row = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Touched:
    """Exchanges to be computed again."""

    exchanges: dict[str, set[bytes]] = field(default_factory=dict)
    """Of each node."""
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Where in the journal their earlier rows are."""
    generations: set[str] = field(default_factory=set)
    """Generations that hold some of them."""
    links: dict[str, set[bytes]] = field(default_factory=dict)
    """Links that they are on."""
    minutes: set[int] = field(default_factory=set)
    """Minutes since 1970 in which those began that change without a row of their own."""

    def add(self, node: str, exchange: bytes, first_seq: int, last_seq: int) -> None:
        """One exchange, whose rows lie between these."""
        self.exchanges.setdefault(node, set()).add(exchange)
        self.spans.setdefault(node, []).append((first_seq, last_seq))

    def table(self) -> pa.Table:
        """Node and exchange, as Spark is given them."""
        pairs = [(node, exchange) for node, found in self.exchanges.items() for exchange in sorted(found)]
        return pa.table(
            {
                "node": pa.array([node for node, _ in pairs], pa.string()),
                "exchange": pa.array([exchange for _, exchange in pairs], pa.binary()),
            }
        )


def read_hot(files: list[Path]) -> list[Row]:
    """What is known of the exchanges that may still change."""
    tables = [pq.ParquetFile(file).read(columns=HOT_COLUMNS) for file in files]
    rows: list[Row] = pa.concat_tables(tables).to_pylist() if tables else []
    return rows


def find_touched(
    census: Census,
    *,
    hot: list[Row],
    indexes: list[Path],
    before: Mapping[str, int],
    horizons: Mapping[str, int],
    known_links: pa.Table,
) -> Touched:
    """What the new rows, and the time they have brought, touch.

    Args:
        census: of the new rows.
        hot: rows of the hot generation.
        indexes: of the other generations.
        before: the horizon of each node at the last step.
        horizons: the horizon of each node with the new rows.
        known_links: links that came and went before them.
    """
    touched = Touched()
    closed = _closed(census.links_table(), dict.fromkeys(census.nodes))
    taken = _taken(census, hot)
    going = _closed(known_links, {node: at - GRACE_NS - _SLACK_NS for node, at in before.items()})
    for row in hot:
        node, exchange = row["node"], bytes.fromhex(row["exchange"])
        now = census.nodes.get(node)
        has_rows = now is not None and exchange in now.known
        ends = row["outcome"] == "open" and bool(_links(row) & closed.get(node, set()))
        # A hub tells of a lost link within the grace after it (spec/audit.md 4).
        told = row["protocol"] == "hub" and bool(_links(row) & going.get(node, set()))
        if (
            has_rows
            or ends
            or told
            or _taken_id(row) in taken.get(node, set())
            or _is_due(row, before.get(node, 0), horizons.get(node, 0))
        ):
            touched.add(node, exchange, row["first_seq"], row["last_seq"])
            touched.links.setdefault(node, set()).update(_links(row))
            if row["opened"] is not None:
                touched.minutes.add(int(row["opened"].timestamp()) // 60)
    for node, counted in census.nodes.items():
        rest = counted.known - touched.exchanges.get(node, set())
        for index in indexes:
            for hit in look_up(index, node, rest):
                touched.add(node, hit.exchange, hit.first_seq, hit.last_seq)
                touched.generations.add(hit.generation)
    touched.spans = {node: merged(spans) for node, spans in touched.spans.items()}
    return touched


def _closed(links: pa.Table, since: Mapping[str, int | None]) -> dict[str, set[bytes]]:
    """Links of each of these nodes that closed, later than the time that is given for it, if one is."""
    gone: dict[str, set[bytes]] = {}
    for name, at in since.items():  # each by its own time: one may have been silent for a year
        asked = pc.and_(pc.equal(links.column("node"), name), pc.equal(links.column("kind"), "link_closed"))
        if at is not None:
            asked = pc.and_(asked, pc.greater(links.column("time_ns"), at))
        found = links.select(["link"]).filter(asked)
        if found.num_rows:
            gone[name] = set(found.column("link").to_pylist())
    return gone


def _taken(census: Census, hot: list[Row]) -> dict[str, set[tuple[bytes, str, int]]]:
    """Ids of hot exchanges that new ones are opened with: whether they were free is to be judged."""
    ids: dict[str, set[tuple[bytes, str, int]]] = {}
    for row in hot:
        if (id_ := _taken_id(row)) is not None:
            ids.setdefault(row["node"], set()).add(id_)
    return {node: census.nodes[node].uses(held) for node, held in ids.items() if node in census.nodes}


def _taken_id(row: Row) -> tuple[bytes, str, int] | None:
    if row["protocol"] != "mfp" or row["kind"] not in _TAKES_ID or row["id"] is None:
        return None
    return bytes.fromhex(row["link"]), row["direction"], row["id"]


def _links(row: Row) -> set[bytes]:
    return {bytes.fromhex(row[name]) for name in ("link", "given_to") if row[name]}


def _is_due(row: Row, before: int, horizon: int) -> bool:
    """Whether time alone may have changed what the audit says of it."""
    if horizon <= before:
        return False
    last = _ns(row["last"])
    if before < last + GRACE_NS + _SLACK_NS:
        return True
    if row["outcome"] != "open":
        return False
    if row["protocol"] == "rpc" and row["opened"] is not None:
        due = _ns(row["opened"]) + OVERDUE_NS
    elif row["protocol"] == "hub":
        due = last + (row["timeout_s"] or 0) * SECOND_NS + GRACE_NS
    else:
        return False
    return before < due + _SLACK_NS and due - _SLACK_NS <= horizon


def _ns(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1000


def merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Few spans that hold them all."""
    joined: list[tuple[int, int]] = []
    gap = _GAP_ROWS
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + gap:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    while len(joined) > _MOST_SPANS:
        nearest = min(range(len(joined) - 1), key=lambda n: joined[n + 1][0] - joined[n][1])
        joined[nearest : nearest + 2] = [(joined[nearest][0], joined[nearest + 1][1])]
    return joined
