"""The table ``metrics`` to outcomes and waits of each endpoint, function and service."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framehub.report import naming
from framehub.report.histogram import BUCKETS, Histogram, coarse_edge, coarser
from framehub.report.tables import OTHERS, Sums, batches
from framehub.waits import buckets_of

OUTCOMES: Final = ("ok", "open", "error", "timeout", "aborted", "unknown", "disconnected")
FAILED: Final = ("error", "timeout", "aborted", "unknown", "disconnected")
ASKING: Final = ("request", "query", "stream")
"""Kinds of exchanges that somebody waits for; the ack of a message and a pong are not counted among waits."""
NAMES: Final = 15
"""Endpoints, functions and services shown by name; the rest are one."""
STRIP_PER_DECADE: Final = 10
_SUMS: Final = ("count", *OUTCOMES, "frames_in", "frames_out", "bytes_in", "bytes_out")
_SHARES: Final = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}


def outcomes(metrics: Path) -> list[dict[str, Any]]:
    """Exchanges by outcome, and their frames and bytes; the name with most exchanges first."""
    sums: Sums[str] = Sums(len(_SUMS))
    for table in batches(metrics, [*naming.COLUMNS, *_SUMS]):
        named = table.append_column("key", naming.keys(table))
        by_key = named.group_by("key").aggregate([(name, "sum") for name in _SUMS])
        for row in by_key.to_pylist():
            sums.add(row["key"], [row[f"{name}_sum"] for name in _SUMS])
    told = [_named(key) | dict(zip(_SUMS, values, strict=True)) for key, values in sums.ranked(NAMES)]
    if sums.rest[0]:
        told.append({"protocol": None, "name": OTHERS, **dict(zip(_SUMS, sums.rest, strict=True))})
    return told


def waits(metrics: Path) -> dict[str, Any]:
    """How long answers took: ``{"all": ..., "by_name": [...]}``, the name with most answers first."""
    answered: Sums[str] = Sums(1)
    for table in _asking(metrics, ["answered"]):
        for row in table.group_by("key").aggregate([("answered", "sum")]).to_pylist():
            if row["answered_sum"]:
                answered.add(row["key"], [row["answered_sum"]])
    names = [key for key, _ in answered.ranked(NAMES)]
    histograms = _histograms(metrics, names)
    by_name = [_named(key) | _distribution(histograms[at]) for at, key in enumerate(names)]
    if histograms[-1].total:
        by_name.append({"protocol": None, "name": OTHERS} | _distribution(histograms[-1]))
    counts = sum((histogram.counts for histogram in histograms), np.zeros(BUCKETS, dtype=np.int64))
    whole = Histogram(counts, max(histogram.longest for histogram in histograms))
    return {"all": _distribution(whole), "by_name": by_name}


def _asking(metrics: Path, columns: list[str]) -> Any:
    for table in batches(metrics, [*naming.COLUMNS, *columns], pc.field("kind").isin(ASKING)):
        yield table.append_column("key", naming.keys(table))


def _histograms(metrics: Path, names: list[str]) -> list[Histogram]:
    """One for each name, and one for all others."""
    rows = len(names) + 1
    counts = np.zeros(rows * BUCKETS)
    longest = np.zeros(rows, dtype=np.int64)
    for table in _asking(metrics, ["max_us", "waits"]):
        place = pc.fill_null(pc.index_in(table["key"], pa.array(names, pa.string())), rows - 1).to_numpy()
        np.maximum.at(longest, place, pc.fill_null(table["max_us"], 0).to_numpy())
        lists = table["waits"].combine_chunks()
        buckets = pc.list_flatten(lists)
        of = place[pc.list_parent_indices(lists).to_numpy()]
        cell = of * BUCKETS + buckets_of(pc.struct_field(buckets, "le_us").to_numpy())
        weights = pc.struct_field(buckets, "count").to_numpy()
        counts += np.bincount(cell, weights=weights, minlength=len(counts))
    table_of = counts.astype(np.int64).reshape(rows, BUCKETS)
    return [Histogram(table_of[row], int(longest[row])) for row in range(rows)]


def _distribution(waits_of: Histogram) -> dict[str, Any]:
    strip = coarser(waits_of.counts, STRIP_PER_DECADE)
    return {
        "count": waits_of.total,
        **{name: waits_of.quantile(share) for name, share in _SHARES.items()},
        "max": waits_of.longest if waits_of.total else None,
        "buckets": [[coarse_edge(at, STRIP_PER_DECADE), int(n)] for at, n in enumerate(strip) if n],
    }


def _named(key: str) -> dict[str, Any]:
    protocol, name = naming.shown(key)
    return {"protocol": protocol, "name": name}
