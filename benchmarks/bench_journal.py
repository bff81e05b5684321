"""The journal: the same gateway with and without one, asked in turns.

MFP requests to a plain handler in the gateway, calls of a remote function through its proxy, and round trips
through its hub. Clients, worker and service do nothing but speak. The gateway has a core of its own, with
all its threads, the journal's among them, and everything else the other; then all of them run anywhere. Its
CPU time is that of all its threads, and of the system on their behalf. Segments are sealed meanwhile, as in
any gateway.
"""

import tempfile
from pathlib import Path

from benchmarks.measuring import (
    RATIO_HEAD,
    RATIO_WIDTH,
    Case,
    Contender,
    Processes,
    in_turns,
    ratio,
    title,
)
from benchmarks.report import Report

SIDES, BARE, HUB = "benchmarks.sides.journal", "benchmarks.sides.zmq_bare", "benchmarks.sides.hub"
OFF, ON = "journal off", "journal on"
FLIGHT = 64
CASES = (
    Case(1024, FLIGHT),
    Case(64, FLIGHT),
    Case(1024, FLIGHT, free=True),
    Case(64, FLIGHT, free=True),
)
WAYS = ("mfp", "rpc", "hub")
TARGET = 0.85


def main(report: Report) -> None:
    for way in WAYS:
        # Not in memory: a sync that costs nothing would flatter the journal.
        with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder, Processes() as processes:
            contenders = {OFF: add(processes, way, ""), ON: add(processes, way, folder)}
            for case in CASES:
                measure(report, way, contenders, case)


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


def measure(report: Report, way: str, contenders: dict[str, Contender], case: Case) -> None:
    found = in_turns(contenders, case)
    off = found[OFF]
    head = RATIO_HEAD.format("off")
    report.say(
        f"{f'{way} {title(case)}':30} {'calls/s':>10}   {head:{RATIO_WIDTH}}"
        "   CPU us a call: gateway, the others"
    )
    for name, result in found.items():
        to_off = ratio(result.rates, off.rates)
        mark = ""
        if name == ON:
            more = result.server_us - off.server_us
            mark = f"   CPU {result.server_us / off.server_us:.2f} x, {more:.1f} us more"
            if way == "mfp" and case.free and case.size == 1024:
                said = report.at_least(f"{way} {case}, any core, journal on to off", to_off.best, TARGET)
                mark += f"   {said}: {TARGET}"
        report.say(
            f"  {name:28} {result.rate:>10,.0f}   {to_off!s:{RATIO_WIDTH}}"
            f"   {result.server_us:>8.1f} {result.client_us:>8.1f}{mark}"
        )
