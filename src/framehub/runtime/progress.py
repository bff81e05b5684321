"""Whether a message that has begun to come goes on coming: a peer that drips bytes is not waited for."""

import asyncio
from collections.abc import Callable
from typing import Final

SLOWEST: Final = 16 * 1024
"""Bytes in a second that a peer has to send once it has begun a message, after some patience."""


def _nothing() -> None: ...


class Progress:
    """Watches one link; ``too_slow`` is called when a message takes too long."""

    def __init__(self, patience: float, too_slow: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._patience = patience
        self._too_slow = too_slow
        self._since: float | None = None
        self._bytes = 0
        self._held = False
        self._held_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def unfinished(self) -> bool:
        """Whether a message has begun and is not whole."""
        return self._since is not None

    def read(self, size: int, *, completed: bool, unfinished: bool) -> None:
        """Some bytes came: they ``completed`` a message or not, and they left one ``unfinished`` or not."""
        if completed:
            self._since, self._bytes = None, 0
        if not unfinished:
            return
        self._bytes += size
        if self._since is None:
            self._since = self._loop.time()
            self._set()

    def hold(self) -> None:
        """We do not read for a while ourselves: no time passes until ``forgive``."""
        if not self._held:
            self._held, self._held_at = True, self._loop.time()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def forgive(self) -> None:
        """We did not read for a while ourselves: that time does not count."""
        self._held = False
        if self._since is not None:
            now = self._loop.time()
            self._since = min(now, self._since + now - self._held_at)
            self._set()

    def stop(self) -> None:
        """Watch no longer, and know nobody any more."""
        self._since = None
        self._too_slow = _nothing
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self) -> None:
        if self._timer is None and not self._held:
            self._timer = self._loop.call_later(self._patience, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + self._patience + self._bytes / SLOWEST - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._too_slow()
