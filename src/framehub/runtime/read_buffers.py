"""What the connections of an event loop hold to read into: counted, and made small after large frames."""

import asyncio
import threading
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from framehub.runtime.watchdog import trim

KEPT_BYTES: Final = 32 * 1024
"""What a connection may keep that reads nothing large."""
QUIET_SECONDS: Final = 1.0
"""After so long without a large frame a buffer is made small: a busy one is not made anew for each."""
TRIM_BYTES: Final = 8 << 20
"""What has to have been freed for the C library to be asked to give it back to the system."""


class Shrinks(Protocol):
    """Something with a large buffer."""

    def shrink(self) -> bool:
        """Make it small, unless it was used since this was last asked; whether that is done."""


class ReadBuffers:
    """Those of one event loop, which must be the running one."""

    def __init__(self) -> None:
        self.bytes = 0
        """What all of them have room for."""
        self._large: dict[Shrinks, None] = {}
        self._peak = 0
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, before: int, now: int) -> None:
        """One has another size."""
        self.bytes += now - before
        if now > before:
            self._peak = max(self._peak, self.bytes)
        elif self._peak - self.bytes > TRIM_BYTES:
            self._look_later()

    def look_after(self, large: Shrinks) -> None:
        """Make this one small when it is not used any more."""
        self._large[large] = None
        self._look_later()

    def forget(self, one: Shrinks) -> None:
        """Its connection has ended."""
        self._large.pop(one, None)

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        for one in [one for one in self._large if one.shrink()]:
            del self._large[one]
        if self._peak - self.bytes > TRIM_BYTES:
            self._peak = self.bytes
            threading.Thread(target=trim, name="framehub-trim", daemon=True).start()  # it takes a while
        if self._large:
            self._look_later()


_ALL: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, ReadBuffers]] = WeakKeyDictionary()


def buffers_of(loop: asyncio.AbstractEventLoop) -> ReadBuffers:
    """Those of this event loop."""
    found = _ALL.get(loop)
    if found is None:
        found = _ALL[loop] = ReadBuffers()
    return found
