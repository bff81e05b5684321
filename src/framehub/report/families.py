"""Chosen exchanges with what caused them and what they caused, for timelines across hops."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from framehub.report import naming
from framehub.report.tables import plain, search

ROUNDS: Final = 4
"""How often the table is searched: so far up and down we look."""
CHILDREN: Final = 6
"""Of one exchange, at most; the rest are counted."""
LANES: Final = 12
"""Exchanges in one timeline, at most."""
COLUMNS: Final = (
    *(
        "exchange",
        "parent",
        "node",
        "protocol",
        "user",
        "kind",
        "direction",
        "endpoint",
        "service",
        "function",
    ),
    *("opened", "first_answer", "closed", "wait_us", "given", "worker_answered", "given_to", "dispatches"),
    *("timeout_s", "outcome", "code", "ended_by", "last", "frames_in", "frames_out", "bytes_in", "bytes_out"),
)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)

Row = dict[str, Any]
Id = tuple[str, str]
"""Node and exchange."""


class Relatives:
    """Rows of ``exchanges`` by id and by cause, as far as they were looked up."""

    def __init__(self, exchanges: Path, chosen: Sequence[Id]) -> None:
        self._rows: dict[str, dict[str, Row]] = defaultdict(dict)
        """By exchange and node."""
        self._children: dict[str, list[Row]] = defaultdict(list)
        self._left_out: dict[str, int] = defaultdict(int)
        up = {exchange for _, exchange in chosen}
        down, seen_up, seen_down = set(up), set(up), set(up)
        for _ in range(ROUNDS):
            if not up and not down:
                break
            new = self._search(exchanges, up, down)
            up = {row["parent"] for row in new if row["parent"]} - seen_up
            down = {row["exchange"] for row in new} - seen_down
            seen_up |= up
            seen_down |= down

    def _search(self, exchanges: Path, up: set[str], down: set[str]) -> list[Row]:
        """Take in the exchanges ``up`` and those that ``down`` caused; the rows that are new."""
        by_id = pc.field("exchange").isin(pa.array(sorted(up), pa.string()))
        by_cause = pc.field("parent").isin(pa.array(sorted(down), pa.string()))
        new: list[Row] = []
        for table in search(exchanges, COLUMNS, ["exchange", "parent"], by_id | by_cause):
            for row in table.to_pylist():
                if row["exchange"] in up:
                    self._rows[row["exchange"]][row["node"]] = row
                    new.append(row)
                if row["parent"] in down:
                    self._add_child(row)
        return new + [child for cause in down for child in self._children[cause]]

    def _add_child(self, row: Row) -> None:
        children = self._children[row["parent"]]
        children.append(row)
        if len(children) > CHILDREN:
            children.sort(key=_opened)
            children.pop()
            self._left_out[row["parent"]] += 1

    def told(self, id_: Id) -> Row | None:
        """One exchange with its ``family``: what began it all first, each with its depth below that."""
        node, exchange = id_
        if node not in self._rows[exchange]:
            return None
        path = [self._rows[exchange][node]]
        while (cause := path[-1]["parent"]) and (above := self._row(cause, node)) and above not in path:
            path.append(above)
        lanes, more = self._lanes(path)
        return _told(path[0]) | {"family": lanes, "family_more": more}

    def _row(self, exchange: str, node: str) -> Row | None:
        """The row of that id, of this node if there are several."""
        rows = self._rows.get(exchange, {})
        return rows.get(node) or next(iter(rows.values()), None)

    def _lanes(self, path: list[Row]) -> tuple[list[Row], int]:
        """What is on the path from the chosen one up to the first, and what else there is room for."""
        lanes: list[Row] = []
        on_path = {_id(row): row for row in path}
        room, more = LANES - len(path), 0
        waiting, seen = [(path[-1], 0)], {_id(path[-1])}
        while waiting:
            row, depth = waiting.pop()
            if _id(row) not in on_path:
                if room <= 0:
                    more += 1
                    continue
                room -= 1
            lanes.append(_told(row) | {"depth": depth, "shown": _id(row) == _id(path[0])})
            children = {_id(child): child for child in self._children.get(row["exchange"], ())}
            ours = {id_: above for id_, above in on_path.items() if above["parent"] == row["exchange"]}
            more += self._left_out.get(row["exchange"], 0) - len(ours.keys() - children.keys())
            below = sorted((children | ours).values(), key=_opened, reverse=True)
            waiting += [(child, depth + 1) for child in below if _id(child) not in seen]
            seen.update(map(_id, below))
        return lanes, max(0, more)


def _id(row: Row) -> Id:
    return row["node"], row["exchange"]


def _opened(row: Row) -> datetime:
    opened: datetime | None = row["opened"]
    return opened or _LATEST


def _told(row: Row) -> Row:
    return {"name": naming.name_of(row), **plain(row)}
