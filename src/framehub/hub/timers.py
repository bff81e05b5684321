"""When to look at a stream again (spec/hub.md, section 9). Pure.

A frame moves its stream's deadline, but not its place here: whoever comes up is looked at, and enters again
if it is not due yet. So a frame costs nothing, and a stream a look each time that its timeout passes.
"""

from math import ceil, floor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from framehub.hub.parties import Stream

GRAIN: Final = 0.25
"""Seconds that share a place."""


class Timers:
    """Streams by the time at which they come up."""

    def __init__(self, now: float) -> None:
        self._places: dict[int, set[Stream]] = {}
        self._next = floor(now / GRAIN) + 1
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, stream: "Stream", at: float) -> None:
        """Have it come up at this time, or a little later."""
        place = max(ceil(at / GRAIN), self._next)
        stream.place = place
        self._places.setdefault(place, set()).add(stream)
        self._count += 1

    def discard(self, stream: "Stream") -> None:
        """It need not come up."""
        there = self._places.get(stream.place)
        if there is not None and stream in there:
            there.discard(stream)
            self._count -= 1
            if not there:
                del self._places[stream.place]

    def due(self, now: float) -> "list[Stream]":
        """Those whose time has come; they are not here any more."""
        until = floor(now / GRAIN)
        if until < self._next:
            return []
        if until - self._next < len(self._places):
            places = [place for place in range(self._next, until + 1) if place in self._places]
        else:
            places = sorted(place for place in self._places if place <= until)
        self._next = until + 1
        found = [stream for place in places for stream in self._places.pop(place)]
        self._count -= len(found)
        found.sort(key=lambda stream: stream.hub_id)
        return found
