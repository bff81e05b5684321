"""What a client may do now and then, but not in crowds (spec/hub.md, section 13). Pure.

Made when first used: most clients behave. Each method is false when it was one too many.
"""

from collections import deque
from typing import Final

from framehub.hub.settings import HubSettings

STRIKE_SECONDS: Final = 10.0
PING_SECONDS: Final = 1.0


class Window:
    """At most ``most`` of something in any ``seconds``."""

    __slots__ = ("_most", "_seconds", "_times")

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._times: deque[float] = deque()

    def count(self, now: float) -> bool:
        """One more; false if it is one too many."""
        times = self._times
        if len(times) >= self._most:
            if now < times[0] + self._seconds:
                return False
            times.popleft()
        times.append(now)
        return True


class Bucket:
    """So many at once, and so many a second after that."""

    __slots__ = ("_at", "_burst", "_left", "_rate")

    def __init__(self, burst: int, rate: int, now: float) -> None:
        self._burst = burst
        self._rate = rate
        self._left = float(burst)
        self._at = now

    def take(self, now: float) -> bool:
        """One; false if there is none left."""
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Conduct:
    """Counts what one client does."""

    __slots__ = ("_cancels", "_opens", "_pings", "_settings", "_strikes")

    def __init__(self, settings: HubSettings, now: float) -> None:
        self._settings = settings
        self._opens = Bucket(settings.opens_burst, settings.max_opens, now)
        self._strikes: Window | None = None
        self._cancels: Window | None = None
        self._pings: Window | None = None

    def open(self, now: float) -> bool:
        """It opens a stream."""
        return self._opens.take(now)

    def strike(self, now: float) -> bool:
        """It sent what it may not."""
        if self._strikes is None:
            self._strikes = Window(self._settings.max_strikes, STRIKE_SECONDS)
        return self._strikes.count(now)

    def cancel(self, now: float) -> bool:
        """It closed a stream before any answer, or opened one beyond its limits."""
        if self._cancels is None:
            self._cancels = Window(self._settings.max_cancels, STRIKE_SECONDS)
        return self._cancels.count(now)

    def ping(self, now: float) -> bool:
        """It sent a PING."""
        if self._pings is None:
            self._pings = Window(self._settings.max_pings, PING_SECONDS)
        return self._pings.count(now)
