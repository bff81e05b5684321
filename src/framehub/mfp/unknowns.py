"""Telling the peer that a frame of its refers to nothing (spec/mfp.md, 8.2 and 8.4). Pure."""

from math import inf
from typing import Final

from framehub.codes import Service
from framehub.mfp.outbox import Outbox

QUIET_SECONDS: Final = 5.0
BOUND: Final = 256


class Unknowns:
    """Says ``unknown`` at most once about the same ref in some seconds; remembers the last few refs."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._said: dict[int, float] = {}

    def tell(self, id_: int, exchange: int, *, ref: int, now: float) -> None:
        """A frame referred to ``ref``; ``id_`` is what the answer names."""
        if now < self._said.get(ref, -inf) + QUIET_SECONDS:
            return
        self._said.pop(ref, None)
        if len(self._said) >= BOUND:
            del self._said[next(iter(self._said))]
        self._said[ref] = now
        self._outbox.service(Service.UNKNOWN, id_, exchange)

    def clear(self) -> None:
        """Forget everything."""
        self._said.clear()
