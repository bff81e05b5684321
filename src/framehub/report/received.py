"""The tables ``files`` and ``messages``: what strangers sent, counted and some of it shown."""

from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc

from framehub.report.tables import NAME_LIMIT, OTHERS, Greatest, Sums, batches, plain, short, top

SHOWN: Final = 8
"""Of each list."""
TYPES: Final = 10
"""Media types told apart; the rest are one."""
NO_TYPE: Final = "(no type)"
_NAMES: Final = 5
"""Files named of one message."""
_FILE: Final = (
    *("time", "node", "seq", "protocol", "direction", "user", "endpoint", "exchange", "how", "key"),
    *("name", "type", "bytes", "frames", "complete", "sha256"),
)
_MESSAGE: Final = (
    *("time", "user", "protocol", "kind", "direction", "endpoint", "coder", "json", "error", "files"),
    *("exchange", "readable"),
)


def files(directory: Path) -> dict[str, Any]:
    """How many, how big, of which types, the biggest, and the latest that are not complete."""
    types: Sums[str] = Sums(3)
    how: Sums[str] = Sums(3)
    biggest, incomplete = Greatest(SHOWN), Greatest(SHOWN)
    for table in batches(directory, _FILE):
        known = table.append_column("lacking", pc.cast(pc.invert(table["complete"]), "int64"))
        known = known.set_column(
            known.schema.get_field_index("type"), "type", pc.fill_null(table["type"], NO_TYPE)
        )
        sums = [("bytes", "count"), ("bytes", "sum"), ("lacking", "sum")]
        for column, counted in (("type", types), ("how", how)):
            grouped = known.group_by(column).aggregate([("complete", "count"), *sums[1:]])
            for row in grouped.to_pylist():
                values = [row["complete_count"], row["bytes_sum"] or 0, row["lacking_sum"] or 0]
                counted.add(row[column], values)
        for row in top(table.filter(pc.is_valid(table["bytes"])), "bytes", SHOWN):
            biggest.offer(row["bytes"], _file(row))
        for row in top(table.filter(pc.invert(table["complete"])), "time", SHOWN):
            incomplete.offer(row["time"], _file(row))
    by_how = how.ranked(TYPES)
    count, octets, lacking = (sum(values[place] for _, values in by_how) for place in range(3))
    told = [_sum("type", short(name, NAME_LIMIT), values) for name, values in types.ranked(TYPES)]
    return {
        "count": count,
        "bytes": octets,
        "incomplete": lacking,
        "by_how": [_sum("how", name, values) for name, values in by_how],
        "by_type": told + ([_sum("type", OTHERS, types.rest)] if types.rest[0] else []),
        "biggest": biggest.rows(),
        "latest_incomplete": incomplete.rows(),
    }


def _sum(column: str, name: str | None, values: list[int]) -> dict[str, Any]:
    return {column: name, "count": values[0], "bytes": values[1], "incomplete": values[2]}


def _file(row: dict[str, Any]) -> dict[str, Any]:
    cut = {name: short(row[name], NAME_LIMIT) for name in ("name", "type", "endpoint")}
    return plain(row) | cut


def messages(directory: Path) -> list[dict[str, Any]]:
    """The latest, with their data cut short."""
    latest = Greatest(SHOWN)
    for table in batches(directory, _MESSAGE):
        for row in top(table, "time", SHOWN):
            latest.offer(row["time"], row)
    return [_message(row) for row in latest.rows()]


def _message(row: dict[str, Any]) -> dict[str, Any]:
    named = [
        {"key": file["key"], "name": short(file["name"], NAME_LIMIT), "type": short(file["type"], NAME_LIMIT)}
        | {"bytes": file["bytes"]}
        for file in (row["files"] or [])[:_NAMES]
    ]
    return plain(row) | {
        "endpoint": short(row["endpoint"], NAME_LIMIT),
        "json": short(row["json"]),
        "error": short(row["error"]),
        "files": named,
        "files_count": len(row["files"] or []),
    }
