"""Memory of one idle connection among 10,000, and how fast a ping is answered among them.

Server and clients are processes of their own; what the kernel keeps for a socket is not counted. The bare
picows server is measured twice: as it comes, and with a first read buffer as small as ours.
"""

import resource
from statistics import quantiles

from benchmarks.measuring import Process, Processes
from benchmarks.report import Report

MEASURES = ("src/framehub/mfp", "src/framehub/runtime")

BARE, MFP, IDLE = "benchmarks.sides.bare", "benchmarks.sides.mfp", "benchmarks.sides.idle"
WANTED = 10_000
FIRST = 100
"""Opened before memory is looked at: what the first ones cost is the program, not the connection."""
SPARE_FILES = 200
PINGS = 1_000
KIB = 20.0
READ_BUFFER = "4096"


def possible() -> int:
    """How many connections the file limit allows each process."""
    return min(WANTED, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - FIRST - SPARE_FILES)


def pings(crowd: Process) -> str:
    cuts = quantiles(crowd.ask(do="ping", count=PINGS)["waits"], n=100)
    return f"p50 {cuts[49] * 1e6:.0f} us, p99 {cuts[98] * 1e6:.0f} us"


def main(report: Report) -> None:
    count = possible()
    if count < WANTED:
        report.say(f"only {count:,} connections: the limit of open files allows no more (ulimit -Hn)")
    with Processes() as processes:
        server = processes.server(MFP, "serve")
        crowd = processes.client(MFP, "crowd", server.port)
        crowd.ask(do="open", count=FIRST)
        crowd.ask(do="use")
        alone = pings(crowd)
        base = server.rss()
        crowd.ask(do="open", count=count)
        opened = (server.rss() - base) / count / 1024
        crowd.ask(do="use")
        used = (server.rss() - base) / count / 1024
        said = report.at_most(f"idle connection, one of {count:,}", used, KIB, "KiB")
        report.say(f"{'KiB a connection':40} {'KiB':>6}")
        report.say(f"{'  mfp, opened':40} {opened:>6.1f}")
        report.say(f"{'  mfp, after one request on each':40} {used:>6.1f}   {said}: {KIB:g}")
        crowded = pings(crowd)
    for name, words in (("as it comes", ()), (f"first buffer {READ_BUFFER} bytes", (READ_BUFFER,))):
        with Processes() as processes:
            server = processes.server(BARE, "serve", *words)
            idle = processes.client(IDLE, server.port, "/echo")
            idle.ask(count=FIRST)
            base = server.rss()
            idle.ask(count=count)
            report.say(f"{f'  bare picows, {name}':40} {(server.rss() - base) / count / 1024:>6.1f}")
    report.say(f"ping there and back, {FIRST} connections: {alone}")
    report.say(f"ping there and back, {FIRST + count:,} connections: {crowded}")
