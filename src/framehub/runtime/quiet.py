"""Things that can happen ten thousand times a second, told in one line a second for each kind.

A flood must not become a flood of log lines. The first of a kind is told at once; those that follow within
the second are counted, and told together when it is over.
"""

import asyncio
import logging
from time import monotonic
from typing import Final

EVERY: Final = 1.0


LONGEST_DETAIL: Final = 200


class Summary:
    """Counts by kind, and when to speak of them. Time is an argument."""

    def __init__(self, *, every: float = EVERY) -> None:
        self._every = every
        self._silent_until: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def count(self, kind: str, now: float) -> bool:
        """Count one; whether it is to be told at once."""
        if now >= self._silent_until.get(kind, now):
            self._silent_until[kind] = now + self._every
            return True
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return False

    @property
    def next_due(self) -> float | None:
        """When there is something to tell next."""
        return min((self._silent_until[kind] for kind in self._counts), default=None)

    def due(self, now: float) -> dict[str, int]:
        """What is to be told now, by kind."""
        told = {kind: count for kind, count in self._counts.items() if now >= self._silent_until[kind]}
        for kind in told:
            del self._counts[kind]
            self._silent_until[kind] = now + self._every
        return told


class QuietLog:
    """A log for one listener; kinds are fixed texts, never what a peer sent."""

    def __init__(self, log: logging.Logger, where: str) -> None:
        self.where = where
        self._log = log
        self._summary = Summary()
        self._levels: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def count(self, kind: str, level: int = logging.INFO, *, detail: str = "") -> None:
        """One more of this kind; ``detail``, which may be a peer's words, goes with those told at once."""
        self._levels[kind] = level
        if self._summary.count(kind, monotonic()):
            self._log.log(level, "%s: connection %s%s", self.where, kind, detail and f": {_legible(detail)}")
        elif self._timer is None:
            self._set()

    def close(self) -> None:
        """Tell the rest, and tell no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._tell(float("inf"))

    def _set(self) -> None:
        due = self._summary.next_due
        if due is not None:
            delay = max(0.0, due - monotonic())
            self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._tell(monotonic())
        self._set()

    def _tell(self, now: float) -> None:
        for kind, count in self._summary.due(now).items():
            self._log.log(self._levels[kind], "%s: %d more times: connection %s", self.where, count, kind)


def _legible(text: str) -> str:
    """On one line, and not a long one."""
    if len(text) > LONGEST_DETAIL:
        text = f"{text[:LONGEST_DETAIL]}..."
    return text if text.isascii() and text.isprintable() else ascii(text)[1:-1]
