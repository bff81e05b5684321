"""WebSockets as the hub sees them: late, slow, cut, or silent without anybody being told."""

from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from tests.simulation.hub.people import Caller

if TYPE_CHECKING:
    from collections import deque

    from framehub.hub.parties import Client
    from tests.simulation.hub.house import House


class Peer(Protocol):
    """Whoever is at the other end."""

    def hears(self, socket: "Socket", data: bytes) -> None: ...

    def lost(self, socket: "Socket") -> None: ...


class Socket:
    """One WebSocket. Each direction keeps its order."""

    __slots__ = (
        "_buffered", "_down_until", "_last_down", "_last_up", "_rate", "_time", "_up_until", "caller",
        "closed", "delay", "handle", "house", "inbox", "is_hung", "peer", "soft",
    )  # fmt: skip

    def __init__(self, house: "House", peer: Peer, *, delay: float, soft: int) -> None:
        self.house = house
        self.peer = peer
        self.delay = delay
        self.soft = soft
        """Bytes on their way to the client beyond which it is too slow."""
        self.caller: Caller
        self.handle: Client
        self.inbox: deque[bytes]
        """What has arrived and is not read."""
        self.closed = False
        self.is_hung = False
        self._time: Any = house.time
        self._up_until = self._down_until = inf
        """What would arrive later than this is lost."""
        self._last_up = self._last_down = 0.0
        self._buffered = 0
        self._rate = inf

    def __repr__(self) -> str:
        return repr(self.caller)

    # --- from the client -------------------------------------------------------------------------------

    def up(self, data: bytes) -> None:
        """The client sends something."""
        time = self._time
        arrives = max(self._last_up, time.now + time.rng.random() * self.delay)
        self._last_up = arrives
        if arrives <= self._up_until:
            time.at(arrives, self.house.arrives, self, data)

    # --- from the hub ----------------------------------------------------------------------------------

    def down(self, data: bytes) -> None:
        """The hub sends something."""
        time, size = self._time, len(data)
        arrives = max(self._last_down, time.now + time.rng.random() * self.delay) + size / self._rate
        self._last_down = arrives
        self._buffered += size
        if self._buffered > self.soft and not self.handle.is_full:
            self.house.link_full(self)
        if arrives <= self._down_until:
            time.at(arrives, self._arrives, data)

    def _arrives(self, data: bytes) -> None:
        if self._time.now > self._down_until:
            return
        self._buffered -= len(data)
        self.peer.hears(self, data)
        if self.handle.is_full and self._buffered <= self.soft // 2:
            self.house.do(self.house.link_ready, self)

    def stall(self, seconds: float) -> None:
        """The client reads nothing for so long."""
        self._last_down = max(self._last_down, self._time.now + seconds)

    def slow_down(self, rate: float) -> None:
        """The client reads so many bytes in a second from now on."""
        self._rate = rate

    # --- ends ------------------------------------------------------------------------------------------

    def cut(self, *, hub: float, client: float) -> None:
        """The connection is reset; each side notices so much later."""
        time = self._time
        self._doom(time.now + time.rng.random() * self.delay)
        time.at(time.now + hub, self.house.do, self.house.lost, self)
        time.at(time.now + client, self.peer.lost, self)

    def hang(self, *, client: float, tcp: float) -> None:
        """Nothing arrives any more. The client notices after a while; so does TCP in the end."""
        self.is_hung = True
        self._doom(self._time.now)
        if client < inf:
            self._time.at(self._time.now + client, self.peer.lost, self)
        self._time.at(self._time.now + tcp, self.house.do, self.house.lost, self)

    def close(self, after: float) -> None:
        """The hub closes it: nothing more is said here. It is gone soon."""
        time = self._time
        self.closed = True
        time.at(time.now + after, self.house.do, self.house.lost, self)
        if not self.is_hung:
            time.at(max(self._last_down, time.now + after), self.peer.lost, self)

    def _doom(self, until: float) -> None:
        self._up_until = min(self._up_until, until)
        self._down_until = min(self._down_until, until)
