"""Who is at the hub, as far as can be seen at the links: what the ledger keeps of each."""

from collections import deque
from math import inf
from typing import Any, Final

from framehub.hub.settings import HubSettings

Frame = tuple[int, int, bytes]
"""State, parameter, and what follows the header."""

CLOSED: Final = 100
LASTED: Final = 101
"""Why a stream is over, besides the codes of errors: it was closed; its service sent the last frame."""


class Caller:
    """One connection of a client."""

    __slots__ = (
        "cancels", "closed_at", "closes_with", "closing", "excused", "full", "gone", "heard", "held", "left",
        "left_at", "name", "notices", "open", "paused", "pending", "pinged", "pings", "refusals", "runs",
        "strikes", "talks", "timeout", "turns", "used", "user", "version", "waiting",
    )  # fmt: skip

    def __init__(self, name: str, version: int, user: int, settings: HubSettings, now: float) -> None:
        self.name = name
        self.version = version
        self.user = user
        self.talks: dict[int, Talk] = {}
        """Every stream that it ever opened, by its number."""
        self.open = 0
        self.used: set[int] = set()
        self.runs = 0
        """Ranges of used numbers."""
        self.timeout = 0.0
        self.heard = self.excused = self.left_at = now
        self.pinged = self.closed_at = -inf
        self.left = float(settings.opens_burst)
        """Streams that it may still open at once."""
        self.strikes: deque[float] = deque()
        self.cancels: deque[float] = deque()
        self.pings: deque[float] = deque()
        self.refusals: dict[int, list[int]] = {}
        """Errors that it is to be told, by stream."""
        self.notices: deque[tuple[bytes, bool]] = deque()
        """What it is to be told on stream 0, in this order; the whole frame, or how it begins."""
        self.pending = 0
        """Frames that it is to get and has not got."""
        self.closes_with = 0
        """The code with which its connection is to be closed."""
        self.closing = False
        """Nothing is taken from it any more."""
        self.gone = False
        self.full = False
        self.paused = False
        self.held = 0
        """Bytes that wait for its link."""
        self.turns: dict[Talk, None] = {}
        """Streams on which something waits, whose turn is first in front."""
        self.waiting = 0
        """Bytes of its own that wait for services."""

    def __repr__(self) -> str:
        return self.name

    def use(self, number: int) -> None:
        """This number has been used for a stream."""
        self.runs += 1 - (number - 1 in self.used) - (number + 1 in self.used)
        self.used.add(number)

    def owe(self, number: int, code: int) -> None:
        """It is to be told this error on this stream."""
        self.pending += 1
        self.refusals.setdefault(number, []).append(code)

    def hears(self, number: int, code: int) -> bool:
        """It is told; false if it was not to be."""
        owed = self.refusals.get(number)
        if owed is None or code not in owed:
            return False
        owed.remove(code)
        self.pending -= 1
        if not owed:
            del self.refusals[number]
        return True


class Server:
    """One life of a service at the ROUTER, from its first word to when the hub knows that it is gone."""

    __slots__ = (
        "asked", "asked_epoch", "blocked_at", "came", "complained", "epoch", "heard", "identity",
        "instance", "interface", "is_broken", "leaving", "load", "maybe", "number", "owed", "pending",
        "pinged", "stale", "sure", "talks", "timeout", "told", "version", "waited",
    )  # fmt: skip

    def __init__(self, identity: bytes, now: float) -> None:
        self.identity = identity
        self.version = 2
        self.number = -1
        """-1 before its configuration."""
        self.interface = b""
        self.timeout = 0.0
        self.epoch = 0
        self.heard = self.came = now
        self.asked = b""
        """The body of the last PING to it."""
        self.asked_epoch = 0
        """Disconnections that the hub knew of when it sent that."""
        self.is_broken = False
        """Its connection has ended since it was configured."""
        self.pinged = self.complained = self.blocked_at = -inf
        self.leaving = False
        self.talks: dict[int, Talk] = {}
        """By the hub's number: open ones, and those of whose end it is to be told."""
        self.load = 0
        self.owed: list[tuple[bytes, bool]] = []
        """Answers that it is to get; whether that is the whole frame or its beginning."""
        self.sure: list[tuple[bytes, bool]] = []
        """Those that it is to get even if it does not read now."""
        self.stale: set[int] = set()
        """Streams of before it began anew; it may still hear of their ends."""
        self.waited = 0
        """Frames that had to wait since it began."""
        self.maybe: list[tuple[bytes, bool]] = []
        """Answers that it may get: it did not read at the time."""
        self.pending = 0
        self.told: dict[int, float] = {}
        self.instance: Any = None
        """The hub's own, once it has said that there is one."""

    def __repr__(self) -> str:
        return f"service {self.identity.hex()} ({self.number})"

    @property
    def behind(self) -> bool:
        """Whether frames wait for it."""
        return self.instance is not None and bool(self.instance.held)


class Talk:
    """One stream."""

    __slots__ = (
        "answered", "caller", "done", "down", "excused", "held", "hub_id", "id", "last", "owes_caller",
        "owes_server", "server", "timeout", "told", "unanswered", "up", "waiting", "waits", "why",
    )  # fmt: skip

    def __init__(
        self, caller: Caller, server: Server | None, id_: int, hub_id: int, timeout: float, now: float
    ) -> None:
        self.caller = caller
        self.server = server
        """None: the hub itself answered."""
        self.id = id_
        self.hub_id = hub_id
        self.timeout = timeout
        self.last = now
        self.unanswered: float | None = now
        self.answered = False
        self.done = False
        self.why: int | None = None
        """Why it is over; None while it is open."""
        self.up: deque[Frame] = deque()
        """What the service is to get."""
        self.down: deque[Frame] = deque()
        """What the client is to get."""
        self.owes_caller = False
        """The client is to be told of its end."""
        self.owes_server = False
        self.excused = False
        """The service need not be told: it began anew."""
        self.told = False
        """The client got its last frame of this."""
        self.held: deque[bytes] = deque()
        """Frames that wait for the client."""
        self.waiting = 0
        self.waits: deque[tuple[int, float]] = deque()
        """Frames that wait for the service: bytes, since when."""

    def __repr__(self) -> str:
        return f"stream {self.id} of {self.caller} ({self.hub_id} at {self.server}; over: {self.why})"

    @property
    def deadline(self) -> float:
        return (self.last if self.unanswered is None else self.unanswered) + self.timeout
