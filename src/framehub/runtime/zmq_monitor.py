"""What happens to the connections of a ZeroMQ socket: made, refused, lost."""

import struct
from collections.abc import Callable
from enum import Enum, auto
from itertools import count
from typing import Any, Final

import zmq
from zmq.backend import Socket as Backend

from framehub.runtime.zmq_edge import Edge

MOST: Final = 256
"""Events taken in one turn."""
_EVENT: Final = struct.Struct("=HI")
_EVENTS_HERE: Final = int(zmq.EVENTS)
_POLLIN: Final = int(zmq.POLLIN)
_numbers = count(1)


class LinkEvent(Enum):
    """Of one connection."""

    ACCEPTED = auto()
    """Somebody connected."""
    CONNECTED = auto()
    """Its handshake is done: messages can be exchanged."""
    DISCONNECTED = auto()
    """It ended, also if it never was connected."""
    REFUSED = auto()
    """Its handshake failed: wrong keys, or not what we speak."""


_EVENTS: Final = {
    int(zmq.EVENT_ACCEPTED): LinkEvent.ACCEPTED,
    int(zmq.EVENT_HANDSHAKE_SUCCEEDED): LinkEvent.CONNECTED,
    int(zmq.EVENT_DISCONNECTED): LinkEvent.DISCONNECTED,
    int(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL): LinkEvent.REFUSED,
    int(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL): LinkEvent.REFUSED,
    int(zmq.EVENT_HANDSHAKE_FAILED_AUTH): LinkEvent.REFUSED,
}


class Monitor:
    """Tells of the connections of ``socket``. ``turn`` is called when there may be events to ``take``."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        socket: zmq.Socket[bytes],
        turn: Callable[[], bool],
    ) -> None:
        self._watched = socket
        place = f"inproc://framehub.monitor.{next(_numbers)}"
        socket.monitor(place, sum(_EVENTS))
        self._pair = context.socket(zmq.PAIR)
        self._pair.set(zmq.LINGER, 0)
        # Without a limit: ZeroMQ's thread, which everybody needs, would wait for us.
        self._pair.set(zmq.RCVHWM, 0)
        self._pair.connect(place)
        self._get: Callable[[int], Any] = Backend.get.__get__(self._pair)
        self._edge = Edge(self._pair, turn)

    @property
    def has_more(self) -> bool:
        """Whether there are events."""
        return not self._pair.closed and bool(self._get(_EVENTS_HERE) & _POLLIN)

    def take(self) -> list[tuple[LinkEvent, int]]:
        """Some events in order, with the descriptors of their connections at ACCEPTED and DISCONNECTED."""
        found: list[tuple[LinkEvent, int]] = []
        try:
            for _ in range(MOST):
                number, value = _EVENT.unpack(self._pair.recv(zmq.NOBLOCK))
                self._pair.recv(zmq.NOBLOCK)  # the address
                if (event := _EVENTS.get(number)) is not None:
                    found.append((event, value))
            self._edge.soon()
        except zmq.Again:
            pass
        return found

    def close(self) -> None:
        """Tell no more; to be called before the socket itself is closed."""
        self._edge.pause()
        self._watched.monitor(None, 0)
        self._pair.close()
