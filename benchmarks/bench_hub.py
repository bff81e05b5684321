"""Round trips through the hub, WebSocket to ZeroMQ service and back, beside the bare WebSocket echo.

Clients and service do nothing but speak; the bare echo is picows sending every message back, not coalesced,
measured with the same clients and the same bytes. The hub has a core of its own, service and clients share
the other: they have more to do than the echo's client alone, so where the system may place all is where the
rates are compared. CPU time is the hub's or the echo's own.
"""

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

MEASURES = ("src/framehub/gateway", "src/framehub/hub", "src/framehub/runtime")

BARE, HUB = "benchmarks.sides.bare", "benchmarks.sides.hub"
SIZE = 64
CONNECTIONS = ((1, 1), (1, 64), (8, 8), (8, 64), (100, 1), (100, 64))
"""So many connections, so many calls in flight on each."""
TARGETS = {(8, 64), (100, 64)}
RATE, CPU = 0.5, 2.0


def main(report: Report) -> None:
    for connections, flight in CONNECTIONS:
        with Processes() as processes:
            bare, hub = processes.server(BARE, "serve"), processes.server(HUB, "serve")
            clients, services = hub.port.split()
            service = processes.client(HUB, "service", services)
            many = str(connections)
            contenders = {
                "bare echo": Contender(bare, processes.client(HUB, "client", bare.port, "echo", many)),
                "hub": Contender(
                    hub, processes.client(HUB, "client", clients, "hub", many), beside=(service,)
                ),
            }
            is_alone = connections * flight == 1
            for case in (Case(SIZE, flight, together=is_alone), Case(SIZE, flight, free=True)):
                measure(report, contenders, case, connections)


def measure(report: Report, contenders: dict[str, Contender], case: Case, connections: int) -> None:
    found = in_turns(contenders, case)
    bare = found["bare echo"]
    head = f"{connections} x {case.flight}, {title(case).partition(', ')[2]}"
    to_bare_head = RATIO_HEAD.format("bare")
    report.say(f"{head:24} {'calls/s':>10}   {to_bare_head:{RATIO_WIDTH}}   CPU us a call: it, the others")
    for name, result in found.items():
        to_bare = ratio(result.rates, bare.rates)
        mark = ""
        if name == "hub" and (connections, case.flight) in TARGETS and case.free:
            what = f"hub, {connections} connections, {case.flight} in flight on each"
            mark = f"   {report.at_least(f'{what}, to the bare echo', to_bare.best, RATE)}: {RATE}"
            times = result.server_us / bare.server_us
            mark += f", CPU {times:.2f} x: {report.at_most(f'{what}, CPU a call to the echo', times, CPU)}"
        report.say(
            f"  {name:22} {result.rate:>10,.0f}   {to_bare!s:{RATIO_WIDTH}}"
            f"   {result.server_us:>8.1f} {result.client_us:>8.1f}{mark}"
        )
