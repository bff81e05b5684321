"""What happens to the connections of a ZeroMQ socket: made, refused, lost."""

import struct
from collections.abc import Callable
from enum import Enum, auto
from itertools import count
from typing import Final

import zmq

from framehub.runtime.zmq_edge import Edge

MOST: Final = 256
"""Events taken in one turn."""
_EVENT: Final = struct.Struct("=HI")
_numbers = count(1)


class LinkEvent(Enum):
    """Of one connection; ZeroMQ does not say whose."""

    CONNECTED = auto()
    """Its handshake is done: messages can be exchanged."""
    DISCONNECTED = auto()
    """It ended, also if it never was connected."""
    REFUSED = auto()
    """Its handshake failed: wrong keys, or not what we speak."""


_EVENTS: Final = {
    int(zmq.EVENT_HANDSHAKE_SUCCEEDED): LinkEvent.CONNECTED,
    int(zmq.EVENT_DISCONNECTED): LinkEvent.DISCONNECTED,
    int(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL): LinkEvent.REFUSED,
    int(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL): LinkEvent.REFUSED,
    int(zmq.EVENT_HANDSHAKE_FAILED_AUTH): LinkEvent.REFUSED,
}


class Monitor:
    """Tells of the connections of ``socket``: those of one turn that are alike and in a row, once."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        socket: zmq.Socket[bytes],
        on: Callable[[LinkEvent], None],
    ) -> None:
        self._watched = socket
        self._on = on
        place = f"inproc://framehub.monitor.{next(_numbers)}"
        socket.monitor(place, sum(_EVENTS))
        self._pair = context.socket(zmq.PAIR)
        self._pair.set(zmq.LINGER, 0)
        # Without a limit: ZeroMQ's thread, which everybody needs, would wait for us.
        self._pair.set(zmq.RCVHWM, 0)
        self._pair.connect(place)
        self._edge = Edge(self._pair, self._turn)

    def close(self) -> None:
        """Tell no more; to be called before the socket itself is closed."""
        self._edge.pause()
        self._watched.monitor(None, 0)
        self._pair.close()

    def _turn(self) -> bool:
        found: list[LinkEvent] = []
        is_empty = False
        try:
            for _ in range(MOST):
                number, _value = _EVENT.unpack(self._pair.recv(zmq.NOBLOCK))
                self._pair.recv(zmq.NOBLOCK)  # the address
                event = _EVENTS.get(number)
                if event is not None and found[-1:] != [event]:
                    found.append(event)
        except zmq.Again:
            is_empty = True
        for event in found:
            if not self._pair.closed:  # by one of those who were told
                self._on(event)
        return not is_empty
