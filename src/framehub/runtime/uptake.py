"""Whether a peer takes what waits for it: one that never reads is not kept for ever."""

import asyncio
from collections.abc import Callable


class Uptake:
    """Watches a full link; ``stuck`` is called when for ``patience`` seconds nothing of it was taken."""

    def __init__(self, patience: float, waiting: Callable[[], int], stuck: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._patience = patience
        self._waiting = waiting
        self._stuck = stuck
        self._least = 0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The link is full."""
        if self._timer is None:
            self._least = self._waiting()
            self._timer = self._loop.call_later(self._patience, self._look)

    def end(self) -> None:
        """It is not, or it is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        waiting = self._waiting()
        if waiting >= self._least:
            self._stuck()
            return
        self.begin()
