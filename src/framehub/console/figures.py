"""Rates, latencies and errors of what passes, by name: fixed buckets, a minute of them. Pure.

``take`` is given rows as they are written, ``tick`` closes a second. All of it is bounded: names, calls that
wait for their answer, failures that are remembered, rows that are looked at one by one.
"""

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from framehub.console import outcomes
from framehub.runtime.tally import MOST_NAMES, OTHERS, RAW

MOST_WAITING: Final = 20_000
MOST_FAILURES: Final = 50
SECONDS: Final = 300
"""Of the past that is kept."""
SLOT_SECONDS: Final = 5
SLOTS: Final = 12
"""Latencies by name are those of the last minute."""
MINUTE: Final = 60

_STEPS: Final = 4
"""Buckets for each doubling: a figure is right within a tenth."""
_LAST: Final = 32 * _STEPS
_COLUMNS: Final = (
    *("mono_ns", "time_ns", "protocol", "direction", "kind", "endpoint", "service", "function"),
    *("head", "code", "ref", "error", "exchange", "parent"),
)
COLUMNS: Final = (*_COLUMNS, "bytes", "refused")
"""What ``take`` looks at."""
_KINDS: Final = sorted({kind for kinds in outcomes.KINDS.values() for kind in kinds})


class Spread:
    """How long things took: a count for each bucket."""

    __slots__ = ("counts",)

    def __init__(self, counts: Iterable[Counter[int]] = ()) -> None:
        self.counts: Counter[int] = Counter()
        for one in counts:
            self.counts.update(one)

    def add(self, us: float) -> None:
        """One more."""
        self.counts[min(int(math.log2(us) * _STEPS), _LAST) if us > 1 else 0] += 1

    def told(self) -> dict[str, float | None]:
        """The median and the slow ones, in milliseconds; nothing if there was none."""
        return {f"p{share}": self.quantile(share / 100) for share in (50, 95, 99)}

    def quantile(self, share: float) -> float | None:
        """Milliseconds that this share of all took at most."""
        total = self.counts.total()
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= share * total:
                return round(2 ** ((bucket + 0.5) / _STEPS) / 1000, 5)
        return None


class Named:
    """What is known of one name."""

    __slots__ = ("called", "last", "name", "outcomes", "slots")

    def __init__(self, called: str, name: str) -> None:
        self.called = called
        self.name = name
        self.outcomes: Counter[str] = Counter()
        self.slots: deque[tuple[Spread, Counter[str]]] = deque([(Spread(), Counter())], maxlen=SLOTS)
        self.last = 0

    def ended(self, outcome: str, us: float, at_ns: int) -> None:
        """One of its calls is over."""
        self.outcomes[outcome] += 1
        spread, counts = self.slots[-1]
        counts[outcome] += 1
        spread.add(us)
        self.last = at_ns

    def told(self) -> dict[str, Any]:
        """For a table."""
        recent: Counter[str] = Counter()
        for _, counts in self.slots:
            recent.update(counts)
        spread = Spread(spread.counts for spread, _ in self.slots)
        return {
            "called": self.called,
            "name": self.name,
            "calls": self.outcomes.total(),
            "outcomes": dict(self.outcomes),
            "recent": recent.total(),
            "recent_failed": recent.total() - recent[outcomes.OK],
            "last": self.last // 1_000_000,
            **spread.told(),
        }


class Figures:
    """Feed it rows, ``tick`` it each second, ask."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], Named] = {}
        self.failures: deque[dict[str, Any]] = deque(maxlen=MOST_FAILURES)
        self.points: deque[dict[str, Any]] = deque(maxlen=SECONDS)
        self.skipped = 0
        """Rows that were not looked at one by one: there were too many at once."""
        self._waiting: OrderedDict[bytes, tuple[int, str, str, bool]] = OrderedDict()
        self._now: Counter[str] = Counter()
        self._spread = Spread()
        self._minute: deque[Spread] = deque(maxlen=MINUTE)
        self._ticks = 0

    def take(self, batch: pa.RecordBatch, most: int) -> None:
        """Count all rows, and follow the calls in the first ``most`` that matter."""
        import pyarrow.compute as pc  # it loads much: a gateway that nobody looks at does without

        self._now["frames"] += batch.num_rows
        self._now["bytes"] += pc.sum(batch.column("bytes")).as_py() or 0
        self._now["refused"] += batch.num_rows - batch.column("refused").null_count
        kinds = batch.column("kind")
        goes_on = pc.not_equal(pc.bit_wise_and(batch.column("head"), pa.scalar(outcomes.MORE, pa.int16())), 0)
        goes_on = pc.and_(pc.equal(kinds, "binary"), pc.fill_null(goes_on, False))
        matters = pc.and_(pc.is_valid(batch.column("exchange")), pc.is_in(kinds, value_set=pa.array(_KINDS)))
        matters = pc.and_not(matters, goes_on)
        rows = batch.select(_COLUMNS).filter(matters)
        self.skipped += max(0, rows.num_rows - most)
        columns = {name: rows.column(name).slice(0, most).to_pylist() for name in _COLUMNS}
        for values in zip(*columns.values(), strict=True):
            self._row(dict(zip(_COLUMNS, values, strict=True)))

    def tick(self, at: float, **more: Any) -> dict[str, Any]:
        """A second is over, at this moment: what it had."""
        now = self._now
        point = {
            "t": at,
            **{name: now[name] for name in ("frames", "bytes", "calls", "failed", "refused")},
            **self._spread.told(),
            **more,
        }
        self.points.append(point)
        self._minute.append(self._spread)
        self._now, self._spread = Counter(), Spread()
        self._ticks += 1
        if self._ticks % SLOT_SECONDS == 0:
            for named in self.names.values():
                named.slots.append((Spread(), Counter()))
        return point

    def told(self) -> list[dict[str, Any]]:
        """Every name, the busiest first."""
        found = [named.told() for named in self.names.values()]
        return sorted(found, key=lambda one: (-one["recent"], -one["calls"], one["name"]))

    def minute(self) -> dict[str, float | None]:
        """How long calls of the last minute took: of all of them, not of its seconds."""
        return Spread(spread.counts for spread in self._minute if spread.counts).told()

    def remember(self, failures: Iterable[dict[str, Any]]) -> None:
        """Calls that failed before those that it knows, the newest first."""
        self.failures.extend(islice(failures, MOST_FAILURES - len(self.failures)))

    def forget(self) -> None:
        """Nobody looked for a while: calls under way then may have ended unseen."""
        self._waiting.clear()
        self._now, self._spread = Counter(), Spread()

    def _row(self, row: dict[str, Any]) -> None:
        found = outcomes.step(row)
        if found is None:
            return
        exchange = row["exchange"]
        if found == outcomes.OPENED:
            if row["protocol"] == "mfp" and row["direction"] == "out":
                return  # what the gateway asks of a client is no call of a client's
            opened = (row["mono_ns"], row["protocol"], outcomes.called(row), row["parent"] is not None)
            self._waiting.setdefault(exchange, opened)
            if len(self._waiting) > MOST_WAITING:
                self._waiting.popitem(last=False)
            return
        waiting = self._waiting.pop(exchange, None)
        if waiting is None:
            return
        began, protocol, name, is_inner = waiting
        us = max(0.0, (row["mono_ns"] - began) / 1000)
        self._named(outcomes.CALLED[protocol], name).ended(found, us, row["time_ns"])
        if is_inner:
            return  # it is part of a call that counts itself
        self._now["calls"] += 1
        self._spread.add(us)
        if found != outcomes.OK:
            self._now["failed"] += 1
            self.failures.appendleft(_failure(row, protocol, name, found, us))

    def _named(self, called: str, name: str) -> Named:
        key = (called, name or RAW)
        if key not in self.names and len(self.names) >= MOST_NAMES:
            key = (called, OTHERS)
        if key not in self.names:
            self.names[key] = Named(*key)
        return self.names[key]


def _failure(row: dict[str, Any], protocol: str, name: str, outcome: str, us: float) -> dict[str, Any]:
    return {
        "at": row["time_ns"] // 1_000_000,
        "called": outcomes.CALLED[protocol],
        "name": name or RAW,
        "outcome": outcome,
        "code": row["error"] or "",
        "ms": round(us / 1000, 3),
        "exchange": row["exchange"].hex(),
    }
