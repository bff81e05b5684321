"""Made-up traffic of a gateway: what its users do, as small stories (spec/journal.md, section 9).

A story is a generator: it records frames and yields how long it waits, in nanoseconds. A ``World`` runs
many at once in the order of their times, so they interleave as on real links. Everything comes from one
seeded generator of random numbers: the same seed gives the same rows.
"""

import heapq
from bisect import bisect
from collections.abc import Generator, Sequence
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from framehub.codes import Service
from framehub.hub import headers
from framehub.hub.headers import HubFrame, Way
from framehub.journal.hub_rows import HubRows
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.record import NO_ID, Row
from framehub.journal.rpc_rows import RpcRows, Side
from framehub.mfp import codec
from framehub.mfp.checksum import BY_FLAG, Checksums
from framehub.mfp.frames import Frame, ServiceFrame
from framehub.rpc import words
from framehub.rpc.texts import error_code

if TYPE_CHECKING:
    from framehub.journal.hub_traffic import HubService
    from framehub.journal.rpc_traffic import Worker

__all__ = ["IN", "OUT", "HubLink", "Link", "Story", "World"]

MS: Final = 1_000_000
SECOND: Final = 1000 * MS
START_NS: Final = 1_767_600_000 * SECOND
"""When the traffic begins: 5 January 2026, 08:00 UTC."""
USERS: Final = 400

Story: TypeAlias = Generator[int, None, None]

ENDPOINTS: Final = (
    # name, weight, median latency in ms
    ("chat", 30, 4.0),
    ("search", 20, 35.0),
    ("profile.get", 15, 6.0),
    ("cart.add", 12, 9.0),
    ("orders.list", 10, 22.0),
    ("resize", 6, 120.0),
    ("translate", 5, 260.0),
    ("report.build", 2, 900.0),
)
_MEDIAN_NS: Final = {name: median * MS for name, _, median in ENDPOINTS}
_ROOMS: Final = ("lobby", "support", "random", "backend", "music")
_WORDS: Final = (
    "a",
    "quick",
    "small",
    "red",
    "late",
    "new",
    "order",
    "train",
    "river",
    "paper",
    "lamp",
    "coat",
)


class Link:
    """One connection: who is on it, and the next id of each side."""

    def __init__(self, link: bytes, user: int, checksums: Checksums = BY_FLAG) -> None:
        self.link = link
        self.user = user
        self.checksums = checksums
        self.rows = LinkRows(link, user)
        self.running = 0
        """Stories that still need this link."""
        self.conversations = 0
        self._ids = [0, 0]

    def next_id(self, direction: int) -> int:
        """The next id of the side that sends this way."""
        self._ids[direction] += 1
        return self._ids[direction]

    def open_exchange(self) -> bytes:
        """The name of a new conversation."""
        self.conversations += 1
        return self.link + self.conversations.to_bytes(8, "big")


_CLIENT_WAYS: Final = (Way.CLIENT_TO_HUB, Way.HUB_TO_CLIENT)
_SERVICE_WAYS: Final = (Way.SERVICE_TO_HUB, Way.HUB_TO_SERVICE)


class HubLink:
    """One link of the hub: a client's or a service's."""

    def __init__(self, link: bytes, *, version: int, user: int = 0, is_service: bool = False) -> None:
        self.link = link
        self.version = version
        self.user = user
        self.rows = HubRows(link, version=version, user=user, is_service=is_service)
        self.ways = _SERVICE_WAYS if is_service else _CLIENT_WAYS
        """The way of what comes ``IN`` and of what goes ``OUT``."""
        self.running = 0
        """Stories that still need this link."""
        self.pings = 0


class Busy(Protocol):
    """Who takes part in stories: a link, a worker."""

    running: int


class HubIds:
    """The hub's own numbers of streams towards services."""

    def __init__(self) -> None:
        self._wide = count(2**20)
        self._narrow = 0

    def take(self, version: int) -> int:
        """One for a service of this version."""
        if version == 2:
            return next(self._wide)
        self._narrow = self._narrow % (2**20 - 1) + 1
        return self._narrow


class World:
    """The clock, the dice and the tape that all stories share."""

    def __init__(self, seed: int, start_ns: int = START_NS) -> None:
        self.dice = Random(seed)  # noqa: S311  (traffic, not secrets)
        self.now = self._start = start_ns
        self.tape: list[Row] = []
        self.seq = 0
        self.ending = False
        """No story begins another; those that wait for something to do come to their end."""
        self.visitors = 0
        """Browsers, callers and clients that may still want something of workers and services."""
        self.workers: list[Worker] = []
        self.services: list[HubService] = []
        self.hub_ids = HubIds()
        self.mfp_calls = count(1)
        """Ids of the queries that MFP connections ask."""
        self._rpc = RpcRows()
        self._heap: list[tuple[int, int, Story]] = []
        self._order = count()

    def tell(self, story: Story, *, after: int = 0) -> None:
        """Begin a story."""
        heapq.heappush(self._heap, (self.now + after, next(self._order), story))

    def step(self) -> None:
        """Let the story whose time has come go on to its next wait."""
        self.now, _, story = heapq.heappop(self._heap)
        for wait in story:
            heapq.heappush(self._heap, (self.now + wait, next(self._order), story))
            break

    @property
    def quiet(self) -> bool:
        """Whether all stories have come to their end."""
        return not self._heap

    def latency(self, endpoint: str) -> int:
        """How long an endpoint takes: most answers near the median, a few far beyond."""
        return int(_MEDIAN_NS[endpoint] * self.dice.lognormvariate(0.0, 0.5)) + 200_000

    def network(self) -> int:
        """How long a frame or its ack takes to come back from a browser."""
        return int(self.dice.lognormvariate(3.0, 0.4) * MS)

    def record(
        self,
        link: Link,
        direction: int,
        frame: Frame,
        exchange: bytes,
        *,
        endpoint: str | None = None,
        error: str | None = None,
    ) -> int:
        """Put one frame on the tape, as the gateway's tap does; its number in the journal."""
        raw = codec.encode(frame, link.checksums)
        row = link.rows.frame(self.at, direction, frame, raw, exchange, endpoint=endpoint, error=error)
        return self.put(row)

    def refused(self, link: Link, raw: bytes, reason: str) -> int:
        """Put bytes on the tape that were no lawful frame."""
        return self.put(link.rows.refused(self.at, raw, reason))

    def rpc(
        self,
        direction: int,
        side: Side,
        identity: bytes,
        parts: list[bytes],
        *,
        link: bytes | None = None,
        exchange: bytes = NO_ID,
        function: str | None = None,
        coder: str | None = None,
        parent: bytes = NO_ID,
    ) -> int:
        """Put one message of functions on the tape, as the proxy's tap does; its number in the journal.

        ``link`` is for a client that is a connection of another protocol.
        """
        error: str | None = None
        if parts[0] == words.RESPONSE_EXCEPTION:
            error = error_code(parts[2])
        elif parts[0] == words.RESPONSE_UNKNOWN_FUNCTION:
            error = "unknown_function"
        # fmt: off
        return self.put(self._rpc.row(
            self.at, direction, identity, parts, link=link or self._rpc.link_of(side, identity),
            exchange=exchange, function=function, coder=coder, parent=parent, error=error,
        ))
        # fmt: on

    def rpc_refused(self, side: Side, identity: bytes, parts: list[bytes], reason: str) -> int:
        """Put a message on the tape that was not lawful, or not taken."""
        link = self._rpc.link_of(side, identity)
        return self.put(self._rpc.refused(self.at, identity, parts, reason, link))

    def hub(
        self, link: HubLink, direction: int, frame: HubFrame, exchange: bytes = NO_ID, **labels: Any
    ) -> int:
        """Put one frame of the hub on the tape; ``labels`` as ``HubRows.frame`` takes them."""
        raw = headers.encode(frame, link.version, link.ways[direction])
        return self.put(link.rows.frame(self.at, direction, frame, raw, exchange, **labels))

    def hub_refused(self, link: HubLink, raw: bytes, reason: str) -> int:
        """Put bytes on the tape that were no frame of the hub."""
        return self.put(link.rows.refused(self.at, raw, reason))

    def opened(self, link: Link | HubLink) -> int:
        """Put a link's coming on the tape."""
        return self.put(link.rows.opened(self.at))

    def closed(self, link: Link | HubLink, code: int = -1, reason: str = "") -> int:
        """Put a link's going on the tape; a service's has no close code."""
        return self.put(link.rows.closed(self.at, code, reason))

    def put(self, row: Row) -> int:
        """Put a row on the tape; its number in the journal."""
        self.tape.append(row)
        self.seq += 1
        return self.seq

    @property
    def at(self) -> tuple[int, int]:
        """Wall clock and monotonic clock."""
        return self.now, self.now - self._start + SECOND


_T = TypeVar("_T")


def pick(dice: Random, things: Sequence[_T], sums: Sequence[int]) -> _T:
    """One of these by weight; ``sums`` are those of the weights so far."""
    return things[bisect(sums, dice.random() * sums[-1])]


def counted(story: Story, *parties: Busy) -> Story:
    """The story, and for as long as it goes on, all who take part have it running."""
    for party in parties:
        party.running += 1
    return _counted(story, parties)


def _counted(story: Story, parties: tuple[Busy, ...]) -> Story:
    yield from story
    for party in parties:
        party.running -= 1


def service(world: World, link: Link, direction: int, code: Service, ref: int, exchange: bytes) -> None:
    """Record an ack, timeout, abort or unknown about a frame of the other side."""
    frame = ServiceFrame(id=link.next_id(direction), code=code, ref=ref)
    world.record(link, direction, frame, exchange)


def asked(dice: Random, endpoint: str, user: int) -> dict[str, Any]:
    """What a user sends to an endpoint."""
    if endpoint == "chat":
        return {"text": " ".join(dice.choices(_WORDS, k=dice.randint(3, 14))), "room": dice.choice(_ROOMS)}
    if endpoint in ("search", "translate"):
        return {"query": " ".join(dice.choices(_WORDS, k=3)), "limit": dice.choice((10, 20, 50))}
    if endpoint == "cart.add":
        return {"item": dice.randint(1, 5000), "quantity": dice.randint(1, 4), "user": user}
    return {"user": user, "page": dice.randint(1, 9)}
