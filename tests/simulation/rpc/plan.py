"""What a seed decides before anything happens: who is there, the wire, the limits, and what goes wrong."""

from dataclasses import dataclass
from math import inf
from random import Random
from typing import Final

from framehub.rpc.settings import ClientSettings, ProxySettings, WorkerSettings

TROUBLES: Final = (
    "cut a client", "cut a worker", "half-open client", "half-open worker", "stop a client", "stop a worker",
    "stop the proxy", "kill a worker", "kill a child", "kill the proxy", "kill a client", "block a client",
    "block a worker", "drain a worker", "roll the workers", "conflicting worker", "forge", "malformed",
)  # fmt: skip
"""All that can go wrong. A world has a few of them, so that what none of them allows is noticed."""
HEALED: Final = 150.0
"""Seconds after the last trouble in which everything that was asked must be answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One world."""

    clients: int
    foreign_clients: int
    workers: int
    foreign_workers: int
    processes: int
    queries: int
    span: float
    """Seconds in which queries are asked and things go wrong."""
    delay: float
    """Seconds on the wire, on average."""
    troubles: tuple[str, ...]
    gap: float
    """Seconds between two troubles, on average."""
    hurry: float
    """The part of the queries that have a short timeout."""
    cancels: float
    """The part of the queries that are cancelled."""
    late_ticks: float
    """How likely a machine misses a tick."""
    crashes: float
    """How likely a dying proxy dies between writing down and sending."""
    grouped: float
    """The part of the queries that belong to a group; others ask some of them again."""
    limit: int
    """Queries of the group that may run at a time; zero for any number."""
    tight: bool
    """Answers are kept within so few bytes that some are forgotten before they are acknowledged."""
    proxy: ProxySettings
    client: ClientSettings
    worker: WorkerSettings


WAITS = {1: 1.0, 2: 10.0}
"""What the proxy lets queries wait, by the number of clients; else however long."""


def draw(rng: Random) -> Plan:
    some = rng.choice((0, 1, 1, 2, 2, 3, 3, 5, len(TROUBLES)))
    troubles = tuple(rng.sample(TROUBLES, some))
    tight = rng.random() < 0.05
    remembered = rng.choice((60.0, 60.0, 90.0))
    return Plan(
        clients=(clients := rng.randint(1, 4)),
        foreign_clients=rng.choice((0, 0, 1, 2)),
        workers=rng.randint(1, 4),
        foreign_workers=rng.choice((0, 0, 1)),
        processes=rng.randint(1, 4),
        queries=rng.choice((40, 120, 120, 200)),
        span=rng.choice((4.0, 15.0, 15.0, 30.0)),
        delay=rng.choice((0.0002, 0.005, 0.1)),
        troubles=troubles,
        gap=rng.choice((0.3, 1.5, 5.0)),
        hurry=rng.choice((0.0, 0.1)),
        cancels=rng.choice((0.0, 0.1)),
        late_ticks=rng.choice((0.0, 0.0, 0.2)),
        crashes=rng.choice((0.0, 0.5)),
        grouped=rng.choice((0.0, 0.3, 0.3)),
        limit=rng.choice((0, 0, 1, 3)),
        tight=tight,
        proxy=ProxySettings(
            acknowledge=rng.random() < 0.85,
            max_queue=rng.choice((5, 10_000, 10_000, 10_000)),
            max_bytes=rng.choice((2_000, 1 << 28, 1 << 28, 1 << 28)),
            max_wait=WAITS.get(clients, inf),
            window=rng.choice((1, 4, 64)),
            kept_bytes=3_000 if tight else 1 << 26,
            group_bytes=3_000 if tight else 1 << 26,
            group_queue=rng.choice((3, 4_000, 4_000)),
            kept_bytes_in_all=rng.choice((5_000, 1 << 28)) if tight else 1 << 28,
            remembered_seconds=remembered,
        ),
        client=ClientSettings(),
        worker=WorkerSettings(window=rng.choice((1, 3, 64)), remembered_seconds=remembered),
    )
