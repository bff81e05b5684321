"""Waits counted in fixed buckets: small, and the same whatever the order they come in."""

from typing import Any, TypeAlias

import numpy as np

from framehub.waits import EDGES, PER_DECADE, buckets_of

_Array: TypeAlias = "np.ndarray[Any, Any]"

BUCKETS = len(EDGES) + 1


class Histogram:
    """How many waits fell into each bucket."""

    def __init__(self, counts: "_Array | None" = None, longest: int = 0) -> None:
        self.counts: _Array = np.zeros(BUCKETS, dtype=np.int64) if counts is None else counts
        self.longest = longest

    def add(self, waits_us: _Array) -> None:
        """Count these."""
        if len(waits_us):
            self.counts += np.bincount(buckets_of(waits_us), minlength=BUCKETS)
            self.longest = max(self.longest, int(waits_us.max()))

    @property
    def total(self) -> int:
        """How many were counted."""
        return int(self.counts.sum())

    def quantile(self, share: float) -> float | None:
        """The wait that this share of all stayed within, to the upper edge of its bucket."""
        if not self.total:
            return None
        bucket = int(np.searchsorted(np.cumsum(self.counts), share * self.total, side="left"))
        edge = float(EDGES[bucket]) if bucket < len(EDGES) else float(self.longest)
        return min(edge, float(self.longest))


def coarser(counts: _Array, per_decade: int) -> _Array:
    """The same counts in wider buckets, so many to a decade; bucket n ends at ``10 ** (n / per_decade)`` µs.

    Buckets are the last axis. The last one holds what lies beyond all edges.
    """
    merged = PER_DECADE // per_decade
    target = -(-np.arange(BUCKETS) // merged)
    wide = np.zeros((*counts.shape[:-1], int(target[-1]) + 1), dtype=counts.dtype)
    for bucket, into in enumerate(target):
        wide[..., into] += counts[..., bucket]
    return wide


def coarse_edge(bucket: int, per_decade: int) -> float:
    """The upper edge of a wide bucket, in microseconds; of the one beyond all edges, as if it went on."""
    return float(round(10 ** (bucket / per_decade), 3))
