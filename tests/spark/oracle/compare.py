"""Comparing tables, for people: which row, which column, what was wanted and what was there."""

import json
from collections import Counter, defaultdict
from typing import Any

from tests.spark.oracle import jsontext

Table = list[dict[str, Any]]

KEYS = {
    "frames": ("node", "seq"),
    "messages": ("node", "seq"),
    "exchanges": ("node", "exchange"),
    "files": ("node", "seq", "how", "key", "exchange"),
    "violations": ("node", "rule", "evidence"),
    "metrics": ("node", "minute", "protocol", "kind", "endpoint", "service"),
}
JSON = {("messages", "data"), ("messages", "json"), ("messages", "error")}
"""Columns that hold JSON text, which may be written in more than one way."""


def difference(want: dict[str, Table], got: dict[str, Table]) -> str | None:
    """The first place in which the tables differ; None if they are equal."""
    if set(want) != set(got):
        return f"tables {sorted(got)} instead of {sorted(want)}"
    for name, table in want.items():
        found = _of_table(name, table, got[name])
        if found is not None:
            return found
    return None


def _of_table(name: str, want: Table, got: Table) -> str | None:
    wanted, found = _by_key(name, want), _by_key(name, got)
    for key in sorted({*wanted, *found}):
        ours, theirs = wanted.get(key, []), found.get(key, [])
        if len(ours) != len(theirs):
            return f"{name}: {len(theirs)} rows instead of {len(ours)} of {key}" + _more(wanted, found)
        for one, other in zip(ours, theirs, strict=True):
            if set(one) != set(other):
                return f"{name}: columns {sorted(set(one) ^ set(other))} are in one of the tables only"
            for column in one:
                if _normal(name, column, one[column], one) != _normal(name, column, other[column], other):
                    return f"{name} {key}: {column} is {other[column]!r} instead of {one[column]!r}"
    return None


def _more(wanted: dict[str, Table], found: dict[str, Table]) -> str:
    """How many rows are missing or too many in all."""
    ours, theirs = (Counter({key: len(rows) for key, rows in of.items()}) for of in (wanted, found))
    return f" ({(ours - theirs).total()} missing, {(theirs - ours).total()} too many in all)"


def _by_key(name: str, table: Table) -> dict[str, Table]:
    rows = defaultdict(list)
    for row in table:
        rows[", ".join(f"{column} {row[column]}" for column in KEYS[name])].append(row)
    return rows


def _normal(name: str, column: str, value: Any, row: dict[str, Any]) -> Any:
    if value is None:
        return None
    if (name, column) in JSON:
        return "json", jsontext.normal(json.loads(value))
    if (name, column) == ("violations", "detail") and row["rule"].startswith("raw-"):
        return bool(value)  # what it says is for people
    return value
