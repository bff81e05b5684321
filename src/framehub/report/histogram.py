"""Waits counted in fixed buckets: small, and the same whatever the order they come in."""

from typing import Any, Final, TypeAlias

import numpy as np

_Array: TypeAlias = "np.ndarray[Any, Any]"

PER_DECADE: Final = 20
_DECADES: Final = 9
EDGES: Final[_Array] = np.round(10 ** (np.arange(_DECADES * PER_DECADE + 1) / PER_DECADE), 3)
"""Microseconds, from one to a quarter of an hour; each bucket is 12 % wide."""


class Histogram:
    """How many waits fell into each bucket."""

    def __init__(self) -> None:
        self.counts: _Array = np.zeros(len(EDGES) + 1, dtype=np.int64)
        self.longest = 0

    def add(self, waits_us: _Array) -> None:
        """Count these."""
        if len(waits_us):
            self.counts += np.bincount(
                np.searchsorted(EDGES, waits_us, side="left"), minlength=len(EDGES) + 1
            )
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
