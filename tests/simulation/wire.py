"""One direction of a modelled connection: first in, first out, late, and with little room."""

from collections import deque
from typing import NamedTuple

from framehub.mfp.outbox import Outgoing

NEVER = float("inf")


class Parcel(NamedTuple):
    """Bytes on their way; ``sent`` is the frame they were made from, None if no machine made them."""

    arrives: float
    data: bytes
    sent: Outgoing | None


class Wire:
    """Parcels in the order in which they were put, each after its delay."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.stalled_until = 0.0
        """Nothing comes out before: the reader does not read, or the line is silent."""
        self._parcels: deque[Parcel] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._parcels)

    def has_room(self, size: int) -> bool:
        """Whether ``size`` bytes fit; an empty wire takes anything."""
        return not self._parcels or self._bytes + size <= self.capacity

    def put(self, arrives: float, data: bytes, sent: Outgoing | None) -> None:
        """Send; nothing overtakes anything."""
        if self._parcels:
            arrives = max(arrives, self._parcels[-1].arrives)
        self._parcels.append(Parcel(arrives, data, sent))
        self._bytes += len(data)

    @property
    def next_arrival(self) -> float:
        """When the first parcel comes out."""
        return max(self._parcels[0].arrives, self.stalled_until) if self._parcels else NEVER

    def take(self) -> Parcel:
        """The first parcel."""
        parcel = self._parcels.popleft()
        self._bytes -= len(parcel.data)
        return parcel
