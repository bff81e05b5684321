"""The table ``exchanges`` to waits over time, error codes, and the exchanges worth a closer look."""

from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framehub.report import naming
from framehub.report.histogram import BUCKETS, Histogram, coarse_edge, coarser
from framehub.report.minutes import ASKING, FAILED
from framehub.report.tables import Greatest, batches, top
from framehub.report.traffic import PROTOCOLS, Steps
from framehub.waits import buckets_of

CANDIDATES: Final = 40
"""Exchanges that each list is chosen from."""
CODES: Final = 12
HEAT_PER_DECADE: Final = 5
_COLUMNS: Final = ("node", "exchange", "parent", *naming.COLUMNS, "opened", "wait_us", "outcome", "code")
_ANSWERED: Final = ("ok", "error", "open")
"""Outcomes of which the first answer is one, and not word that there will be none."""
_OF_ONE_NAME: Final = 2
_GROUPS: Final = 2000
"""Kinds of failures counted apart, at most."""

Id = tuple[str, str]
"""Node and exchange."""


class Failures:
    """Failures by name, outcome and code, and one of each to show.

    That is the latest; of those that another exchange caused, if there are any, for they have more to show.
    """

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str, str | None], dict[str, Any]] = {}

    def add(self, failed: pa.Table) -> None:
        """Count these."""
        caused = pc.cast(pc.is_valid(failed["parent"]), pa.int8())
        moment = pc.fill_null(failed["opened"].cast(pa.int64()), 0)
        ordered = failed.append_column("caused", caused).append_column("moment", moment)
        ordered = ordered.sort_by([("caused", "descending"), ("moment", "descending")])
        grouped = ordered.group_by(["key", "outcome", "code"], use_threads=False)
        firsts = [(name, "first") for name in ("node", "exchange", "caused", "moment")]
        told = grouped.aggregate([("exchange", "count"), ("opened", "max"), *firsts])
        for row in told.to_pylist():
            known = self.groups.setdefault(
                (row["key"], row["outcome"], row["code"]), {"count": 0, "latest": None, "rank": (-1, 0)}
            )
            known["count"] += row["exchange_count"]
            known["latest"] = max(filter(None, (known["latest"], row["opened_max"])), default=None)
            rank = (row["caused_first"], row["moment_first"])
            if rank > known["rank"]:
                known |= {"rank": rank, "id": (row["node_first"], row["exchange_first"])}
        if len(self.groups) > 2 * _GROUPS:
            self.groups = dict(self._ranked()[:_GROUPS])

    def _ranked(self) -> list[tuple[tuple[str, str, str | None], dict[str, Any]]]:
        return sorted(self.groups.items(), key=lambda item: -item[1]["count"])

    def codes(self) -> list[dict[str, Any]]:
        """The most frequent first, and no more than ``CODES``."""
        told = []
        for (key, outcome, code), known in self._ranked()[:CODES]:
            protocol, name = naming.shown(key)
            latest = known["latest"].isoformat() if known["latest"] else None
            told.append({"protocol": protocol, "name": name, "outcome": outcome, "code": code}
                        | {"count": known["count"], "latest": latest})  # fmt: skip
        return told

    def examples(self) -> list[Id]:
        """One of each, the most frequent first, but of all protocols in turn."""
        by_protocol: dict[str, list[Id]] = {}
        for (key, _, _), known in self._ranked():
            by_protocol.setdefault(naming.shown(key)[0], []).append(known["id"])
        return _in_turn(list(by_protocol.values()))


def look(exchanges: Path, steps: Steps | None) -> dict[str, Any]:
    """One pass: ``over_time``, ``codes``, ``code_kinds``, and the ids ``slowest`` and ``failed``."""
    over_time = np.zeros((steps.count if steps else 1) * BUCKETS)
    longest = np.zeros(steps.count if steps else 1, dtype=np.int64)
    slowest, failures = {protocol: Greatest(CANDIDATES) for protocol in PROTOCOLS}, Failures()
    for table in batches(exchanges, _COLUMNS):
        named = table.append_column("key", naming.keys(table))
        asked = named.filter(
            pc.and_(pc.is_in(named["kind"], pa.array(ASKING)), pc.is_valid(named["wait_us"]))
        )
        answered = asked.filter(pc.is_in(asked["outcome"], pa.array(_ANSWERED)))
        for protocol, longest_of_it in slowest.items():
            for row in top(answered.filter(pc.equal(answered["protocol"], protocol)), "wait_us", CANDIDATES):
                longest_of_it.offer(row["wait_us"], row)
        failures.add(named.filter(pc.is_in(named["outcome"], pa.array(FAILED))))
        if steps is None:
            continue
        timed = asked.filter(pc.is_valid(asked["opened"]))
        step, waited = steps.of(timed["opened"]), timed["wait_us"].to_numpy()
        over_time += np.bincount(step * BUCKETS + buckets_of(waited), minlength=len(over_time))
        np.maximum.at(longest, step, waited)
    counts = over_time.astype(np.int64).reshape(-1, BUCKETS)
    return {
        "over_time": _over_time(counts, longest, steps) if steps and counts.any() else None,
        "codes": failures.codes(),
        "code_kinds": len(failures.groups),
        "slowest": _in_turn([_few_of_a_name(of_it.rows()) for of_it in slowest.values()]),
        "failed": failures.examples(),
    }


def _in_turn(lists: list[list[Id]]) -> list[Id]:
    """The first of each list, then the second of each, and so on."""
    return [id_ for turn in zip_longest(*lists) for id_ in turn if id_ is not None][:CANDIDATES]


def _few_of_a_name(rows: list[dict[str, Any]]) -> list[Id]:
    """All of them, but first a few of each name."""
    seen: Counter[str] = Counter()
    few: list[Id] = []
    others: list[Id] = []
    for row in rows:
        seen[row["key"]] += 1
        (few if seen[row["key"]] <= _OF_ONE_NAME else others).append((row["node"], row["exchange"]))
    return few + others


def _over_time(counts: Any, longest: Any, steps: Steps) -> dict[str, Any]:
    """Percentiles of each step, and how many waits fell into each wide bucket."""
    each = [Histogram(counts[step], int(longest[step])) for step in range(steps.count)]
    wide = coarser(counts, HEAT_PER_DECADE)
    used = np.flatnonzero(wide.any(axis=0))
    low, high = int(used[0]), int(used[-1])
    return {
        "step_ms": steps.width // 1000,
        "time": steps.times(),
        "count": [histogram.total for histogram in each],
        **{name: [histogram.quantile(share) for histogram in each]
           for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))},
        "max": [histogram.longest if histogram.total else None for histogram in each],
        "le_us": [coarse_edge(bucket, HEAT_PER_DECADE) for bucket in range(low, high + 1)],
        "buckets": [[int(n) for n in wide[:, bucket]] for bucket in range(low, high + 1)],
    }  # fmt: skip
