"""Processes on cores of their own, measured in turns.

A contender is a server process and a client process. Every round measures each contender once, in an order
that turns around from round to round. What else the machine does only ever slows, so the best round of each
counts; the ratios within each round are printed beside it, to show how much the machine was disturbed.

With many calls in flight the two sides work at the same time, each on a core of its own. With one in flight
only one of them works at any moment, so both share a core: on two, waking up the other core would be most
of what is measured.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
ROUNDS = 8
SECONDS = 0.2
WARM_SECONDS = 0.1
CPU_CLOCK = 2
"""Linux's CPUCLOCK_SCHED: with a process's number it names that process's CPU clock."""


def cores() -> tuple[int, int] | None:
    """The server's core and the client's, where a process may choose and there are two."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    return (allowed[0], allowed[1]) if len(allowed) > 1 else None


def place(process: int, *cores_: int) -> None:
    """Run ``process``, with all its threads, on these cores only."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores_)


class Process:
    """A measured process: ``python -m MODULE WORDS...``; see ``benchmarks.driving`` for what it speaks."""

    def __init__(self, module: str, *words: str, server: bool, python: str = sys.executable) -> None:
        self._name = f"{module} {' '.join(words)}"
        self._is_server = server
        self._process = subprocess.Popen(
            [python, "-m", module, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self.port = self._line().strip()
        """Where a server listens; a client only says that it is ready."""
        self.place(together=False)

    def place(self, *, together: bool) -> None:
        """On the server's core, or a client on its own, where that can be chosen."""
        if chosen := cores():
            place(self._process.pid, chosen[0 if self._is_server or together else 1])

    def free(self) -> None:
        """On any core."""
        if chosen := cores():
            place(self._process.pid, *chosen)

    def ask(self, **order: Any) -> dict[str, Any]:
        """Give a client an order and wait until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        done: dict[str, Any] = json.loads(self._line())
        return done

    def cpu(self) -> float:
        """Seconds of CPU time so far, all threads."""
        return time.clock_gettime((~self._process.pid << 3) | CPU_CLOCK)

    def rss(self) -> int:
        """Bytes of memory now."""
        return self._status("VmRSS")

    def reset_peak(self) -> None:
        """Begin to watch for the largest ``rss`` from here on."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def peak(self) -> int:
        """The largest ``rss`` since ``reset_peak``."""
        return self._status("VmHWM")

    def kill(self) -> None:
        """End it, at once."""
        self._process.kill()

    def reap(self) -> None:
        """Wait until it has ended."""
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended with {self._process.wait()}")
        return line

    def _status(self, field: str) -> int:
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError(f"{self._name} has no {field}")


class Processes:
    """All processes of one benchmark; leaving ends them."""

    def __init__(self) -> None:
        self._all: list[Process] = []

    def server(self, module: str, *words: str, python: str = sys.executable) -> Process:
        """Start one on the server's core."""
        return self._keep(Process(module, *words, server=True, python=python))

    def client(self, module: str, *words: str, python: str = sys.executable) -> Process:
        """Start one on the client's core."""
        return self._keep(Process(module, *words, server=False, python=python))

    def _keep(self, process: Process) -> Process:
        self._all.append(process)
        return process

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_exc: object) -> None:
        # All before any has time to complain about the others.
        for process in self._all:
            process.kill()
        for process in self._all:
            process.reap()


class Contender(NamedTuple):
    """Who is measured, and what is said to its client beside the case."""

    server: Process
    client: Process
    extra: Mapping[str, Any] = {}
    beside: tuple[Process, ...] = ()
    """Others that its calls need: they run on the client's core, and their CPU time counts as its own."""

    def client_cpu(self) -> float:
        """Seconds of CPU time so far, of all but the server."""
        return self.client.cpu() + sum(one.cpu() for one in self.beside)


class Case(NamedTuple):
    """So many bytes a call, so many calls at a time; ``together`` puts both sides on one core."""

    size: int
    flight: int
    together: bool = False
    free: bool = False
    """Whoever runs where is left to the system: for what has more threads than two."""

    def __str__(self) -> str:
        return f"{size_name(self.size)}/{self.flight}"


class Result(NamedTuple):
    """What the rounds of one contender gave."""

    rates: Sequence[float]
    server_us: float
    client_us: float

    @property
    def rate(self) -> float:
        """Calls a second in the best round."""
        return max(self.rates)


class Ratio(NamedTuple):
    """Of two contenders: their best rounds, and the ratios within each round."""

    best: float
    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        return f"{self.best:5.2f} ({self.low:.2f} {self.middle:.2f} {self.high:.2f})"


RATIO_WIDTH = 24
RATIO_HEAD = "to {}: best (rounds)"


def title(case: Case) -> str:
    """The case and its cores, as printed above its lines."""
    cores_ = "one core" if case.together else "any core" if case.free else "two cores"
    return f"{case}, {cores_}"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Ours to theirs."""
    each = [one / other for one, other in zip(ours, theirs, strict=True)]
    return Ratio(max(ours) / max(theirs), min(each), median(each), max(each))


def in_turns(
    contenders: Mapping[str, Contender],
    case: Case,
    *,
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
    rest: Callable[[], None] | None = None,
) -> dict[str, Result]:
    """Measure every contender ``rounds`` times, in turns.

    ``rest`` waits until a round has no effects any more, so that the next contender does not pay for them.
    """
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    calls = dict.fromkeys(contenders, 0)
    server_cpu = dict.fromkeys(contenders, 0.0)
    client_cpu = dict.fromkeys(contenders, 0.0)
    order = {"size": case.size, "flight": case.flight}
    for one in contenders.values():
        for process in (one.client, *one.beside):
            process.place(together=case.together)
        if case.free:
            for process in (one.server, one.client, *one.beside):
                process.free()
        one.client.ask(**order, **one.extra, seconds=WARM_SECONDS)
    for turn in range(rounds):
        names = list(contenders)
        for name in names if turn % 2 == 0 else reversed(names):
            one = contenders[name]
            before = one.server.cpu(), one.client_cpu()
            done = one.client.ask(**order, **one.extra, seconds=seconds)
            server_cpu[name] += one.server.cpu() - before[0]
            client_cpu[name] += one.client_cpu() - before[1]
            calls[name] += done["calls"]
            rates[name].append(done["calls"] / done["seconds"])
            if rest is not None:
                rest()
    return {
        name: Result(rates[name], server_cpu[name] / calls[name] * 1e6, client_cpu[name] / calls[name] * 1e6)
        for name in contenders
    }


def size_name(size: int) -> str:
    """64, 64 KiB, 1 MiB."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return str(size)
