"""One conversation by its id: from the frames in the journal to its rows in the tables.

What caused it and what it caused belong to it: a request whose handler called a function is one story with
that call, whichever of the two is asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from framehub.errors import JournalError, PipelineError
from framehub.journal.reader import read

FAMILY_LIMIT = 100
"""Exchanges told together, at most."""
WANTED = [
    "node",
    "seq",
    "time_ns",
    "mono_ns",
    "link",
    "protocol",
    "direction",
    "user",
    "endpoint",
    "kind",
    "id",
    "ref",
    "code",
    "query",
    "coder",
    "bytes",
    "payload_at",
    "payload_bytes",
    "files",
    "error",
    "exchange",
    "parent",
    "recorded",
    "raw",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything known of one exchange, and of those around it."""

    exchange: str
    frames: list[dict[str, Any]]
    """Rows of the journal, in order."""
    parents: list[str] = field(default_factory=list)
    """The exchange that caused this one, the one that caused that, and so on."""
    children: list[str] = field(default_factory=list)
    """Exchanges that this one caused."""
    family: dict[str, str | None] = field(default_factory=dict)
    """Each exchange of the story, from the one that began it, with the one that caused it."""
    everything: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the whole family, in order."""
    row: dict[str, Any] | None = None
    """Its row in ``exchanges``, if there are tables and they reach this far."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Its rows in ``messages``."""


def tell(name: str, journal: Path, tables: Path | None) -> Story:
    """Find one exchange by its id, by a beginning of it that is unique, or by LINK:FRAME-ID.

    Raises:
        JournalError: no such exchange, or more than one.
        PipelineError: the tables cannot be read.
    """
    exchange, causes = _find(name.strip().lower(), journal)
    parents = _parents(exchange, causes)
    family = _descendants([exchange, *parents][-1], causes)
    rows = list(_rows(journal, {exchange, *family}))
    if len({row["node"] for row in rows}) > 1:  # several nodes share nothing but the clock
        rows.sort(key=lambda row: int(row["time_ns"]))
    own = exchange.hex()
    found = _table(tables, "exchanges", own) if tables else []
    messages = _table(tables, "messages", own) if tables else []
    return Story(
        exchange=own,
        frames=[row for row in rows if row["exchange"] == own],
        parents=[parent.hex() for parent in parents],
        children=[child.hex() for child, cause in family.items() if cause == exchange],
        family={member.hex(): cause.hex() if cause else None for member, cause in family.items()},
        everything=rows,
        row=found[0] if found else None,
        messages=sorted(messages, key=lambda row: (row["node"], row["seq"])),
    )


def _find(name: str, journal: Path) -> tuple[bytes, pa.Table]:
    """The one exchange that ``name`` fits, and every (exchange, parent); only ids are read for it."""
    link, colon, number = name.partition(":")
    try:
        begins = bytes.fromhex((link if colon else name)[: len(name) // 2 * 2])
    except ValueError:
        raise JournalError(f"{name!r} is no exchange: want hex digits, or LINK:ID") from None
    found: set[bytes] = set()
    causes = []
    for batch in read(journal, columns=["exchange", "parent", "link", "id", "query", "direction", "kind"]):
        exchanges = batch.column("exchange")
        fits = _opened(batch, begins, number) if colon else pc.starts_with(exchanges, begins)
        found.update(exchanges.filter(fits).unique().drop_null().to_pylist())
        causes.append(batch.select(["exchange", "parent"]).filter(pc.is_valid(batch.column("parent"))))
    if not colon:
        found = {exchange for exchange in found if exchange.hex().startswith(name)}
    if not found:
        raise JournalError(f"no exchange {name!r} in {journal}")
    if len(found) > 1:
        shown = ", ".join(exchange.hex() for exchange in sorted(found)[:3])
        raise JournalError(f"{len(found)} exchanges fit {name!r}: {shown}, ... Give more of it")
    return found.pop(), pa.Table.from_batches(causes)


def _opened(batch: pa.RecordBatch, link: bytes, number: str) -> pa.Array:
    """Rows on this link that open an exchange under this id: a frame's number, or a query's in hex."""
    here = pc.and_(pc.equal(batch.column("link"), link), pc.equal(batch.column("direction"), "in"))
    opens = pc.is_in(batch.column("kind"), pa.array(["message", "request"]))
    fits = pc.and_(opens, pc.equal(pc.cast(batch.column("id"), pa.string()), number))
    try:
        query = bytes.fromhex(number)
    except ValueError:
        return pc.and_(here, fits)
    asks = pc.and_(pc.equal(batch.column("kind"), "query"), pc.equal(batch.column("query"), query))
    return pc.and_(here, pc.or_(pc.fill_null(fits, False), pc.fill_null(asks, False)))


def _parents(exchange: bytes, causes: pa.Table) -> list[bytes]:
    """From its cause up to the first of all."""
    found: list[bytes] = []
    while len(found) < FAMILY_LIMIT:
        last = found[-1] if found else exchange
        above = causes.filter(pc.equal(causes["exchange"], last))["parent"]
        if not len(above) or above[0].as_py() in (exchange, *found):
            break
        found.append(above[0].as_py())
    return found


def _descendants(root: bytes, causes: pa.Table) -> dict[bytes, bytes | None]:
    """The root and all that it caused, near ones first, each with its cause."""
    family: dict[bytes, bytes | None] = {root: None}
    generation = [root]
    while generation and len(family) < FAMILY_LIMIT:
        below = causes.filter(pc.is_in(causes["parent"], pa.array(generation, pa.binary()))).to_pylist()
        new = {row["exchange"]: row["parent"] for row in below if row["exchange"] not in family}
        generation = list(new)[: FAMILY_LIMIT - len(family)]
        family |= {child: new[child] for child in generation}
    return family


def _rows(journal: Path, family: set[bytes]) -> Iterator[dict[str, Any]]:
    """Rows of these exchanges."""
    wanted = pa.array(sorted(family), pa.binary())
    for batch in read(journal, columns=WANTED):
        for row in batch.filter(pc.is_in(batch.column("exchange"), wanted)).to_pylist():
            for column in ("link", "exchange", "parent"):
                row[column] = row[column].hex() if row[column] is not None else None
            yield row


def _table(tables: Path, name: str, exchange: str) -> list[dict[str, Any]]:
    directory = tables / "current" / name
    if not directory.exists():
        raise PipelineError(f"no tables in {tables}: make them with `framehub pipeline run JOURNAL {tables}`")
    source = ds.dataset(directory, format="parquet", partitioning="hive")
    columns = [column for column in source.schema.names if column != "data"]  # VARIANT; `json` says the same
    table = source.to_table(columns=columns, filter=pc.field("exchange") == exchange)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
