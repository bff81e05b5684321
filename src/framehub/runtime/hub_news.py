"""What a hub's log tells: who came and went, and what was refused or ended, however much of it there is."""

import logging
from collections import Counter
from typing import Final

from framehub.hub.parties import Instance

log = logging.getLogger("framehub.hub")

TELL_EVERY: Final = 10.0
"""What is counted is told in one line each so many seconds."""
ONE_BY_ONE: Final = 10
"""Services that come or go are told one by one, so many in that time; more of them are counted."""


class News:
    """Time is an argument."""

    def __init__(self, counts: Counter[str]) -> None:
        """``counts`` is what the switch counts."""
        self._counts = counts
        self._told: Counter[str] = Counter()
        self._crowd: Counter[str] = Counter()
        self._tell_at = 0.0
        self._lines = 0
        self._lines_until = 0.0

    def of_service(self, instance: Instance, now: float, *, has_come: bool) -> None:
        """One was registered, or has gone."""
        what = "came" if has_come else "has gone"
        if now >= self._lines_until:
            self._lines, self._lines_until = 0, now + TELL_EVERY
        if self._lines < ONE_BY_ONE:
            self._lines += 1
            log.info("service %d %r %s", instance.number, instance.name, what)
        else:
            self._crowd[f"service {what}"] += 1

    def tick(self, now: float) -> None:
        """Tell what was counted, if it is time."""
        if now >= self._tell_at and (self._crowd or self._told != self._counts):
            self._tell_at = now + TELL_EVERY
            news = self._counts - self._told + self._crowd
            self._told = self._counts.copy()
            self._crowd.clear()
            log.info("%s", ", ".join(f"{what}: {count}" for what, count in sorted(news.items())))
