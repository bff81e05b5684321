"""One conversation by its id: from the frames in the journal to its rows in the tables."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from framehub.errors import JournalError, PipelineError
from framehub.journal.reader import read

WANTED = [
    "node",
    "seq",
    "time_ns",
    "mono_ns",
    "link",
    "direction",
    "user",
    "endpoint",
    "kind",
    "id",
    "ref",
    "code",
    "bytes",
    "payload_at",
    "payload_bytes",
    "files",
    "error",
    "exchange",
    "parent",
    "raw",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything known of one exchange."""

    exchange: str
    frames: list[dict[str, Any]]
    """Rows of the journal, in order."""
    children: list[str] = field(default_factory=list)
    """Exchanges that this one caused."""
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
    exchange = _find(name.strip().lower(), journal)
    rows = list(_rows(journal, exchange))
    found = _table(tables, "exchanges", exchange.hex()) if tables else []
    messages = _table(tables, "messages", exchange.hex()) if tables else []
    return Story(
        exchange=exchange.hex(),
        frames=[row for row in rows if row["exchange"] == exchange.hex()],
        children=[row["exchange"] for row in rows if row["parent"] == exchange.hex()],
        row=found[0] if found else None,
        messages=sorted(messages, key=lambda row: (row["node"], row["seq"])),
    )


def _find(name: str, journal: Path) -> bytes:
    """The one exchange that ``name`` fits; only ids are read for it."""
    link, colon, number = name.partition(":")
    try:
        begins = bytes.fromhex((link if colon else name)[: len(name) // 2 * 2])
    except ValueError:
        raise JournalError(f"{name!r} is no exchange: want hex digits, or LINK:ID") from None
    found: set[bytes] = set()
    for batch in read(journal, columns=["exchange", "link", "id", "direction", "kind"]):
        exchanges = batch.column("exchange")
        if colon:
            fits = pc.and_(pc.equal(batch.column("link"), begins), pc.equal(batch.column("direction"), "in"))
            opens = pc.is_in(batch.column("kind"), pa.array(["message", "request"]))
            fits = pc.and_(pc.and_(fits, opens), pc.equal(pc.cast(batch.column("id"), pa.string()), number))
        else:
            fits = pc.starts_with(exchanges, begins)
        found.update(exchanges.filter(fits).unique().drop_null().to_pylist())
    if not colon:
        found = {exchange for exchange in found if exchange.hex().startswith(name)}
    if not found:
        raise JournalError(f"no exchange {name!r} in {journal}")
    if len(found) > 1:
        shown = ", ".join(exchange.hex() for exchange in sorted(found)[:3])
        raise JournalError(f"{len(found)} exchanges fit {name!r}: {shown}, ... Give more of it")
    return found.pop()


def _rows(journal: Path, exchange: bytes) -> Iterator[dict[str, Any]]:
    """Rows of the exchange itself, and those that it caused."""
    for batch in read(journal, columns=WANTED):
        own = pc.equal(batch.column("exchange"), exchange)
        caused = pc.equal(batch.column("parent"), exchange)
        for row in batch.filter(pc.or_kleene(own, caused)).to_pylist():
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
