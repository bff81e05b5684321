"""What a peer may do now and then, but not in crowds (spec/mfp.md, 8.8). Pure.

Each kind is counted in a window that slides: as many as its setting says in any such span of time. One more
is ``PeerMisbehaved``, which ends the connection. A window remembers no more times than it allows.
"""

from collections import deque
from functools import cached_property
from typing import Final

from framehub.errors import PeerMisbehaved
from framehub.mfp.settings import Settings

STRIKE_SECONDS: Final = 10.0
CANCEL_SECONDS: Final = 10.0
PING_SECONDS: Final = 1.0
STRAY_SECONDS: Final = 1.0


class Window:
    """At most ``most`` of something in any ``seconds``."""

    def __init__(self, what: str, most: int, seconds: float) -> None:
        self._what = what
        self._most = most
        self._seconds = seconds
        self._times: deque[float] = deque()

    def fits(self, now: float) -> bool:
        """Count one more, unless it is one too many."""
        times = self._times
        if len(times) >= self._most:
            if now < times[0] + self._seconds:
                return False
            times.popleft()
        times.append(now)
        return True

    def count(self, now: float, why: str = "") -> None:
        """One more.

        Raises:
            PeerMisbehaved: it is one too many.
        """
        if not self.fits(now):
            raise PeerMisbehaved(self._what, most=self._most, seconds=self._seconds, why=why)


class Conduct:
    """Counts what one peer does."""

    def __init__(self, settings: Settings) -> None:
        self.strikes = 0
        """Faults of the peer that did not end the connection by themselves."""
        self._settings = settings

    # Made when first used: most peers behave.

    @cached_property
    def cancels(self) -> Window:
        """Exchanges that the peer gave up before they were answered."""
        return Window("cancelled exchanges", self._settings.max_cancels, CANCEL_SECONDS)

    @cached_property
    def pings(self) -> Window:
        """Pings."""
        return Window("pings", self._settings.max_pings, PING_SECONDS)

    @cached_property
    def strays(self) -> Window:
        """Frames about what is over, or never was."""
        return Window("frames about nothing known", self._settings.max_strays, STRAY_SECONDS)

    @cached_property
    def _strikes(self) -> Window:
        return Window("strikes", self._settings.max_strikes, STRIKE_SECONDS)

    def strike(self, now: float, why: str) -> None:
        """A fault: told to the peer in its own way, and counted here.

        Raises:
            PeerMisbehaved: there were too many of late.
        """
        self.strikes += 1
        self._strikes.count(now, why)
