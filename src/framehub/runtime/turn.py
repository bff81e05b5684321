"""How long handlers keep the event loop in one pass of it: beyond a bound, the rest is told ``busy``.

What waits for a busy event loop waits in the sockets' buffers, where nobody sees it, until whoever asked has
given up. So what was read in a pass that has taken long enough is refused, which takes no time, and the next
pass begins with what came last. A pass may be long once, for many may ask at a time; where the event loop has
had no rest for a while, passes are short, so that a refusal comes soon.
"""

import asyncio
import logging
from time import monotonic
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

FEW: Final = 8
"""Handlers that have their turn in any pass; where there is no rest, one has."""
NO_REST: Final = 0.8
"""From this share of the time on, spent in handlers, passes are short."""
SHORTER: Final = 20
"""So many times."""
LONG: Final = 0.5
"""Seconds of a pass after which the log says whose they were."""
_LATELY: Final = 0.5
"""Seconds over which that share is taken."""
_SILENT: Final = 10.0
"""Seconds between two such lines."""

log = logging.getLogger("framehub.serving")


class Turn:
    """One pass of an event loop after the other, shared by all that answer on it."""

    __slots__ = ("_advice", "_begun", "_load", "_loop", "_next_at", "_silent_until", "_since", "refused")

    def __init__(self, loop: asyncio.AbstractEventLoop, advice: str = "make it quicker") -> None:
        self.refused = 0
        """Requests that came too late in a pass."""
        self._loop = loop
        self._advice = advice
        self._begun: list[object] = []  # what was asked for in this pass
        self._silent_until = 0.0
        self._since = 0.0  # when its first did
        self._next_at = monotonic()  # when the last pass was over
        self._load = 0.0

    def is_over(self, seconds: float, asked: object = None) -> bool:
        """Whether handlers have had so long already; if not, that of what is ``asked`` begins."""
        few, most = (FEW, seconds) if self._load < NO_REST else (1, seconds / SHORTER)
        if len(self._begun) < few:
            if not self._begun:
                self._since = monotonic()
                self._loop.call_soon(self._next)
            self._begun.append(asked)
            return False
        if monotonic() - self._since <= most:
            self._begun.append(asked)
            return False
        self.refused += 1
        return True

    def _next(self) -> None:
        """The pass is over, and nobody has waited for anything since."""
        now = monotonic()
        whole = max(now - self._next_at, 1e-9)
        self._load += min(1.0, whole / _LATELY) * ((now - self._since) / whole - self._load)
        self._next_at = now
        begun, self._begun = self._begun, []
        if now - self._since >= LONG and now >= self._silent_until:
            self._silent_until = now + _SILENT
            names = sorted({repr(getattr(asked, "endpoint", "(raw)")) for asked in begun})
            who = f"handler {names[0]}" if len(names) == 1 else f"handlers {', '.join(names[:FEW])}"
            log.warning("%s kept the event loop for %.1f s: %s", who, now - self._since, self._advice)


class Turns(NamedTuple):
    """Those of one event loop: what was read comes first in a pass, then what it made tasks of."""

    reading: Turn
    running: Turn

    @property
    def refused(self) -> int:
        """Requests that came too late in their pass."""
        return self.reading.refused + self.running.refused


_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Turns]] = WeakKeyDictionary()


def turns_of(loop: asyncio.AbstractEventLoop) -> Turns:
    """Those of this event loop."""
    found = _TURNS.get(loop)
    if found is None:
        found = _TURNS[loop] = Turns(
            Turn(loop, "make it async, or a function of a worker"),
            Turn(loop, "have it await what takes so long, or make it a function of a worker"),
        )
    return found
