"""What a seed decides before anything happens: who is there, the links, the limits, and what goes wrong."""

from dataclasses import dataclass
from random import Random
from typing import Final

from framehub.hub.settings import HubSettings
from tests.simulation.hub import wire

TROUBLES: Final = (
    "cut a client", "half-open client", "slow client", "stalled client", "forging client", "flooding client",
    "goodbye of a client", "client configures again", "cut a service", "half-open service", "slow service",
    "stop a service", "kill a service", "forging service", "stranger", "service configures again",
    "service says goodbye", "service changes its version", "flooding service", "restart the hub",
    "stop the hub", "drain the hub", "fail in the hub", "numbers go round",
)  # fmt: skip
"""All that can go wrong. A world has a few of them, so that what none of them allows is noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One world."""

    clients: int
    services: int
    numbers: int
    """Services have this many different numbers."""
    streams: int
    span: float
    """Seconds in which streams are opened and things go wrong."""
    delay: float
    """Seconds on the wire, on average."""
    batch: float
    """Seconds for which the hub gathers what it has to say."""
    soft: int
    """Bytes on their way to a client beyond which its link is full."""
    stops_reading: bool
    """A client whose link is full is not read."""
    ends_wait: bool
    """Ends of streams wait like all else for a client that is behind; else they go at once."""
    jitter: float
    """How likely a look at the clock comes late."""
    sizes: tuple[int, ...]
    """How much larger than nothing bodies are."""
    troubles: tuple[str, ...]
    gap: float
    """Seconds between two troubles, on average."""
    first_v1: int
    first_v2: int
    """Where the hub begins to count."""
    settings: HubSettings


def draw(rng: Random, troubles: tuple[str, ...] | None = None) -> Plan:
    """A plan; ``troubles`` in place of those that it would have."""
    some = rng.choice((0, 1, 1, 2, 2, 3, 3, 5, len(TROUBLES)))
    drawn = tuple(rng.sample(TROUBLES, some)) + rng.choice(((), (), (), ("slow service",)))
    strict = rng.random() < 0.22
    behind = rng.random() < 0.4
    few = rng.random() < 0.2
    return Plan(
        clients=rng.randint(1, 6),
        services=rng.randint(1, 5),
        numbers=rng.randint(1, 3),
        streams=rng.choice((90, 190, 260, 320)),
        span=rng.choice((3.0, 8.0, 8.0, 20.0)),
        delay=rng.choice((0.0002, 0.005, 0.1)),
        batch=rng.choice((0.0, 0.0, 0.002, 0.05)),
        soft=rng.choice((400, 2_000)) if behind else 1 << 18,
        stops_reading=rng.random() < 0.5,
        ends_wait=rng.random() < 0.5,
        jitter=rng.choice((0.0, 0.2)),
        sizes=rng.choice(((0,), (0, 0, 40), (0, 0, 0, 100, 700))),
        troubles=drawn if troubles is None else troubles,
        gap=rng.choice((0.2, 1.0, 3.0)),
        first_v1=wire.LAST_V1 - rng.choice((5, 20)) if rng.random() < 0.15 else 1,
        first_v2=wire.LAST_V2 - 10 if rng.random() < 0.2 else 1 << 20,
        settings=HubSettings(
            timeout=rng.choice((2.0, 3.0)),
            least_timeout=rng.choice((0.5, 1.0)),
            most_timeout=rng.choice((4.0, 6.0)),
            max_streams=rng.choice((2, 5)) if strict else 256,
            max_opens=rng.choice((2, 10)) if strict else 200,
            opens_burst=rng.choice((4, 20)) if strict else 400,
            max_used=rng.choice((1, 3, 20)) if strict else 4_096,
            max_strikes=rng.choice((1, 4, 16)),
            max_cancels=rng.choice((2, 10)) if strict else 100,
            max_pings=rng.choice((2, 100)),
            heartbeat=rng.choice((0.5, 1.0)),
            dead_after=rng.choice((3.0, 5.0)),
            client_ping=rng.choice((1.5, 5.0)),
            max_services=rng.choice((3, 4)) if few else 4_096,
            max_service_streams=rng.choice((2, 6)) if few else 16_384,
            max_interface_bytes=rng.choice((200, 1 << 18)),
            held_bytes=rng.choice((600, 3_000)) if behind else 1 << 22,
            held_bytes_client=rng.choice((1_500, 8_000)) if behind else 1 << 24,
            held_bytes_in_all=rng.choice((1_000, 4_000, 1 << 28, 1 << 28)) if behind else 1 << 28,
            pause_bytes=rng.choice((200, 1_000)) if rng.random() < 0.6 else 1 << 18,
            busy_after=rng.choice((0.5, 2.0)),
            quarantine=rng.choice((1.0, 5.0)),
        ),
    )
