"""Whether the tables that ``peers/duckdb_tables.py`` made are those that the pipeline made.

    python -m benchmarks.duckdb_same OUT/current THEIRS

Compared are all rows and all columns but ``messages.data``, which is a VARIANT in ours and text in theirs;
the same value is in ``json``. JSON is compared as what it says: a VARIANT forgets the order of an object's
names.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.peers.duckdb_rules import LEFT_OUT

SAME, DIFFERS = "same", "differs"
KEYS = {
    "frames": ("node", "seq"),
    "messages": ("node", "seq"),
    "exchanges": ("node", "exchange"),
    "files": ("node", "seq", "exchange", "key", "how", "last_seq"),
    "metrics": ("minute", "node", "protocol", "kind", "endpoint", "service"),
    "violations": ("rule", "node", "evidence"),
}
"""What rows are put in order by."""
OTHER_TYPE = {"messages": ("data",)}
AS_JSON = {"messages": ("json", "error")}


def differences(ours: Path, theirs: Path) -> list[str]:
    """One line for each table: ``name: same: ...``, or ``name: differs: ...`` with the first difference."""
    return [f"{name}: {_compared(name, _read(ours / name), _read(theirs / name))}" for name in KEYS]


def _read(directory: Path) -> pa.Table:
    """All of a table, ``date`` among its columns; no columns if there are no files: nothing was found."""
    files = sorted(directory.rglob("*.parquet"))
    if not files:
        return pa.table({})
    days = ds.partitioning(pa.schema([("date", pa.date32())]), flavor="hive")
    return ds.dataset(files, partitioning=days, partition_base_dir=str(directory)).to_table()


def _compared(name: str, ours: pa.Table, theirs: pa.Table) -> str:
    note = ""
    if name == "violations":
        ours, theirs = (_without(table, LEFT_OUT) for table in (ours, theirs))
        note = f", without the rules {', '.join(LEFT_OUT)}"
    if ours.num_rows != theirs.num_rows:
        return f"{DIFFERS}: {ours.num_rows:,} rows, theirs {theirs.num_rows:,}{note}"
    if not ours.num_rows:
        return f"{SAME}: no rows{note}"
    if alone := sorted(set(ours.column_names) ^ set(theirs.column_names)):
        return f"{DIFFERS}: only one of them has {', '.join(alone)}"
    columns = [column for column in ours.column_names if column not in OTHER_TYPE.get(name, ())]
    ours, theirs = (_in_order(table.select(columns), KEYS[name]) for table in (ours, theirs))
    for column in columns:
        as_json = column in AS_JSON.get(name, ())
        place = _first_difference(ours.column(column), theirs.column(column), as_json=as_json)
        if place is not None:
            where = ", ".join(f"{key} {ours.column(key)[place]}" for key in KEYS[name])
            said = f"{ours.column(column)[place]}, theirs {theirs.column(column)[place]}"
            return f"{DIFFERS}: {column} at {where}: {said}{note}"
    return f"{SAME}: {ours.num_rows:,} rows, {len(columns)} columns{note}"


def _without(table: pa.Table, rules: Sequence[str]) -> pa.Table:
    if not table.num_rows:
        return table
    return table.filter(pc.invert(pc.is_in(table.column("rule"), pa.array(rules, pa.string()))))


def _in_order(table: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    """Sorted by these columns, with types that do not depend on who wrote them."""
    table = pa.table({name: _plain(table.column(name)) for name in table.column_names})
    order = pa.table({key: _sortable(table.column(key)) for key in keys})
    return table.take(pc.sort_indices(order, sort_keys=[(key, "ascending") for key in keys]))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", "UTC"))
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    return column


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers of a list as text: any order will do that is the same for both."""
    return pa.chunked_array([[str(v) for v in column.to_pylist()]]) if _is_nested(column) else column


def _is_nested(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_nested(column.type))


def _first_difference(ours: pa.ChunkedArray, theirs: pa.ChunkedArray, *, as_json: bool) -> int | None:
    """The first place at which they say different things."""
    if not as_json and not _is_nested(ours) and ours.equals(theirs):
        return None
    for place, (one, other) in enumerate(zip(ours.to_pylist(), theirs.to_pylist(), strict=True)):
        if one != other and not (as_json and _says(one) == _says(other)):
            return place
    return None if ours.type == theirs.type or as_json or _is_nested(ours) else 0


def _says(text: str | None) -> str | None:
    """What JSON text says, written in one way; 32.0 is 32, which a VARIANT makes of it."""
    return None if text is None else json.dumps(json.loads(text, parse_float=_number), sort_keys=True)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def main(ours: str, theirs: str) -> int:
    lines = differences(Path(ours), Path(theirs))
    print("\n".join(lines))
    return int(any(f": {DIFFERS}" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
