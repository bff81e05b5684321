"""A journal's rows as dicts, and the few questions that every table asks of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from framehub.journal.reader import read

Row: TypeAlias = dict[str, Any]
Group: TypeAlias = list[Row]

SECOND = 1_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rows_of(path: Path | str) -> list[Row]:
    """Every row of a journal, in (node, seq) order."""
    rows: list[Row] = []
    for batch in read(path):
        rows += batch.to_pylist()
    return in_order(rows)


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["node"], row["seq"]))


def moment(row: Row | None) -> datetime | None:
    """When the row was recorded, cut to the microsecond."""
    return None if row is None else EPOCH + timedelta(microseconds=row["time_ns"] // 1000)


def day(row: Row) -> date:
    found = moment(row)
    assert found is not None
    return found.date()


def digits(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def first(rows: Iterable[Row], wanted: Callable[[Row], bool] = lambda row: True) -> Row | None:
    for row in rows:
        if wanted(row):
            return row
    return None


def last(rows: Group, wanted: Callable[[Row], bool] = lambda row: True) -> Row | None:
    return first(reversed(rows), wanted)


def is_taken(row: Row) -> bool:
    return row["kind"] != "refused" and row["refused"] is None


def is_link_row(row: Row) -> bool:
    return row["kind"] in ("link_opened", "link_closed")


class Journal:
    """The rows of a journal, with its exchanges, its links and the end of each node's time."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = in_order(rows)
        self.exchanges: dict[tuple[str, str, bytes], Group] = defaultdict(list)
        """By protocol, node and name."""
        self.closings: dict[tuple[str, bytes], Group] = defaultdict(list)
        """The ``link_closed`` rows of each link of each node."""
        self.nodes: dict[str, Group] = defaultdict(list)
        self.horizon: dict[str, int] = {}
        for row in self.rows:
            node = row["node"]
            self.nodes[node].append(row)
            self.horizon[node] = max(row["time_ns"], self.horizon.get(node, row["time_ns"]))
            if row["kind"] == "link_closed":
                self.closings[node, row["link"]].append(row)
            elif row["exchange"] is not None and is_taken(row):
                self.exchanges[row["protocol"], node, row["exchange"]].append(row)

    def of(self, protocol: str) -> list[Group]:
        """The exchanges of a protocol, each a list of rows."""
        return [rows for (spoken, _, _), rows in self.exchanges.items() if spoken == protocol]

    def time_is_over(self, row: Row, seconds: int = 10) -> bool:
        """Whether the node went on for so long after the row that an answer to it is missing by now."""
        over: bool = self.horizon[row["node"]] >= row["time_ns"] + seconds * SECOND
        return over

    def is_up(self, link: bytes, row: Row) -> bool:
        """Whether the link is up at the row: not closed before it, nor within ten seconds after it."""
        closings = self.closings[row["node"], link]
        return all(closed["time_ns"] > row["time_ns"] + 10 * SECOND for closed in closings)

    def closing_after(self, link: bytes, row: Row) -> Row | None:
        """The link's first ``link_closed`` after a row."""
        return first(self.closings[row["node"], link], lambda closed: closed["seq"] > row["seq"])
