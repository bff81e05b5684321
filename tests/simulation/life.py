"""One seed, one life: a connection, and after each cut or silence a new one, as a client would make it."""

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from framehub.mfp.connection import Connection
from tests.simulation.wire import Wire
from tests.simulation.world import World

MOST = 3
"""Connections of one life."""


class Failure(Exception):
    """A seed whose story broke a rule, and how it got there."""

    def __init__(self, seed: int, world: World, cause: Exception) -> None:
        super().__init__(seed, str(cause))
        self.seed = seed
        self.cause = cause
        self.story = [
            f"seed {seed}: {type(cause).__name__}: {cause}",
            str(world.plan),
            *map(str, world.steps),
        ]

    def __str__(self) -> str:
        return "\n".join(self.story)

    def __reduce__(self) -> tuple[Callable[..., Exception], tuple[str]]:
        return RuntimeError, (str(self),)  # how it crosses to another process


def live(
    seed: int,
    *,
    machine: Callable[..., Connection] = Connection,
    wire: Callable[[int], Wire] = Wire,
) -> Counter[str]:
    """What happened, counted.

    Raises:
        Failure: something was not as it must be.
    """
    rng = Random(seed)
    total: Counter[str] = Counter()
    for _ in range(MOST):
        world = World(rng, machine=machine, wire=wire)
        try:
            world.run()
        except Exception as cause:
            raise Failure(seed, world, cause) from cause
        total += world.counts
        total["connections"] += 1
        total["events"] += world.events
        if world.plan.fate not in ("cut", "silence"):
            break
    return total


def lives(first: int, connections: int) -> Iterator[Counter[str]]:
    """Seed after seed until there were so many connections."""
    seen = 0
    while seen < connections:
        counts = live(first)
        seen += counts["connections"]
        first += 1
        yield counts
