"""Ten thousand connections at the hub with a stream each: memory of one, and round trips among them.

Hub, service and clients are processes of their own; what the kernel keeps for a socket is not counted.
"""

from statistics import quantiles

from benchmarks.bench_connections import FIRST, KIB, WANTED, possible
from benchmarks.measuring import Process, Processes
from benchmarks.report import Report

MEASURES = ("src/framehub/gateway", "src/framehub/hub", "src/framehub/runtime")

HUB = "benchmarks.sides.hub"
TRIPS = 1_000


def trips(crowd: Process) -> str:
    cuts = quantiles(crowd.ask(do="trips", count=TRIPS)["waits"], n=100)
    return f"p50 {cuts[49] * 1e6:.0f} us, p99 {cuts[98] * 1e6:.0f} us"


def main(report: Report) -> None:
    count = possible()
    if count < WANTED:
        report.say(f"only {count:,} connections: the limit of open files allows no more (ulimit -Hn)")
    with Processes() as processes:
        hub = processes.server(HUB, "serve")
        clients, services = hub.port.split()
        processes.client(HUB, "service", services)
        crowd = processes.client(HUB, "crowd", clients)
        crowd.ask(do="open", count=FIRST)
        alone = trips(crowd)
        base = hub.rss()
        crowd.ask(do="open", count=count)
        used = (hub.rss() - base) / count / 1024
        said = report.at_most(f"hub connection with a stream, one of {count:,}", used, KIB, "KiB")
        report.say(f"a connection with an open stream: {used:.1f} KiB   {said}: {KIB:g}")
        crowded = trips(crowd)
    report.say(f"round trip to the service and back, {FIRST} connections: {alone}")
    report.say(f"round trip to the service and back, {FIRST + count:,} connections: {crowded}")
