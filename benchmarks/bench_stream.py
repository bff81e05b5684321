"""A file stream of 1 GiB over MFP, against a bare picows WebSocket that sends the same chunks.

Both sides hold back when the other is slow, and both hand whole chunks to Python. No disk is involved. Then
small requests on the connection of the stream, while it runs and while it is quiet.
"""

from statistics import quantiles

from benchmarks.measuring import RATIO_HEAD, RATIO_WIDTH, Contender, Process, Processes, ratio
from benchmarks.report import Report

MEASURES = ("src/framehub/mfp", "src/framehub/runtime")

BARE, MFP = "benchmarks.sides.bare", "benchmarks.sides.mfp"
SIZE = 2**30
CHUNK = 2**16
WARM = 2**26
ROUNDS = 3
QUIET_REQUESTS = 500
TO_BARE, WAIT_MS = 0.7, 50.0


class Watched:
    """One contender's rounds: seconds, CPU, and how far memory rose."""

    def __init__(self, contender: Contender) -> None:
        self.server, self.client = contender.server, contender.client
        self.extra = contender.extra
        self.rates: list[float] = []
        self.cpu = [0.0, 0.0]
        self.growth = [0, 0]
        self.client.ask(size=WARM, chunk=CHUNK, **self.extra)

    def run(self) -> None:
        sides: tuple[Process, Process] = self.server, self.client
        for side in sides:
            side.reset_peak()
        rss = [side.rss() for side in sides]
        cpu = [side.cpu() for side in sides]
        done = self.client.ask(size=SIZE, chunk=CHUNK, **self.extra)
        self.rates.append(SIZE / 2**20 / done["seconds"])
        for at, side in enumerate(sides):
            self.cpu[at] += side.cpu() - cpu[at]
            self.growth[at] = max(self.growth[at], side.peak() - rss[at])

    def ns_a_byte(self, side: int) -> float:
        return self.cpu[side] / (SIZE * len(self.rates)) * 1e9


def milliseconds(waits: list[float]) -> tuple[float, float, float]:
    """The median, the 99th of a hundred, the longest."""
    cuts = quantiles(waits, n=100)
    return cuts[49] * 1e3, cuts[98] * 1e3, max(waits) * 1e3


def main(report: Report) -> None:
    with Processes() as processes:
        bare, mfp = processes.server(BARE, "serve"), processes.server(MFP, "serve")
        plain = processes.client(MFP, "client", mfp.port)
        stream = {"do": "stream"}
        watched = {
            "bare": Watched(Contender(bare, processes.client(BARE, "client", bare.port, "sink"))),
            "mfp": Watched(Contender(mfp, plain, stream)),
            "mfp, crc32": Watched(Contender(mfp, processes.client(MFP, "client", mfp.port, "crc32"), stream)),
        }
        for _ in range(ROUNDS):
            for one in watched.values():
                one.run()
        report.say(
            f"{'':14} {'MiB/s':>8}   {RATIO_HEAD.format('bare'):{RATIO_WIDTH}}"
            "   CPU ns a byte: server, client   memory + MiB: same"
        )
        for name, one in watched.items():
            to_bare = ratio(one.rates, watched["bare"].rates)
            mark = ""
            if name == "mfp":
                said = report.at_least("stream of 1 GiB, to the bare WebSocket", to_bare.best, TO_BARE)
                mark = f"   {said}: {TO_BARE}"
            report.say(
                f"{name:14} {max(one.rates):>8,.0f}   {to_bare!s:{RATIO_WIDTH}}"
                f"   {one.ns_a_byte(0):>22.2f} {one.ns_a_byte(1):>7.2f}"
                f"   {one.growth[0] / 2**20:>13.1f} {one.growth[1] / 2**20:>5.1f}{mark}"
            )
        quiet = plain.ask(do="waits", count=QUIET_REQUESTS)["waits"]
        busy = plain.ask(do="waits", size=SIZE, chunk=CHUNK)["waits"]
    report.say(f"{'a small request, ms':24} {'p50':>8} {'p99':>8} {'longest':>8}   how many")
    for name, waits in (("  quiet", quiet), ("  while the stream runs", busy)):
        p50, p99, longest = milliseconds(waits)
        mark = ""
        if waits is busy:
            said = report.at_most("small request beside the stream, p99", p99, WAIT_MS, "ms")
            mark = f"   {said}: p99 {WAIT_MS:g} ms"
        report.say(f"{name:24} {p50:>8.2f} {p99:>8.2f} {longest:>8.2f}   {len(waits)}{mark}")
