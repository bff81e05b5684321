"""One conversation by its id: from the frames in the journal to its rows in the tables.

What caused it and what it caused belong to it: a request whose handler called a function is one story with
that call, whichever of the two is asked for.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from framehub.errors import JournalError, PipelineError
from framehub.journal.reader import Part, read, read_part, snapshot

_Near: TypeAlias = Callable[[Sequence[str], Sequence[bytes]], Iterator[pa.RecordBatch]]
"""What gives the rows to look in: these columns, of what may have these bytes."""
_IDS = ["exchange", "parent", "link", "id", "query", "direction", "kind"]
_RARE = 8
"""Bytes that stand for nothing else when they are found."""

FAMILY_LIMIT = 100
"""Exchanges told together, at most."""
WANTED = [
    "node",
    "seq",
    "time_ns",
    "mono_ns",
    "link",
    "protocol",
    "version",
    "direction",
    "user",
    "service",
    "function",
    "endpoint",
    "kind",
    "head",
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
    "refused",
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
    left_out: int = 0
    """Rows of the family that are too many to be told."""


def tell(name: str, journal: Path, tables: Path | None) -> Story:
    """Find one exchange by its id, by a beginning of it that is unique, or by LINK:FRAME-ID.

    Raises:
        JournalError: no such exchange, or more than one.
        PipelineError: the tables cannot be read.
    """
    exchange, causes = _find(name.strip().lower(), journal)
    parents = _parents(exchange, causes)
    family = _descendants([exchange, *parents][-1], causes)
    rows = list(_rows(read(journal, columns=WANTED), {exchange, *family}))
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


def tell_newest(name: str, journal: Path, *, seconds: float, most_rows: int, most_raw: int) -> Story:
    """The same without tables, from the newest segment back, within some seconds and so many rows.

    What caused it or was caused by it is looked for in the segments beside it. ``most_raw`` are the bytes
    kept of each frame.

    Raises:
        JournalError: it was not found in this time, or is none, or several.
    """
    until = monotonic() + seconds
    parts = snapshot(journal)
    wanted = name.strip().lower()
    begins, number = _parsed(wanted)
    having = [begins] if len(begins) >= _RARE else []
    for place in range(len(parts) - 1, -1, -1):
        found = _matching(wanted, _within(parts[place : place + 1], until, _IDS, having), begins, number)
        if found:
            near = parts[max(0, place - 1) : place + 2]
            exchange = _only(found, name, str(journal))
            return _told_near(exchange, partial(_within, near, until), most_rows, most_raw)
    raise JournalError(f"no exchange {name!r} in {journal}")


def _within(
    parts: Sequence[Part], until: float, columns: Sequence[str], having: Sequence[bytes]
) -> Iterator[pa.RecordBatch]:
    for part in parts:
        for batch in read_part(part, columns=columns, having=having):
            if monotonic() > until:
                raise JournalError("the journal is long and the time was over: use `framehub story`")
            yield batch


def _told_near(exchange: bytes, near: _Near, most_rows: int, most_raw: int) -> Story:
    """Go from each exchange to those that it names and that name it, until there are no more."""
    known: set[bytes] = set()
    new = {exchange}
    tables: list[pa.RecordBatch] = []
    while new and len(known) < FAMILY_LIMIT:
        known |= new
        tables = [_related(batch, known) for batch in near(["exchange", "parent"], sorted(known))]
        named = {one for table in tables for column in table.columns for one in column.to_pylist()}
        new = named - known - {None}
    causes = pa.Table.from_batches(tables)
    causes = causes.filter(pc.is_valid(causes["parent"]))
    parents = _parents(exchange, causes)
    family = _descendants([exchange, *parents][-1], causes)
    first: list[dict[str, Any]] = []
    last: deque[dict[str, Any]] = deque(maxlen=most_rows // 2)
    count = 0
    wanted = {exchange, *family}
    for row in _rows(near(WANTED, sorted(wanted)), wanted, most_raw):
        (first if len(first) < most_rows - most_rows // 2 else last).append(row)
        count += 1
    rows = [*first, *last]
    own = exchange.hex()
    return Story(
        exchange=own,
        frames=[row for row in rows if row["exchange"] == own],
        parents=[parent.hex() for parent in parents],
        children=[child.hex() for child, cause in family.items() if cause == exchange],
        family={member.hex(): cause.hex() if cause else None for member, cause in family.items()},
        everything=rows,
        left_out=count - len(rows),
    )


def _related(batch: pa.RecordBatch, known: set[bytes]) -> pa.RecordBatch:
    """Pairs of exchange and parent of which one is known."""
    some = pa.array(sorted(known), pa.binary())
    fits = [pc.is_in(batch.column(name), value_set=some) for name in ("exchange", "parent")]
    return batch.filter(pc.or_(*fits))


def _parsed(name: str) -> tuple[bytes, str]:
    """What an exchange begins with; or a link, and the number of a frame on it."""
    link, colon, number = name.partition(":")
    try:
        return bytes.fromhex((link if colon else name)[: len(name) // 2 * 2]), number
    except ValueError:
        raise JournalError(f"{name!r} is no exchange: want hex digits, or LINK:ID") from None


def _matching(name: str, batches: Iterator[pa.RecordBatch], begins: bytes, number: str) -> set[bytes]:
    """Exchanges that ``name`` fits."""
    found: set[bytes] = set()
    for batch in batches:
        exchanges = batch.column("exchange")
        fits = _opened(batch, begins, number) if ":" in name else pc.starts_with(exchanges, begins)
        found.update(exchanges.filter(fits).unique().drop_null().to_pylist())
    return found if ":" in name else {exchange for exchange in found if exchange.hex().startswith(name)}


def _only(found: set[bytes], name: str, where: str) -> bytes:
    if not found:
        raise JournalError(f"no exchange {name!r} in {where}")
    if len(found) > 1:
        shown = ", ".join(exchange.hex() for exchange in sorted(found)[:3])
        raise JournalError(f"{len(found)} exchanges fit {name!r}: {shown}, ... Give more of it")
    return next(iter(found))


def _find(name: str, journal: Path) -> tuple[bytes, pa.Table]:
    """The one exchange that ``name`` fits, and every (exchange, parent); only ids are read for it."""
    begins, number = _parsed(name)
    causes: list[pa.RecordBatch] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in read(journal, columns=_IDS):
            causes.append(batch.select(["exchange", "parent"]).filter(pc.is_valid(batch.column("parent"))))
            yield batch

    exchange = _only(_matching(name, batches(), begins, number), name, str(journal))
    return exchange, pa.Table.from_batches(causes)


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


def _rows(
    batches: Iterator[pa.RecordBatch], family: set[bytes], most_raw: int | None = None
) -> Iterator[dict[str, Any]]:
    """Rows of these exchanges."""
    wanted = pa.array(sorted(family), pa.binary())
    for batch in batches:
        found = batch.filter(pc.is_in(batch.column("exchange"), wanted))
        if most_raw is not None:
            place = found.schema.get_field_index("raw")
            found = found.set_column(place, "raw", pc.binary_slice(found.column("raw"), 0, most_raw))
        for row in found.to_pylist():
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
