"""Who may connect: ZeroMQ asks before it lets a peer in, and we look whether we know its key (RFC 27).

    asked:     version | request id | domain | address | identity | mechanism | credentials...
    answered:  version | request id | status | reason | user id | metadata

ZeroMQ asks in one place of a context, so each socket that has a key list has a context of its own: a client's
key opens nothing on the workers' side. The key of who was let in comes with each of its messages (User-Id).
"""

from typing import Final

import zmq
from zmq.utils import z85

from framehub.runtime.curve import CurveServer
from framehub.runtime.zmq_edge import Edge

PLACE: Final = "inproc://zeromq.zap.01"
VERSION: Final = b"1.0"
MOST: Final = 64
"""Peers answered in one turn: proving a key costs them more than the answer costs us."""


class Doorkeeper:
    """Answers for all sockets of ``context``."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], curve: CurveServer) -> None:
        self._allowed = curve.allowed
        self._socket = context.socket(zmq.REP)
        self._socket.set(zmq.LINGER, 0)
        self._socket.bind(PLACE)
        self._edge = Edge(self._socket, self._turn)
        self.refused = 0
        """Peers that were not let in."""

    def close(self) -> None:
        """Answer no more."""
        self._edge.pause()
        self._socket.close()

    def _turn(self) -> bool:
        try:
            for _ in range(MOST):
                self._answer(self._socket.recv_multipart(zmq.NOBLOCK))
        except zmq.Again:
            return False
        return True

    def _answer(self, asked: list[bytes]) -> None:
        key = self._key(asked)
        verdict = (b"200", b"OK", key.encode()) if key else (b"400", b"not known here", b"")
        self.refused += not key
        request = asked[1] if len(asked) > 1 else b""
        self._socket.send_multipart([VERSION, request, *verdict, b""], zmq.NOBLOCK)

    def _key(self, asked: list[bytes]) -> str:
        """The key of a peer that is known here, or nothing."""
        if len(asked) != 7 or asked[0] != VERSION or asked[5] != b"CURVE" or len(asked[6]) != 32:
            return ""
        key = z85.encode(asked[6]).decode()
        return key if key in self._allowed else ""
