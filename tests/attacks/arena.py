"""A gateway, twenty honest clients and room for an attacker, each in a process of its own.

Memory, files, CPU and log of the gateway are looked at from outside. What must hold around every attack:

- each honest client did everything, with the right answers, before, during and after it;
- the gateway has nothing left of the attacker: no connection, no pending work, no file descriptor;
- its memory never grew by more than the attack is allowed, plus ``NOISE``;
- it wrote a few log lines at most, and no traceback.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from framehub.runtime.tokens import add
from tests.attacks.attacker import Attacker, crowd, mfp
from tests.attacks.honest import CLIENTS

ROOT = Path(__file__).parents[2]
MIB = 2**20
FULL = os.environ.get("FRAMEHUB_ATTACKS") == "full"
NOISE = 2 * MIB
"""Memory that comes and goes without any attack. The allocators take it from the system in pieces of up to
1 MiB, there are two of them (Python's and C's), and the honest clients' work moves both by about a piece."""
PER_SECOND = MIB // 2
"""What the honest clients themselves make it remember: ids that they are done with, up to a bound."""
LINES = 20
"""Of the log."""
LINES_PER_SECOND = 3
"""What floods in is told once a second for each kind, and an attack has two or three kinds."""
SECONDS = 15.0
"""How long the gateway has, at most, to be as it was."""
WARM_SECONDS = 0.3
WARM_CONNECTIONS = 200
"""Held open at once, before anything is measured."""
WARM_REFUSED = 1_000
"""Refused one after another: what is left of a connection waits for the garbage collector, some MiB of it.
That is taken once and used again and again; what grows with every connection would grow on."""
HONEST = 20
"""The user that the honest clients' token stands for."""
FIELDS = ("peers", "pending", "leaving")

Seen: TypeAlias = Counter[object]
Throw: TypeAlias = Callable[[int, int], Awaitable[Seen]]


@dataclass(frozen=True)
class Attack:
    """What is thrown, how often, and what it may cost."""

    name: str
    throw: Throw
    """Given a port and a count; what the attacker saw, counted."""
    scaled: int
    """How often in an ordinary run of the tests."""
    full: int
    """How often with FRAMEHUB_ATTACKS=full, and in the benchmark."""
    allowed: int = 2 * MIB
    """Bytes by which the gateway may grow."""
    each: int = 0
    """More of them for each time it is thrown: those of a connection that is held open."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    tokens: bool = False
    """Whether the gateway is to let in only who has a token."""

    @property
    def count(self) -> int:
        return self.full if FULL else self.scaled

    def bound(self, count: int) -> int:
        return self.allowed + self.each * count


@dataclass
class Siege:
    """What was found around one attack."""

    seen: Seen = field(default_factory=Counter)
    grown: int = 0
    """Bytes of the gateway's memory at its largest, above what it was before."""
    kept: int = 0
    """The same, afterwards."""
    cpu: float = 0.0
    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    log: str = ""
    files: int = 0
    """File descriptors more than before."""
    stand: dict[str, Any] = field(default_factory=dict)

    def check(self, bound: int, *, lines: int = LINES, tracebacks: int = 0) -> None:
        """Everything that must hold around every attack."""
        assert self.failures == []
        for what in ("requests", "messages", "streams", "questions", "pings"):
            assert self.done[what] >= self.done["clients"] > 0, self.done
        assert [self.stand[name] for name in FIELDS] == [0, 0, 0], self.stand
        assert self.files == 0
        assert self.log.count("Traceback") == tracebacks, self.log
        assert self.log.count("\n") <= lines + LINES_PER_SECOND * self.seconds, self.log
        most = bound + NOISE + PER_SECOND * self.seconds
        assert self.grown <= most, f"{self.grown / MIB:.1f} MiB, allowed {bound / MIB:.1f}"


class Process:
    """A process that is told something on stdin and answers on stdout, line by line."""

    def __init__(self, *words: str, errors: Path) -> None:
        with errors.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                cwd=ROOT,
            )
        self.pid = self._process.pid

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"{self._process.args!r} ended with {self._process.wait()}"
        return line.strip()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


class Arena:
    """One gateway with its settings, and its honest clients."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any] | None = None,
        *,
        journal: Path | None = None,
        tokens: bool = False,
    ) -> None:
        self._errors = folder / "gateway.log"
        self.token = ""
        """That of the honest clients, where there are tokens."""
        self.tokens = folder / "tokens"
        options = {"settings": dict(settings or {}), "journal": str(journal) if journal else None}
        if tokens:
            self.token, _ = add(self.tokens, user=HONEST, name="honest")
            options["tokens"] = str(self.tokens)
        self._gateway = Process("tests.attacks.server", json.dumps(options), errors=self._errors)
        self.port = int(self._gateway.line())
        words = [str(self.port), *([self.token] if tokens else [])]
        self._honest = Process("tests.attacks.honest", *words, errors=folder / "honest.log")
        self._headers = [f"Authorization: Bearer {self.token}"] if tokens else []
        self._warm = False

    def close(self) -> None:
        self._honest.end()
        self._gateway.end()

    # --- how the gateway stands ------------------------------------------------------------------------

    def stand(self) -> dict[str, Any]:
        """Asked of the gateway itself; it collects its garbage first."""
        self._gateway.tell("stand")
        stand: dict[str, Any] = json.loads(self._gateway.line())
        return stand

    @property
    def log(self) -> str:
        return self._errors.read_text()

    def folder(self) -> list[str]:
        """What lies where the gateway works."""
        return sorted(path.name for path in Path(f"/proc/{self._gateway.pid}/cwd").iterdir())

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self._gateway.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(name)

    def _watch_peak(self) -> None:
        """VmHWM is the largest from here on."""
        Path(f"/proc/{self._gateway.pid}/clear_refs").write_text("5")

    def _files(self) -> int:
        return len(list(Path(f"/proc/{self._gateway.pid}/fd").iterdir()))

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self._gateway.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def settled(self, peers: int) -> dict[str, Any]:
        """Wait until only so many are connected, and nothing of the others is left."""
        until = time.monotonic() + SECONDS
        while True:
            stand = self.stand()
            calm = stand["peers"] == peers and not stand["leaving"] and (peers or not stand["pending"])
            if calm or time.monotonic() > until:
                return stand
            await asyncio.sleep(0.02)

    # --- attacks ---------------------------------------------------------------------------------------

    async def under(self, attack: Attack, count: int | None = None) -> Siege:
        """Throw it while the honest clients work."""
        async with self.besieged() as siege:
            siege.seen = await attack.throw(self.port, attack.count if count is None else count)
        return siege

    @asynccontextmanager
    async def besieged(self) -> AsyncIterator[Siege]:
        """The honest clients work inside; what is in the ``Siege`` is complete afterwards."""
        if not self._warm:
            self._warm = True
            await self._use()
        siege = Siege()
        files = self._files()
        self._start_honest()
        try:
            honest = (await self.settled(CLIENTS))["peers"]
            offset = self._errors.stat().st_size
            before, cpu, began = self._status("VmRSS"), self._cpu(), time.monotonic()
            self._watch_peak()
            yield siege
            await self.settled(honest)
            siege.cpu = self._cpu() - cpu
            siege.seconds = time.monotonic() - began
            siege.grown = self._status("VmHWM") - before
            siege.kept = self._status("VmRSS") - before
        finally:
            self._honest.tell("stop")
            told = json.loads(await asyncio.to_thread(self._honest.line))
        siege.waits, siege.failures = told["waits"], told["failures"]
        siege.done = {**told["done"], "clients": told["clients"]}
        siege.stand = await self.settled(0)
        siege.files = await self._more_files_than(files)
        siege.log = self.log.encode()[offset:].decode()

    async def _more_files_than(self, before: int) -> int:
        """Those that stay: a socket is closed a moment after its peer is forgotten, here or before."""
        until = time.monotonic() + 10
        while (more := self._files() - before) > 0 and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return max(0, more)

    def _start_honest(self) -> None:
        self._honest.tell("start")
        assert self._honest.line() == "started"

    async def _use(self) -> None:
        """Let it take the memory that work needs, so that what is measured later is what attacks need."""
        self._start_honest()

        async def visit() -> None:
            visitor, _ = await Attacker.asked(self.port, *self._headers)
            await asyncio.sleep(WARM_SECONDS)
            visitor.leave()

        async def be_refused() -> None:
            visitor, _ = await Attacker.asked(self.port, *self._headers)
            await visitor.throw(mfp("00"))
            await visitor.close_code()
            visitor.leave()

        await crowd([visit] * WARM_CONNECTIONS, at_once=WARM_CONNECTIONS)
        await crowd([be_refused] * WARM_REFUSED)
        self._honest.tell("stop")
        await asyncio.to_thread(self._honest.line)
        await self.settled(0)
