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


class Found(NamedTuple):
    """Of one way and patience: each round's peak, and three times that."""

    peaks: list[float]
    overs: list[dict[str, Any]]
    grown: float
    """MiB that the gateway had at most in later rounds, above what it had after the first."""

    @property
    def best(self) -> dict[str, Any]:
        """The round in which the machine disturbed least."""
        return max(self.overs, key=lambda one: one["rate"])

    @property
    def ratio(self) -> float:
        """Of the best rounds: what else the machine does only ever slows."""
        return float(self.best["rate"] / max(self.peaks))

    @property
    def ratios(self) -> str:
        """Within each round."""
        both = zip(self.overs, self.peaks, strict=True)
        return "(" + " ".join(f"{over['rate'] / peak:.2f}" for over, peak in both) + ")"


def measure(gateway: Process, client: Process, what: str, most: float, patience: float) -> Found:
    order = {"what": what, "timeout": patience}
    peaks, overs, before = [], [], 0
    for number in range(ROUNDS):
        turns = client.ask(**order, flight=8, seconds=TURNS_SECONDS)["rate"]
        full = client.ask(**order, at=turns, seconds=PEAK_SECONDS)["rate"]
        peak = max(turns, full)
        if not 0.2 * most < peak < 1.05 * most:
            raise RuntimeError(f"{what}: {peak:.0f} a second, it can be {most:.0f}: the machine has no time")
        peaks.append(peak)
        overs.append(client.ask(**order, at=max(peaks) * TIMES, seconds=OVER_SECONDS))
        if not number:
            before = gateway.rss()
            gateway.reset_peak()
    return Found(peaks, overs, (gateway.peak() - before) / MIB)


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
                over = found.best
                report.say(
                    f"{name:24} {patience:3.0f} s {max(found.peaks):7.0f} {over['rate']:6.0f}"
                    f" {found.ratio:4.2f} {found.ratios:17} {over['refused_p99'] * 1e3:11.1f}"
                    f" {over['answered_p50'] * 1e3:7.0f} {over['answered_p99'] * 1e3:6.0f}"
                    f" {found.grown:5.1f}  "
                    + ", ".join(f"{end} {count:,}" for end, count in sorted(over["ends"].items()))
                )
                who = f"{name}, callers wait {patience:.0f} s"
                report.at_least(f"{who}: goodput at 3x, of the peak", found.ratio, GOODPUT)
                report.at_most(f"{who}: memory grows", found.grown, GROWN_MIB, "MiB")
                if what in ("nap", "zmq"):
                    report.at_most(f"{who}: BUSY, 99 of 100", over["refused_p99"] * 1e3, REFUSED_MS, "ms")
