"""Around every row of bad input at the hub: the honest work on, and are judged after the last."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

from .arena import MIB
from .hub_arena import HubArena

NUMBERS = count(1_000)
"""Of services: each test has its own, so that none is given a stream that is for another."""
BYTES_OF_A_MODULE = 256 * MIB
"""Some rows send what is too large, several times."""
LINES_OF_A_MODULE = 100


@asynccontextmanager
async def judged(hub_arenas: Callable[..., HubArena]) -> AsyncIterator[HubArena]:
    """A gateway whose clients work during all tests of a module, and are judged after the last."""
    arena = hub_arenas()
    async with arena.attacked() as siege:
        yield arena
    siege.check(BYTES_OF_A_MODULE, lines=LINES_OF_A_MODULE)
