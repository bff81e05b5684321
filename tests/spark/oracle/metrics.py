"""The table ``metrics``: counts and waits of a minute, from the rows of ``exchanges``."""

import math
from collections import Counter, defaultdict
from typing import Any

EDGES = [round(10 ** (k / 20), 3) for k in range(181)]
OUTCOMES = ("ok", "error", "timeout", "aborted", "unknown", "disconnected", "open")
KEY = ("minute", "node", "protocol", "kind", "endpoint", "service")
COUNTED = ("frames_in", "frames_out", "bytes_in", "bytes_out")


def metrics(exchanges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in exchanges:
        if row["opened"] is None or row["kind"] is None:
            continue
        minute = row["opened"].replace(second=0, microsecond=0)
        groups[minute, *(row[name] for name in KEY[1:])].append(row)
    return [of_group(dict(zip(KEY, key, strict=True)), rows) for key, rows in groups.items()]


def of_group(key: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    waits = [row["wait_us"] for row in rows if row["wait_us"] is not None]
    buckets = Counter(map(bucket, waits))
    return {
        **key,
        "date": key["minute"].date(),
        "count": len(rows),
        **{outcome: sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES},
        "answered": len(waits),
        "p50_us": quantile(0.5, waits),
        "p95_us": quantile(0.95, waits),
        "p99_us": quantile(0.99, waits),
        "max_us": max(waits, default=None),
        "waits": [{"le_us": edge(place), "count": buckets[place]} for place in sorted(buckets)],
        **{name: sum(row[name] for row in rows) for name in COUNTED},
    }


def bucket(wait: int) -> int:
    return sum(edge < wait for edge in EDGES)


def edge(place: int) -> float:
    return EDGES[place] if place < len(EDGES) else math.inf


def quantile(share: float, waits: list[int]) -> float | None:
    """The edge of the first bucket with which so many have been counted; never above the longest wait."""
    buckets, counted = Counter(map(bucket, waits)), 0
    for place in sorted(buckets):
        counted += buckets[place]
        if counted >= share * len(waits):
            return min(edge(place), float(max(waits)))
    return None
