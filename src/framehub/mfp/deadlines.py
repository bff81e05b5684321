"""Many deadlines, most of which never come (spec/mfp.md, section 8.3). Pure.

Adding and dropping cost the same for one or a million: deadlines lie in buckets of ``GRAIN`` seconds, and
only the buckets are sorted. Nothing fires early; something may fire up to one grain late.
"""

from heapq import heappop, heappush
from typing import Final

GRAIN: Final = 0.01
FAR: Final = 1e9  # thirty years: later than this, infinity included, is never


class Deadlines:
    """When each of many keys is due."""

    def __init__(self) -> None:
        self._buckets: dict[int, dict[int, None]] = {}
        self._order: list[int] = []
        self._where: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._where)

    def add(self, key: int, deadline: float) -> None:
        """Make ``key`` due at ``deadline``, instead of any earlier wish for it."""
        if key in self._where:
            self.drop(key)
        bucket = int((deadline if deadline < FAR else FAR) / GRAIN) + 1
        keys = self._buckets.get(bucket)
        if keys is None:
            keys = self._buckets[bucket] = {}
            heappush(self._order, bucket)
        keys[key] = None
        self._where[key] = bucket

    def drop(self, key: int) -> None:
        """Forget ``key``, if it is there."""
        bucket = self._where.pop(key, None)
        if bucket is not None:
            del self._buckets[bucket][key]

    def due(self, now: float) -> list[int]:
        """Take out every key whose time has come, the earliest first."""
        taken: list[int] = []
        while self._order and self._order[0] * GRAIN <= now:
            for key in self._buckets.pop(heappop(self._order)):
                del self._where[key]
                taken.append(key)
        return taken

    @property
    def next(self) -> float | None:
        """When to ask again; empty buckets on the way are forgotten."""
        while self._order and not self._buckets[self._order[0]]:
            del self._buckets[heappop(self._order)]
        return self._order[0] * GRAIN if self._order else None
