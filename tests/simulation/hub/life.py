"""One seed, one world."""

from collections import Counter
from collections.abc import Callable
from random import Random

from tests.simulation.hub.world import World, told


class Failure(Exception):
    """A seed whose story broke a rule, and how it got there."""

    def __init__(self, seed: int, world: World, cause: Exception) -> None:
        super().__init__(seed, str(cause))
        self.seed = seed
        self.cause = cause
        self.story = [
            f"seed {seed}: {type(cause).__name__}: {cause}",
            str(world.plan),
            *map(told, world.steps),
        ]

    def __str__(self) -> str:
        return "\n".join(self.story)

    def __reduce__(self) -> tuple[Callable[..., Exception], tuple[str]]:
        return RuntimeError, (str(self),)  # how it crosses to another process


def live(seed: int, *, troubles: tuple[str, ...] | None = None) -> Counter[str]:
    """What happened, counted; ``troubles`` in place of those that the seed would have.

    Raises:
        Failure: something was not as it must be.
    """
    world = World(Random(seed), troubles)
    try:
        world.run()
    except Exception as cause:
        raise Failure(seed, world, cause) from cause
    world.counts["worlds"] += 1
    return world.counts
