"""ZeroMQ as the machines see it: DEALERs that connect to a ROUTER, connections that are cut or hang.

A connection keeps the order. When it is cut, what was on its way is lost from some point on, in each
direction; what a DEALER could not send yet waits and goes first over the next connection. While the ROUTER
still believes in the old connection of an identity, a new one of that identity is not heard, ever
(HANDOVER=0): only another one, made when the old one is gone, is.
"""

from collections.abc import Callable
from enum import Enum, auto
from math import inf
from random import Random
from typing import Any, Protocol

Parts = list[bytes]


class Sent(Enum):
    """What became of a message that the ROUTER was to send."""

    OK = auto()
    UNREACHABLE = auto()
    BLOCKED = auto()


class Timeline(Protocol):
    """Where things happen later."""

    now: float
    rng: Random

    def at(self, time: float, what: Callable[..., None], *about: Any) -> None: ...


class Peer(Protocol):
    """Whoever has a DEALER."""

    def hears(self, parts: Parts) -> None: ...

    def is_connected(self) -> None: ...


class Conn:
    """One TCP connection."""

    __slots__ = (
        "blocked_until",
        "down_until",
        "heard",
        "identity",
        "last_down",
        "last_up",
        "link",
        "up_until",
    )

    def __init__(self, link: "Link", identity: bytes) -> None:
        self.link = link
        self.identity = identity
        self.up_until = inf
        """What would arrive at the ROUTER later than this is lost."""
        self.down_until = inf
        self.last_up = 0.0
        self.last_down = 0.0
        self.blocked_until = 0.0
        self.heard = False
        """The ROUTER takes its messages."""


class Router:
    """The proxy's socket on one side."""

    def __init__(
        self, time: Timeline, delay: float, hears: Callable[[bytes, Parts], None], left: Callable[[], None]
    ) -> None:
        self.time = time
        self.delay = delay
        self.routes: dict[bytes, Conn] = {}
        self.is_open = True
        self._hears = hears
        self._left = left

    def send(self, identity: bytes, parts: Parts) -> Sent:
        conn = self.routes.get(identity)
        if conn is None:
            return Sent.UNREACHABLE
        time = self.time
        if conn.blocked_until > time.now:
            return Sent.BLOCKED
        arrives = max(conn.last_down, time.now + time.rng.random() * self.delay)
        conn.last_down = arrives
        if arrives <= conn.down_until:
            time.at(arrives, self._arrives_down, conn, parts)
        return Sent.OK

    def close(self) -> None:
        """The process is gone: nothing of what was on its way to it is read."""
        self.is_open = False
        for conn in list(self.routes.values()):
            conn.link.lost(conn)
        self.routes.clear()

    def accept(self, conn: Conn) -> None:
        conn.heard = conn.identity not in self.routes
        if conn.heard:
            self.routes[conn.identity] = conn

    def forget(self, conn: Conn) -> None:
        """The ROUTER notices that a connection is gone."""
        if self.routes.get(conn.identity) is conn:
            del self.routes[conn.identity]
            self._left()

    def arrives_up(self, conn: Conn, parts: Parts) -> None:
        if self.is_open and self.time.now <= conn.up_until:
            self._hears(conn.identity, parts)

    def _arrives_down(self, conn: Conn, parts: Parts) -> None:
        if self.time.now <= conn.down_until and conn.link.is_open:
            conn.link.peer.hears(parts)


class Link:
    """A DEALER, with the connection that it has now, if any."""

    def __init__(
        self, time: Timeline, peer: Peer, router: Callable[[], Router], name: Callable[[], bytes]
    ) -> None:
        """``name`` gives the identity for each new connection."""
        self.peer = peer
        self.conn: Conn | None = None
        self.is_open = True
        self._time = time
        self._router = router
        self._name = name
        self._waiting: list[Parts] = []
        self._attempt = 0

    @property
    def was_never_cut(self) -> bool:
        """It has the connection that it made first, and that one works."""
        return self._attempt == 1 and self.conn is not None and self.conn.up_until == inf

    def send(self, parts: Parts) -> None:
        conn = self.conn
        if conn is None:
            self._waiting.append(parts)
            return
        router, time = self._router(), self._time
        arrives = max(conn.last_up, time.now + time.rng.random() * router.delay)
        conn.last_up = arrives
        if conn.heard and arrives <= conn.up_until:
            time.at(arrives, router.arrives_up, conn, parts)

    def dial(self, after: float) -> None:
        """Connect, after so many seconds; an attempt that was begun before is given up."""
        self._attempt += 1
        self._time.at(self._time.now + after, self._dialled, self._attempt)

    def cut(self, *, notice: float, back: float) -> None:
        """The connection is reset. The ROUTER notices so much later; the DEALER is back after so long."""
        conn = self.conn
        if conn is not None:
            self._doom(conn, self._time.now + self._time.rng.random() * 2 * self._router().delay)
            self._time.at(self._time.now + notice, self._router().forget, conn)
            self.conn = None
        self.dial(back)

    def hang(self, *, notice: float, back: float) -> None:
        """Nothing arrives any more, and nobody is told; each side notices for itself, or never."""
        conn = self.conn
        if conn is None:
            return
        self._doom(conn, self._time.now)
        self._time.at(self._time.now + notice, self._router().forget, conn)
        if back < inf:
            self._time.at(self._time.now + back, self._hung, conn)

    def renew(self) -> None:
        """A new socket in place of this one; what waited in the old one is lost."""
        self._waiting.clear()
        self.cut(notice=self._close_notice(), back=0.02)

    def close(self, *, notice: float) -> None:
        """The process ends."""
        self.cut(notice=notice, back=inf)
        self.is_open = False

    def lost(self, conn: Conn) -> None:
        """The ROUTER's process is gone."""
        self._doom(conn, self._time.now)
        if self.conn is conn:
            self.conn = None
            self.dial(0.05 + 0.5 * self._time.rng.random())

    def block(self, seconds: float) -> None:
        """The ROUTER cannot send anything more, for a while."""
        if self.conn is not None:
            self.conn.blocked_until = self._time.now + seconds

    def _close_notice(self) -> float:
        conn = self.conn
        # The end of a connection that hangs does not arrive either: the ROUTER notices in its own time.
        return 0.01 if conn is None or conn.up_until == inf else inf

    def _doom(self, conn: Conn, until: float) -> None:
        conn.up_until = min(conn.up_until, until)
        conn.down_until = min(conn.down_until, until)

    def _hung(self, conn: Conn) -> None:
        if self.conn is conn:
            self.conn = None
            self.dial(0.0)

    def _dialled(self, attempt: int) -> None:
        if attempt != self._attempt or not self.is_open:
            return
        router, time = self._router(), self._time
        if not router.is_open:
            self.dial(0.1 + 0.4 * time.rng.random())
            return
        conn = self.conn = Conn(self, self._name())
        router.accept(conn)
        waiting, self._waiting = self._waiting, []
        for parts in waiting:
            self.send(parts)
        time.at(time.now + time.rng.random() * 0.02, self._told, conn)

    def _told(self, conn: Conn) -> None:
        if self.conn is conn and self.is_open:
            self.peer.is_connected()
