"""How fast a worker gets on, and how long callers let a query wait (spec/rpc.md, section 4.2). Pure."""

from typing import Final

LOOK: Final = 0.1
"""Seconds of work from which a worker's pace is read, at least."""
LONG: Final = 1.0
"""Seconds from which it is read however few answers there were; else there are as many as it runs at once."""
NEW: Final = 0.3
"""What the last look counts; those before it count the rest."""
STALE: Final = 1.0
"""Seconds of rest after which a worker's pace is not known any more."""
LEAST: Final = 0.5
"""Seconds that a query may wait, however impatient callers are."""
LESS: Final = 0.9
"""What is left of the time that queries may wait when one more caller gives up; half of what it waited at
least."""
RECOVERS: Final = 30.0
"""Seconds in which that time doubles, once nobody gives up."""
_MANY: Final = 64.0


class Pace:
    """Seconds from one answer of a worker to its next, while it always has a query to begin.

    They are known by function: what a slow one takes says nothing of a quick one. A look at several counts
    for a function that has at least half of its answers. A look begins with an answer: until the first one,
    a worker that runs many at once seems to give none, and then it gives as many.
    """

    __slots__ = ("_answers", "_began", "_idle_at", "_seconds", "_since")

    def __init__(self) -> None:
        self._seconds: dict[bytes, float] = {}
        self._answers: dict[bytes, int] = {}
        self._since: float | None = None
        self._began = False
        """Whether there was an answer since it was full."""
        self._idle_at = 0.0

    def of(self, function: bytes) -> float:
        """Seconds between answers of a function. Zero: nothing is known yet."""
        return self._seconds.get(function, 0.0)

    def full(self, now: float) -> None:
        """It has as much as it can do at once."""
        if self._since is None:
            self._answers, self._since, self._began = {}, now, False
            if now - self._idle_at > STALE:
                self._seconds.clear()  # what it was busy with then may have been something else

    def idle(self, now: float) -> None:
        """It could do more: from here on its answers say nothing."""
        if self._since is not None:
            self._since, self._idle_at = None, now

    def answered(self, function: bytes, now: float, *, runs: int) -> None:
        """One more answer, of a worker that runs so many at once."""
        if self._since is None:
            return
        if not self._began:
            first = now - self._since
            if first >= LOOK and function not in self._seconds:
                self._seconds[function] = first / runs
            self._began, self._since = True, now
            return
        self._answers[function] = self._answers.get(function, 0) + 1
        passed, total = now - self._since, sum(self._answers.values())
        if passed >= LOOK and (total >= runs or passed >= LONG):
            for name, count in self._answers.items():
                if 2 * count >= total:
                    known, seen = self.of(name), passed / total
                    self._seconds[name] = (1 - NEW) * known + NEW * seen if known else seen
            self._answers, self._since = {}, now


class Patience:
    """How long a query may wait: as long as is allowed, and less where callers give up before."""

    __slots__ = ("_at", "_seconds")

    def __init__(self) -> None:
        self._seconds: float | None = None
        self._at = 0.0

    def limit(self, most: float, now: float) -> float:
        """Seconds that a query may wait now; ``most`` is what is allowed."""
        if self._seconds is None:
            return most
        return min(most, self._seconds * 2 ** min((now - self._at) / RECOVERS, _MANY))

    def gave_up(self, waited: float, most: float, now: float) -> None:
        """A caller gave up a query that had waited so long: half of that would have been soon enough."""
        limit = self.limit(most, now)
        if waited / 2 < limit:
            self._seconds = max(LEAST, waited / 2, limit * LESS)
            self._at = now
