"""Around every row of bad input: what was counted, and that nothing else has changed."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from .arena import MIB
from .rpc_arena import QUICK, RpcArena
from .rpc_attacker import Dealer

QUEUE = 50
BYTES_OF_A_MODULE = 256 * MIB
"""Some rows send what is too large, several times."""
LINES_OF_A_MODULE = 100


@asynccontextmanager
async def judged(rpc_arenas: Callable[..., RpcArena]) -> AsyncIterator[RpcArena]:
    """A gateway whose callers work during all tests of a module, and are judged after the last."""
    arena = rpc_arenas({**QUICK, "max_queue": QUEUE})
    async with arena.attacked() as siege:
        yield arena
    siege.check(BYTES_OF_A_MODULE, lines=LINES_OF_A_MODULE)


class Judge:
    """Sees that only what is said was counted, and that nothing else has changed."""

    def __init__(self, arena: RpcArena) -> None:
        self._arena = arena
        self._before = arena.stand()
        self._counts = arena.counts()

    def count(self, what: str) -> int:
        return (self._arena.counts() - self._counts)[what]

    def check(self, **counted: int) -> None:
        wanted = {name.replace("_", " "): count for name, count in counted.items()}
        assert dict(self._arena.counts() - self._counts) == wanted
        after = self._arena.stand()
        for what in ("workers", "functions", "refused"):
            assert after[what] == self._before[what]


async def still_heard(dealer: Dealer) -> None:
    """The next message is the answer to what is asked now: nothing else was answered."""
    dealer.says(b"CODER_IDENTITY_QUERY", b"sure", b"typed")
    assert await dealer.hears() == [[b"CODER_IDENTITY_FOUND", b"sure", b"Int", b"Int"]]


async def refused(dealer: Dealer) -> None:
    await dealer.until(lambda: dealer.refusals)
