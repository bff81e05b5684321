"""An arena whose honest peers work on and on, while one attack after another is thrown.

What must hold around every attack:

- every honest peer did everything during it and after it, with the right answers;
- the gateway's memory never grew by more than the attack is allowed;
- its log has a few lines more at most, and no traceback.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from tests.attacks.arena import FULL, LINES, LINES_PER_SECOND, MIB, Arena, Seen
from tests.attacks.shift import CLIENTS

SECONDS = 60.0
NOISE = 8 * MIB
"""Memory that comes and goes without any attack."""
PER_SECOND = 2 * MIB
"""What the honest peers make it remember: ids that they are done with, for a minute."""


@dataclass
class BusySiege:
    """What was found around one attack."""

    seen: Seen = field(default_factory=Counter)
    grown: int = 0
    """Bytes of the gateway's memory at its largest, above what it was before."""
    kept: int = 0
    """The same, afterwards."""
    virtual: int = 0
    """Bytes of address space more than before."""
    seconds: float = 0.0
    rounds: list[int] = field(default_factory=list)
    """What each honest peer did meanwhile."""
    waits: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    log: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """What was counted of attackers."""

    def check(self, allowed: int, *, lines: int = LINES) -> None:
        """Everything that must hold around every attack."""
        assert self.failures == []
        assert len(self.rounds) == CLIENTS
        assert min(self.rounds) >= 1, self.rounds
        assert "Traceback" not in self.log, self.log
        assert self.log.count("\n") <= lines + LINES_PER_SECOND * self.seconds, self.log
        most = allowed + NOISE + PER_SECOND * self.seconds
        assert self.grown <= most, f"{self.grown / MIB:.1f} MiB, allowed {allowed / MIB:.1f}"


class BusyArena(Arena):
    """See the module. Whoever inherits starts the processes ``_gateway`` and ``_honest``."""

    _honest_is_on = False

    def counts(self) -> Counter[str]:
        """What the gateway counted of attackers."""
        raise NotImplementedError

    async def _be_used(self) -> None:
        """Let it take the memory that work needs, so that what is measured later is what attacks need."""
        raise NotImplementedError

    async def calm(self) -> None:
        """Wait until nothing of the attacker is left."""

    async def until(self, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait until the gateway stands so."""
        until = time.monotonic() + SECONDS
        while True:
            stand = self.stand()
            if condition(stand):
                return stand
            assert time.monotonic() < until, stand
            await asyncio.sleep(0.05)

    @asynccontextmanager
    async def with_honest(self) -> AsyncIterator[None]:
        """The honest peers work inside."""
        self._honest.tell("start")
        assert await asyncio.to_thread(self._honest.line) == "started"
        try:
            if not self._warm:
                await self._be_used()
                self._warm = True
            self._honest_is_on = True
            yield
        finally:
            self._honest_is_on = False
            self._honest.tell("stop")
            told = json.loads(await asyncio.to_thread(self._honest.line))
            assert told["failures"] == []

    @asynccontextmanager
    async def attacked(self) -> AsyncIterator[BusySiege]:
        """Attack inside, while the honest work; what is in the siege is complete afterwards."""
        if not self._honest_is_on:
            async with self.with_honest(), self.attacked() as siege:
                yield siege
            return
        siege = BusySiege()
        offset = self._errors.stat().st_size
        before = await self._report()
        counts = self.counts()
        memory, virtual, began = self._status("VmRSS"), self._status("VmSize"), time.monotonic()
        self._watch_peak()
        yield siege
        await self.calm()
        siege.seconds = time.monotonic() - began
        siege.grown = self._status("VmHWM") - memory
        siege.virtual = self._status("VmSize") - virtual
        siege.counts = dict(self.counts() - counts)
        after = await self._report()
        siege.waits, siege.failures = after["waits"], list(after["failures"])
        while not siege.failures and min(self._more(after, before)) < 2:  # one is all after the attack
            await asyncio.sleep(0.05)
            after = await self._report()
            siege.waits += after["waits"]
            siege.failures += after["failures"]
        siege.rounds = self._more(after, before)
        siege.kept = self._status("VmRSS") - memory
        siege.log = self._errors.read_bytes()[offset:].decode()

    async def _report(self) -> dict[str, Any]:
        self._honest.tell("report")
        told: dict[str, Any] = json.loads(await asyncio.to_thread(self._honest.line))
        return told

    @staticmethod
    def _more(after: dict[str, Any], before: dict[str, Any]) -> list[int]:
        return [now - then for now, then in zip(after["rounds"], before["rounds"], strict=True)]


A = TypeVar("A", bound=BusyArena)
Throw: TypeAlias = Callable[[A, int], Awaitable[Seen]]


@dataclass(frozen=True)
class BusyAttack(Generic[A]):
    """What is thrown, how often, and what it may cost."""

    name: str
    throw: Throw[A]
    """Given the arena and a count; what the attacker saw, counted."""
    scaled: int
    """How often in an ordinary run of the tests."""
    full: int
    """How often with FRAMEHUB_ATTACKS=full."""
    allowed: int = 64 * MIB
    """Bytes by which the gateway may grow."""

    @property
    def count(self) -> int:
        return self.full if FULL else self.scaled


async def throw(arena: A, attack: BusyAttack[A]) -> BusySiege:
    """Throw it and check all that must hold."""
    async with arena.attacked() as siege:
        siege.seen = await attack.throw(arena, attack.count)
    siege.check(attack.allowed)
    return siege
