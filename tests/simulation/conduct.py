"""What a peer does too often, told once more from spec/mfp.md, 8.8: a list of times for each kind."""

from collections import Counter
from typing import Final, Literal, TypeAlias

from framehub.mfp.settings import Settings

Kind: TypeAlias = Literal["strikes", "cancels", "pings", "strays"]
SPANS: Final[dict[Kind, float]] = {"strikes": 10.0, "cancels": 10.0, "pings": 1.0, "strays": 1.0}
"""Seconds in which as many are allowed as the setting says."""


class Conduct:
    """One peer's."""

    def __init__(self, settings: Settings) -> None:
        self._most: dict[Kind, int] = {
            "strikes": settings.max_strikes,
            "cancels": settings.max_cancels,
            "pings": settings.max_pings,
            "strays": settings.max_strays,
        }
        self._times: dict[Kind, list[float]] = {kind: [] for kind in SPANS}
        self.totals: Counter[Kind] = Counter()
        self.excess: Kind | None = None
        """The kind of which there was one too many: that ends the connection."""

    def count(self, kind: Kind, now: float) -> None:
        recent = [time for time in self._times[kind] if now < time + SPANS[kind]]
        if len(recent) >= self._most[kind]:
            self.excess = kind
        self._times[kind] = [*recent, now]
        self.totals[kind] += 1
