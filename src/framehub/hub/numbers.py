"""The hub's own numbers of streams, towards services (spec/hub.md, section 7). Pure.

Those for V2 services count from 2^20 up, hub-wide, and begin again there when they are used up. V1 services
have only 20 bits: theirs come from a pool below 2^20, and an ended one rests before it is used again.
"""

from collections import deque
from collections.abc import Container
from typing import Final

FIRST_V2: Final = 1 << 20
LAST_V2: Final = (1 << 32) - 1
LAST_V1: Final = FIRST_V2 - 1


class Numbers:
    """Gives numbers that no live stream has."""

    def __init__(self, live: Container[int], quarantine: float) -> None:
        self._live = live
        self._quarantine = quarantine
        self._next = FIRST_V2
        self._fresh = 1
        self._resting: deque[tuple[float, int]] = deque()

    def take(self, version: int, now: float) -> int | None:
        """A number for a stream to a service of this version; None: they are all in use or at rest."""
        if version == 1:
            return self._take_short(now)
        number = self._next
        while number in self._live:
            number = FIRST_V2 if number == LAST_V2 else number + 1
        self._next = FIRST_V2 if number == LAST_V2 else number + 1
        return number

    def release(self, number: int, now: float) -> None:
        """The stream of this number is over."""
        if number < FIRST_V2:
            self._resting.append((now + self._quarantine, number))

    def _take_short(self, now: float) -> int | None:
        if self._fresh <= LAST_V1:
            self._fresh += 1
            return self._fresh - 1
        if self._resting and self._resting[0][0] <= now:
            return self._resting.popleft()[1]
        return None
