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
from framehub.journal.record import FIXED, KIND_NUMBER, NO_ID, Row
from framehub.mfp import codec
from framehub.mfp.frames import (
    BinaryFrame,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)

IN: Final = 0
OUT: Final = 1
MS: Final = 1_000_000
SECOND: Final = 1000 * MS
START_NS: Final = 1_767_600_000 * SECOND
"""When the traffic begins: 5 January 2026, 08:00 UTC."""
USERS: Final = 400
_FULL: Final = 0
_OFF: Final = 2
_KIND: Final = {
    ServiceFrame: KIND_NUMBER["service"],
    MessageFrame: KIND_NUMBER["message"],
    RequestFrame: KIND_NUMBER["request"],
    BinaryFrame: KIND_NUMBER["binary"],
    ResponseFrame: KIND_NUMBER["response"],
}

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
    ) -> None:
        """Put one frame on the tape, as the gateway's tap does."""
        raw = codec.encode(frame)
        ref = key = code = at = size = files = -1
        if isinstance(frame, ServiceFrame):
            ref, code = frame.ref, frame.code
        elif isinstance(frame, BinaryFrame):
            ref, key = frame.ref, -1 if frame.key is None else frame.key
        else:
            ref = frame.ref if isinstance(frame, ResponseFrame) else -1
            files = len(frame.files) or (len(frame.expected) if isinstance(frame, MessageFrame) else 0)
            if frame.payload:
                at = (9 if ref < 0 else 13) + (4 if files else 0)
                size = len(frame.payload)
        numbers = (raw[0], frame.id, ref, key, code, len(raw), at, size, files)
        fixed = self._fixed(link, direction, _KIND[type(frame)], numbers, exchange, _FULL)
        self.tape.append(Row(fixed, endpoint, None, error, None, raw))

    def refused(self, link: Link, raw: bytes, reason: str) -> None:
        """Put bytes on the tape that were no lawful frame."""
        numbers = (raw[0], -1, -1, -1, -1, len(raw), -1, -1, -1)
        fixed = self._fixed(link, IN, KIND_NUMBER["refused"], numbers, NO_ID, _FULL)
        self.tape.append(Row(fixed, None, None, None, reason, raw))

    def link_row(self, link: Link, kind: str, *, code: int = -1, reason: str | None = None) -> None:
        """Put a link's coming or going on the tape."""
        numbers = (-1, -1, -1, -1, code, 0, -1, -1, -1)
        fixed = self._fixed(link, IN, KIND_NUMBER[kind], numbers, NO_ID, _OFF)
        self.tape.append(Row(fixed, None, None, reason))

    def _fixed(
        self,
        link: Link,
        direction: int,
        kind: int,
        numbers: tuple[int, ...],
        exchange: bytes,
        recorded: int,
    ) -> bytes:
        who = (self.now, self.now - START_NS + SECOND, link.link, 0, 1, direction, link.user, -1, -1, kind)
        return FIXED.pack(*who, *numbers, exchange, NO_ID, recorded)


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
