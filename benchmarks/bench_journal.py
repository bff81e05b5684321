"""The journal: the same gateway with and without one, asked in turns.

MFP requests to a plain handler in the gateway, calls of a remote function through its proxy, and round trips
through its hub. Clients, worker and service do nothing but speak. The gateway has a core of its own, with
all its threads, the journal's among them, and everything else the other; then all of them run anywhere. Its
CPU time is that of all its threads, and of the system on their behalf.

Full segments are sealed by another process, as by any gateway. Between two rounds that is waited for, or
whoever is next would pay for it. The last lines are rounds so long that a segment is always being sealed.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.measuring import (
    RATIO_HEAD,
    RATIO_WIDTH,
    Case,
    Contender,
    Processes,
    Result,
    in_turns,
    ratio,
    title,
)
from benchmarks.report import Report

MEASURES = (
    "src/framehub/gateway",
    "src/framehub/hub",
    "src/framehub/journal",
    "src/framehub/mfp",
    "src/framehub/rpc",
    "src/framehub/runtime",
)

SIDES, BARE, HUB = "benchmarks.sides.journal", "benchmarks.sides.zmq_bare", "benchmarks.sides.hub"
OFF, ON = "journal off", "journal on"
FLIGHT = 64
CASES = (
    Case(1024, FLIGHT),
    Case(64, FLIGHT),
    Case(1024, FLIGHT, free=True),
    Case(64, FLIGHT, free=True),
)
ON_END = Case(1024, FLIGHT, free=True)
"""Measured in long rounds, too."""
WAYS = ("mfp", "rpc", "hub")
ROUNDS, LONG_ROUNDS, LONG_SECONDS = 24, 4, 4.0
REST_SECONDS = 10.0
TARGET = 0.85


def main(report: Report) -> None:
    for way in WAYS:
        # Not in memory: a sync that costs nothing would flatter the journal.
        with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder, Processes() as processes:
            contenders = {OFF: add(processes, way, ""), ON: add(processes, way, folder)}
            rest = partial(all_is_sealed, Path(folder))
            for case in CASES:
                target = TARGET if way == "mfp" and case == ON_END else None
                found = in_turns(contenders, case, rounds=ROUNDS, rest=rest)
                tell(report, f"{way} {title(case)}", found, target)
            if way == "mfp":
                found = in_turns(contenders, ON_END, rounds=LONG_ROUNDS, seconds=LONG_SECONDS, rest=rest)
                tell(report, f"{way} {title(ON_END)}, on end", found, None)


def all_is_sealed(folder: Path) -> None:
    """Wait until there is no segment but the one that is written."""
    until = time.monotonic() + REST_SECONDS
    while len(list(folder.glob("*.fhj"))) > 1 and time.monotonic() < until:
        time.sleep(0.02)


def add(processes: Processes, way: str, journal: str) -> Contender:
    """A gateway and those who speak to it."""
    gateway = processes.server(SIDES, "serve", *([journal] if journal else []))
    clients, services, callers, workers = gateway.port.split()
    if way == "rpc":
        worker = processes.client(BARE, "worker", workers, "acks")
        return Contender(gateway, processes.client(BARE, "client", callers, "acks"), beside=(worker,))
    if way == "hub":
        service = processes.client(HUB, "service", services)
        return Contender(gateway, processes.client(HUB, "client", clients, "hub", "1"), beside=(service,))
    return Contender(gateway, processes.client(SIDES, "client", clients))


def tell(report: Report, what: str, found: dict[str, Result], target: float | None) -> None:
    off = found[OFF]
    head = RATIO_HEAD.format("off")
    report.say(f"{what:32} {'calls/s':>8}   {head:{RATIO_WIDTH}}   CPU us a call: gateway, the others")
    for name, result in found.items():
        to_off = ratio(result.rates, off.rates)
        mark = ""
        if name == ON:
            more = result.server_us - off.server_us
            mark = f"   CPU {result.server_us / off.server_us:.2f} x, {more:.1f} us more"
            if target is not None:
                said = report.at_least(f"{what}, journal on to off", to_off.best, target)
                mark += f"   {said}: {target}"
        report.say(
            f"  {name:30} {result.rate:>8,.0f}   {to_off!s:{RATIO_WIDTH}}"
            f"   {result.server_us:>8.1f} {result.client_us:>8.1f}{mark}"
        )
