"""How long to wait before the next try: longer each time, and never all clients at once. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log

from framehub.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential, with full jitter: after n tries anything from 0 to ``first * factor**n``, or ``most``."""

    first: float = 0.1
    """The longest first wait, in seconds."""
    most: float = 10.0
    """The longest wait; also how long a connection has to last for the next wait to be a first one again."""
    factor: float = 2.0
    """How much longer each wait may be than the one before."""

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.most:
            raise ConfigError(f"want 0 < first <= most, not first={self.first!r} and most={self.most!r}")
        if not self.factor > 1:
            raise ConfigError(f"factor must be above 1, not {self.factor!r}")

    def longest(self, tries: int) -> float:
        """The longest wait after so many tries that came to nothing."""
        if tries >= log(self.most / self.first) / log(self.factor):  # no power that is too big for a float
            return self.most
        return min(self.most, self.first * self.factor**tries)

    def delay(self, tries: int, random: Callable[[], float]) -> float:
        """Seconds to wait; ``random`` gives numbers from 0 up to 1."""
        return self.longest(tries) * random()
