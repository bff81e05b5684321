"""Who is at the hub: clients, instances of services, and the streams between them. Pure.

They only keep; what happens to them is in ``switch`` and its parts.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from framehub.hub.conduct import Conduct
from framehub.hub.used import UsedNumbers

NEVER: Final = -1.0e18

Waiting: TypeAlias = "deque[tuple[bytes, Stream]]"
"""Frames of one stream that wait for its client."""
Entry: TypeAlias = "tuple[bytes, Stream | None, float]"
"""A frame that waits for a service: the bytes, the stream, since when."""


class Client:
    """One client: a WebSocket, or somebody inside the gateway."""

    __slots__ = (
        "closed_at", "conduct", "heard", "held", "held_bytes", "is_full", "is_gone", "is_leaving",
        "is_paused", "link", "owner", "pinged", "refusal", "streams", "timeout", "used", "user",
        "version", "waiting_bytes",
    )  # fmt: skip

    def __init__(self, link: bytes, version: int, user: int, owner: object, now: float) -> None:
        self.link = link
        """Its name in the journal."""
        self.version = version
        self.user = user
        self.owner = owner
        """Whose it is outside; not looked at here."""
        self.refusal: Callable[[float], str] | None = None
        """Why its user may open no stream now, where users have limits; empty: it may."""
        self.streams: dict[int, Stream] = {}
        self.used = UsedNumbers()
        self.timeout = 0.0
        """Seconds that its streams may be silent, where it said so."""
        self.heard = now
        self.pinged = NEVER
        self.closed_at = NEVER
        """When a stream of its last ended, or was refused."""
        self.is_full = False
        """Whether its link takes no more frames for now; the owner says so."""
        self.held: dict[int, Waiting] = {}
        """What waits for its link, by stream."""
        self.held_bytes = 0
        self.waiting_bytes = 0
        """What of its own waits for services."""
        self.is_paused = False
        self.is_leaving = False
        """Its connection is to be closed, or is: nothing is taken from it."""
        self.is_gone = False
        self.conduct: Conduct | None = None
        """How it behaves; made when first asked."""


class Instance:
    """One service at the hub's ROUTER. Several may offer the same number."""

    __slots__ = (
        "asked", "asked_epoch", "complained", "epoch", "functions", "has_husks", "heard", "held", "identity",
        "interface", "is_gone", "is_leaving", "name", "number", "pinged", "streams", "stuck_since", "timeout",
        "told", "version",
    )  # fmt: skip

    def __init__(self, identity: bytes, version: int, now: float) -> None:
        self.identity = identity
        self.version = version
        self.number = -1
        """The service that it offers; -1 before its configuration."""
        self.name = ""
        self.functions: Mapping[str, int] = {}
        """Numbers of functions by name, where its interface names them."""
        self.interface = b""
        self.timeout = 0.0
        """Seconds that its streams may be silent, where it said so."""
        self.streams: dict[int, Stream] = {}
        self.heard = now
        self.pinged = NEVER
        self.asked = b""
        """What it was last asked with for a sign of life."""
        self.asked_epoch = 0
        """How many disconnections had been seen then."""
        self.epoch = 0
        """How many disconnections had been seen when it was surely still there."""
        self.is_leaving = False
        """It said goodbye: it gets no new streams."""
        self.is_gone = False
        self.held: deque[Entry] = deque()
        """What waits for it, the oldest first."""
        self.has_husks = False
        """Whether some of that is of streams that are over."""
        self.stuck_since = NEVER
        """Since when it takes nothing."""
        self.complained = NEVER
        """When it was last told of a frame that is about no stream."""
        self.told: dict[int, float] = {}
        """Streams that it was told are not there, and when."""

    def label(self, number: int) -> str:
        """What its function of this number is called: ``name.function``, as far as these have names."""
        named = (name for name, known in self.functions.items() if known == number)
        return ".".join((self.name or str(self.number), *named))

    @property
    def is_stuck(self) -> bool:
        """Whether something waits for it."""
        return self.stuck_since is not NEVER


class Stream:
    """A conversation between one client and one instance."""

    __slots__ = (
        "answered", "client", "function", "held_bytes", "hub_id", "id", "instance", "is_cut", "is_done",
        "is_gapped", "is_over", "last", "name", "opened", "place", "service", "timeout", "to_client",
        "to_service", "unanswered", "waiting_bytes",
    )  # fmt: skip

    def __init__(
        self,
        client: Client,
        instance: Instance | None,
        id_: int,
        hub_id: int,
        service: int,
        function: int,
        timeout: float,
        now: float,
    ) -> None:
        self.client = client
        self.instance = instance
        """None: the hub itself answered."""
        self.id = id_
        """The client's number."""
        self.hub_id = hub_id
        """The hub's number, towards the service."""
        self.service = service
        self.function = function
        self.name = instance.name if instance else ""
        """The service's."""
        self.timeout = timeout
        self.opened = now
        self.last = now
        """When a frame last moved."""
        self.unanswered: float | None = now
        """Since when a frame of the client's has no answer."""
        self.answered = False
        """Whether the service ever said something."""
        self.is_done = False
        """The client has sent its last frame."""
        self.is_over = False
        self.is_cut = False
        """Killed or closed: of what was said before, nothing is sent any more."""
        self.is_gapped = False
        """Over, and something is not sent to its service: so nothing else is that was said before the end."""
        self.held_bytes = 0
        self.waiting_bytes = 0
        self.place = 0
        # Between two links of version 2 only the number changes.
        both = client.version == 2 and instance is not None and instance.version == 2
        self.to_service = hub_id.to_bytes(4, "big") if both else b""
        self.to_client = id_.to_bytes(4, "big") if both else b""

    @property
    def deadline(self) -> float:
        """When it has been silent for too long."""
        return (self.last if self.unanswered is None else self.unanswered) + self.timeout
