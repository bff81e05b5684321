"""Three times as much as can be done: what is still answered in time, how soon the rest hears BUSY, memory.

Callers ask at a rate, whatever has become of what they asked before, and wait a second or ten for an answer.
The peak is the most that was answered in a second: by few callers in turn, or at as much as can be done. At
three times that, answers that came in time are counted, and all others: refused at once, or waited for in
vain. Handlers and the function sleep rather than compute, so that the machine is not what is measured.
"""

from typing import Any, NamedTuple

from benchmarks.measuring import Process, Processes
from benchmarks.report import Report
from benchmarks.sides.overload import BLINK, NAP

MODULE = "benchmarks.sides.overload"
WAYS = {
    "nap": ("a function over MFP", 2 / NAP),
    "zmq": ("a function over ZeroMQ", 2 / NAP),
    "blink": ("a plain handler", 1 / BLINK),
    "blink_later": ("a coroutine handler", 1 / BLINK),
}
"""By what the client is told: in words, and what can be done in a second at most."""
PATIENCE = (1.0, 10.0)
"""Seconds that callers wait."""
TIMES = 3
ROUNDS = 3
TURNS_SECONDS, PEAK_SECONDS, OVER_SECONDS = 1.5, 1.5, 5.0
GOODPUT = 0.9
REFUSED_MS = 50.0
MIB = 1 << 20
GROWN_MIB = 8.0


class Round(NamedTuple):
    """The peak, then three times that."""

    peak: float
    over: dict[str, Any]

    @property
    def ratio(self) -> float:
        return float(self.over["rate"] / self.peak)


class Found(NamedTuple):
    """Of one way and patience."""

    rounds: list[Round]
    grown: float
    """MiB that the gateway had at most in later rounds, above what it had after the first."""

    @property
    def best(self) -> Round:
        """The round in which the machine disturbed least."""
        return max(self.rounds, key=lambda one: one.ratio)


def measure(gateway: Process, client: Process, what: str, most: float, patience: float) -> Found:
    order = {"what": what, "timeout": patience}
    rounds, before = [], 0
    for number in range(ROUNDS):
        turns = client.ask(**order, flight=8, seconds=TURNS_SECONDS)["rate"]
        full = client.ask(**order, at=turns, seconds=PEAK_SECONDS)["rate"]
        peak = max(turns, full)
        if not 0.2 * most < peak < 1.05 * most:
            raise RuntimeError(f"{what}: {peak:.0f} a second, it can be {most:.0f}: the machine has no time")
        rounds.append(Round(peak, client.ask(**order, at=peak * TIMES, seconds=OVER_SECONDS)))
        if not number:
            before = gateway.rss()
            gateway.reset_peak()
    return Found(rounds, (gateway.peak() - before) / MIB)


def main(report: Report) -> None:
    with Processes() as processes:
        gateway = processes.server(MODULE, "serve")
        mfp, zmq, back = gateway.port.split()
        worker = processes.client(MODULE, "worker", back)
        client = processes.client(MODULE, "client", mfp, zmq)
        for one in (gateway, worker, client):
            one.free()
        report.say(
            f"{'':24} {'wait':>5} {'peak/s':>7} {'3x/s':>6} {'ratio (rounds)':22} {'busy ms p99':>11}"
            f" {'ms p50':>7} {'p99':>6} {'MiB':>5}  all that was asked"
        )
        for what, (name, most) in WAYS.items():
            for patience in PATIENCE:
                found = measure(gateway, client, what, most, patience)
                best, over = found.best, found.best.over
                ratios = " ".join(f"{one.ratio:.2f}" for one in found.rounds)
                report.say(
                    f"{name:24} {patience:3.0f} s {best.peak:7.0f} {over['rate']:6.0f} {best.ratio:4.2f}"
                    f" {f'({ratios})':17} {over['refused_p99'] * 1e3:11.1f}"
                    f" {over['answered_p50'] * 1e3:7.0f} {over['answered_p99'] * 1e3:6.0f}"
                    f" {found.grown:5.1f}  "
                    + ", ".join(f"{end} {count:,}" for end, count in sorted(over["ends"].items()))
                )
                who = f"{name}, callers wait {patience:.0f} s"
                report.at_least(f"{who}: goodput at 3x, of the peak", best.ratio, GOODPUT)
                report.at_most(f"{who}: memory grows", found.grown, GROWN_MIB, "MiB")
                if what in ("nap", "zmq"):
                    report.at_most(f"{who}: BUSY, 99 of 100", over["refused_p99"] * 1e3, REFUSED_MS, "ms")
