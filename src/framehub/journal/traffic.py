"""Made-up traffic of a gateway: what its users do, as small stories (spec/journal.md, section 9).

A story is a generator: it records frames and yields how long it waits, in nanoseconds. A ``World`` runs
many at once in the order of their times, so they interleave as on real links. Everything comes from one
seeded generator of random numbers: the same seed gives the same rows.
"""

import heapq
from collections.abc import Generator
from itertools import count
from random import Random
from typing import Any, Final, TypeAlias

from framehub.codes import Service
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.record import Row
from framehub.mfp import codec
from framehub.mfp.frames import Frame, ServiceFrame

__all__ = ["IN", "OUT", "Link", "Story", "World"]

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

    def __init__(self, link: bytes, user: int) -> None:
        self.link = link
        self.user = user
        self.rows = LinkRows(link, user)
        self.running = 0
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


class World:
    """The clock, the dice and the tape that all stories share."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)  # noqa: S311  (traffic, not secrets)
        self.now = START_NS
        self.tape: list[Row] = []
        self.seq = 0
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
        raw = codec.encode(frame)
        row = link.rows.frame(self.at, direction, frame, raw, exchange, endpoint=endpoint, error=error)
        return self.put(row)

    def refused(self, link: Link, raw: bytes, reason: str) -> int:
        """Put bytes on the tape that were no lawful frame."""
        return self.put(link.rows.refused(self.at, raw, reason))

    def opened(self, link: Link) -> int:
        """Put a link's coming on the tape."""
        return self.put(link.rows.opened(self.at))

    def closed(self, link: Link, code: int, reason: str) -> int:
        """Put a link's going on the tape."""
        return self.put(link.rows.closed(self.at, code, reason))

    def put(self, row: Row) -> int:
        """Put a row on the tape; its number in the journal."""
        self.tape.append(row)
        self.seq += 1
        return self.seq

    @property
    def at(self) -> tuple[int, int]:
        """Wall clock and monotonic clock."""
        return self.now, self.now - START_NS + SECOND


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
