"""A gateway with remote functions, an honest worker, twenty honest callers and room for an attacker.

Each is a process of its own. What must hold around every attack:

- every caller did everything during it and after it, with the right answers;
- the gateway's memory never grew by more than the attack is allowed;
- its log has a few lines more at most, and no traceback.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from framehub.runtime.curve import CurveClient, read_public, read_secret, write_keys
from tests.attacks.arena import FULL, LINES, LINES_PER_SECOND, MIB, Arena, Process, Seen
from tests.attacks.rpc_attacker import Dealer

SECONDS = 60.0
QUICK = {"wait_start": 1.0, "wait_gone": 3.0, "dead_after": 2.0, "ack_timeout": 2.0}
"""Times of the proxy in a test: what is waited for comes to an end."""
WARM_CONNECTIONS = 100
NOISE = 8 * MIB
"""Memory that comes and goes without any attack."""
PER_SECOND = 2 * MIB
"""What the honest callers make it remember: ids that they are done with, for a minute."""
TOLD = (
    "malformed", "registrations refused", "answers to nothing", "from the unregistered", "ids reused", "busy",
    "acknowledgements of nothing", "cancels of nothing", "questions too many", "from the silenced",
    "under another client's identity", "too many parts or bytes from a client", "deaths of processes",
    "too many parts or bytes from a worker", "cut off: messages without an end",
)  # fmt: skip
"""What is counted of attackers only."""


@dataclass
class RpcSiege:
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
    """What each caller did meanwhile."""
    waits: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    log: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """What was counted of attackers."""

    def check(self, allowed: int, *, lines: int = LINES) -> None:
        """Everything that must hold around every attack."""
        assert self.failures == []
        assert len(self.rounds) == 20
        assert min(self.rounds) >= 1, self.rounds
        assert "Traceback" not in self.log, self.log
        assert self.log.count("\n") <= lines + LINES_PER_SECOND * self.seconds, self.log
        most = allowed + NOISE + PER_SECOND * self.seconds
        assert self.grown <= most, f"{self.grown / MIB:.1f} MiB, allowed {allowed / MIB:.1f}"


class RpcArena(Arena):
    """One gateway with its settings, its worker and its callers."""

    def __init__(
        self, folder: Path, settings: Mapping[str, Any] | None = None, *, curve: bool = False
    ) -> None:
        self.folder_of_all = folder
        self.keys = _make_keys(folder / "keys") if curve else None
        self.journal = folder / "journal"
        self._errors = folder / "gateway.log"
        self._settings = dict(settings or {})
        self.clients = self.workers = 0
        self._start_gateway()
        self._honest_is_on = False
        self.worker = self.new_worker("worker")
        words = [f"tcp://127.0.0.1:{self.clients}", *self._key_words()]
        self._honest = Process("tests.attacks.rpc_honest", *words, errors=folder / "honest.log")
        self._warm = False

    def close(self) -> None:
        self._honest.end()
        self.worker.end()
        self._gateway.end()

    def new_worker(self, name: str) -> Process:
        """One more worker of the same functions; the caller ends it."""
        words = [f"tcp://127.0.0.1:{self.workers}", *self._key_words()]
        worker = Process("tests.attacks.rpc_worker", *words, errors=self.folder_of_all / f"{name}.log")
        assert worker.line() == "ready"
        return worker

    def restart_gateway(self) -> None:
        """Kill it and start it again, where it was."""
        self._gateway.end()
        self._start_gateway()

    def curve(self, name: str) -> CurveClient:
        """Whose key that is."""
        assert self.keys is not None
        (server,) = read_public(self.keys / "server.pub")
        return CurveClient(server, read_secret(self.keys / name))

    def _start_gateway(self) -> None:
        told = {
            "clients": self.clients,
            "workers": self.workers,
            "journal": str(self.journal),
            "settings": self._settings,
            "keys": str(self.keys) if self.keys else "",
        }
        self._gateway = Process("tests.attacks.rpc_server", json.dumps(told), errors=self._errors)
        self.clients, self.workers = json.loads(self._gateway.line())

    def _key_words(self) -> list[str]:
        return [str(self.keys)] if self.keys else []

    # --- how things stand --------------------------------------------------------------------------------

    def counts(self) -> Counter[str]:
        """What the gateway counted of attackers."""
        counted = self.stand()["counts"]
        return Counter({what: counted[what] for what in TOLD if what in counted})

    async def until(self, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait until the gateway stands so."""
        until = time.monotonic() + SECONDS
        while True:
            stand = self.stand()
            if condition(stand):
                return stand
            assert time.monotonic() < until, stand
            await asyncio.sleep(0.05)

    async def _report(self) -> dict[str, Any]:
        self._honest.tell("report")
        told: dict[str, Any] = json.loads(await asyncio.to_thread(self._honest.line))
        return told

    # --- attacks -----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def with_honest(self) -> AsyncIterator[None]:
        """The callers work inside."""
        self._honest.tell("start")
        assert await asyncio.to_thread(self._honest.line) == "started"
        if not self._warm:
            self._warm = True
            await self._be_used()
        self._honest_is_on = True
        try:
            yield
        finally:
            self._honest_is_on = False
            self._honest.tell("stop")
            told = json.loads(await asyncio.to_thread(self._honest.line))
            assert told["failures"] == []

    @asynccontextmanager
    async def attacked(self) -> AsyncIterator[RpcSiege]:
        """Attack inside, while the callers work; what is in the siege is complete afterwards."""
        if not self._honest_is_on:
            async with self.with_honest(), self.attacked() as siege:
                yield siege
            return
        siege = RpcSiege()
        offset = self._errors.stat().st_size
        before = await self._report()
        counts = self.counts()
        memory, virtual, began = self._status("VmRSS"), self._status("VmSize"), time.monotonic()
        self._watch_peak()
        yield siege
        siege.seconds = time.monotonic() - began
        siege.grown = self._status("VmHWM") - memory
        siege.virtual = self._status("VmSize") - virtual
        siege.counts = dict(self.counts() - counts)
        after = await self._report()
        siege.waits, siege.failures = after["waits"], list(after["failures"])
        while (
            not siege.failures and min(self._more(after, before)) < 2
        ):  # one of them is all after the attack
            await asyncio.sleep(0.05)
            after = await self._report()
            siege.waits += after["waits"]
            siege.failures += after["failures"]
        siege.rounds = self._more(after, before)
        siege.kept = self._status("VmRSS") - memory
        siege.log = self._errors.read_bytes()[offset:].decode()

    @staticmethod
    def _more(after: dict[str, Any], before: dict[str, Any]) -> list[int]:
        return [now - then for now, then in zip(after["rounds"], before["rounds"], strict=True)]

    async def _be_used(self) -> None:
        """Let it take the memory that work needs, so that what is measured later is what attacks need."""
        curve = self.curve("client") if self.keys else None
        visitors = [Dealer(self.clients, curve=curve) for _ in range(WARM_CONNECTIONS)]
        for visitor in visitors:
            visitor.says(b"QUERY", b"warm", bytes(100_000), b"echo")
        for visitor in visitors:
            await visitor.hears(2)
            visitor.says(b"RESPONSE_RECEIVED", b"warm")
            visitor.close()


Throw: TypeAlias = Callable[[RpcArena, int], Awaitable[Seen]]


@dataclass(frozen=True)
class RpcAttack:
    """What is thrown, how often, and what it may cost."""

    name: str
    throw: Throw
    scaled: int
    """How often in an ordinary run of the tests."""
    full: int
    """How often with FRAMEHUB_ATTACKS=full."""
    allowed: int = 64 * MIB
    """Bytes by which the gateway may grow."""

    @property
    def count(self) -> int:
        return self.full if FULL else self.scaled


def _make_keys(folder: Path) -> Path:
    """Keys of the server, a worker, and two clients: one honest, one not."""
    folder.mkdir()
    public = {name: write_keys(folder / name) for name in ("server", "worker", "client", "rogue", "stranger")}
    (folder / "clients").write_text(f"{public['client']}\n{public['rogue']}\n")
    (folder / "workers").write_text(f"{public['worker']}\n")
    return folder
