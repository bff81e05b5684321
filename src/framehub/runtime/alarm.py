"""One timer that rings at the next deadline of a machine."""

import asyncio
from collections.abc import Callable
from math import inf
from time import monotonic


def _nothing() -> None: ...


class Alarm:
    """Rings once for each deadline set; a later deadline waits until the earlier one has rung."""

    __slots__ = ("_timer", "at", "ring")

    def __init__(self, ring: Callable[[], None] = _nothing) -> None:
        self.ring = ring
        """What to call; may be set later."""
        self.at = inf
        """When it will ring."""
        self._timer: asyncio.TimerHandle | None = None

    def set(self, deadline: float | None) -> None:
        """Ring at ``deadline``, unless an earlier one is set."""
        if deadline is None or self.at <= deadline:
            return
        self.cancel()
        if deadline == inf:
            return
        self.at = deadline
        delay = max(0.0, deadline - monotonic())
        self._timer = asyncio.get_running_loop().call_later(delay, self._rings)

    def stop(self) -> None:
        """Never ring again, and know nobody any more."""
        self.cancel()
        self.ring = _nothing

    def cancel(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.at = inf

    def _rings(self) -> None:
        self._timer = None
        self.at = inf
        self.ring()
