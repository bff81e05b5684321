"""Three times as much as can be done: what is still answered in time, how soon the rest hears BUSY, memory.

Callers ask at a rate, whatever has become of what they asked before, and wait a second or ten for an answer.
The peak is the most that was answered in a second: by few callers in turn, or at as much as can be done. At
three times that, answers that came in time are counted, and all others: refused at once, or waited for in
vain. Handlers and the function sleep rather than compute, so that the machine is not what is measured.

Every round measures the peak and then three times as much; the median of the rounds' ratios counts. What the
peaks of the rounds differ by is printed beside it: a ratio says no more than that. Every line has a function
of its own, so that the proxy knows nothing of it at first: how patient its callers are it finds out in the
first overload, which is printed as well, and left out of the median. Before all there is a minute of
overload: what the gateway remembers by design, ids that are done with, is then as much as it ever will be,
and memory that grows after that is memory that grows.
"""

from statistics import median
from typing import Any, NamedTuple

from benchmarks.measuring import Process, Processes
from benchmarks.report import Report

MODULE = "benchmarks.sides.overload"
TIMES = 3
TURNS_SECONDS = PEAK_SECONDS = 1.5
GOODPUT = 0.9
REFUSED_MS = 50.0
MIB = 1 << 20
GROWN_MIB = 8.0
REMEMBERED_SECONDS = 60.0
"""How long ids are known as used; as many as a connection remembers are used in less."""
METHOD = (
    "Every process runs on any core. The median of the rounds counts, without the first: of each round's "
    "ratio to its own peak, and of the others. In brackets the lowest and highest: of the peaks, to their "
    "median, and of the ratios."
)


class Line(NamedTuple):
    """What is asked for, and how."""

    what: str
    """As the client is told it."""
    name: str
    most: float
    """What can be done in a second at most."""
    patience: float
    """Seconds that callers wait."""
    seconds: float
    """How long they ask for too much, each time."""
    rounds: int
    """That count; there is one more."""

    def __str__(self) -> str:
        return f"{self.name}, callers wait {self.patience:.0f} s"


class Found(NamedTuple):
    """Of one line: each round's peak, and three times that."""

    peaks: list[float]
    overs: list[dict[str, Any]]
    grown: float
    """MiB that the gateway had at most in later rounds, above what it had after the first."""

    @property
    def ratios(self) -> list[float]:
        """Within each round; the first is another matter."""
        return [over["rate"] / peak for over, peak in zip(self.overs, self.peaks, strict=True)]

    @property
    def ratio(self) -> float:
        """What counts."""
        return median(self.ratios[1:])

    @property
    def apart(self) -> tuple[float, float]:
        """The lowest peak and the highest, to their median."""
        middle = median(self.peaks)
        return min(self.peaks) / middle, max(self.peaks) / middle

    def middle(self, what: str) -> float:
        """The median of a figure of the rounds that count."""
        return float(median(over[what] for over in self.overs[1:]))


def measure(gateway: Process, client: Process, line: Line) -> Found:
    order = {"what": line.what, "timeout": line.patience}
    peaks, overs, before = [], [], 0
    for number in range(line.rounds + 1):
        turns = client.ask(**order, flight=8, seconds=TURNS_SECONDS)["rate"]
        full = client.ask(**order, at=turns, seconds=PEAK_SECONDS)["rate"]
        peak = max(turns, full)
        if not 0.2 * line.most < peak < 1.05 * line.most:
            raise RuntimeError(
                f"{line}: {peak:.0f} a second, it can be {line.most:.0f}: the machine has no time"
            )
        peaks.append(peak)
        overs.append(client.ask(**order, at=max(peaks) * TIMES, seconds=line.seconds))
        if not number:
            before = gateway.rss()
            gateway.reset_peak()
    return Found(peaks, overs, (gateway.peak() - before) / MIB)


def run(report: Report, before: str, lines: list[Line], *, refused_ms: float) -> None:
    """Measure these, after a minute of ``before``; 99 of 100 refusals should come within ``refused_ms``."""
    report.method = METHOD
    with Processes() as processes:
        gateway = processes.server(MODULE, "serve")
        mfp, zmq, back = gateway.port.split()
        worker = processes.client(MODULE, "worker", back)
        client = processes.client(MODULE, "client", mfp, zmq)
        for one in (gateway, worker, client):
            one.free()
        client.ask(what=before, timeout=1.0, at=TIMES * lines[0].most, seconds=REMEMBERED_SECONDS)
        report.say(
            f"{'':22} {'wait':>5} {'peak/s (lowest highest)':>23}  {'3x: ratio (lowest highest) first':32}"
            f" {'busy ms p50':>11} {'p99 (worst)':>13} {'ms p50':>7} {'p99':>6} {'MiB':>5}  all asked"
        )
        for line in lines:
            found = measure(gateway, client, line)
            low, high = found.apart
            ratios = found.ratios
            worst = max(over["refused_p99"] for over in found.overs[1:])
            report.say(
                f"{line.name:22} {line.patience:3.0f} s {median(found.peaks):9.0f} ({low:.2f} {high:.2f})  "
                f"{found.ratio:9.2f} ({min(ratios[1:]):.2f} {max(ratios[1:]):.2f}) {ratios[0]:10.2f}"
                f" {found.middle('refused_p50') * 1e3:11.1f}"
                f" {found.middle('refused_p99') * 1e3:5.1f} ({worst * 1e3:5.1f})"
                f" {found.middle('answered_p50') * 1e3:7.0f} {found.middle('answered_p99') * 1e3:6.0f}"
                f" {found.grown:5.1f}  {_ends(found.overs[1:])}"
            )
            report.at_least(f"{line}: goodput at 3x, of the peak", found.ratio, GOODPUT)
            report.at_most(f"{line}: memory grows", found.grown, GROWN_MIB, "MiB")
            report.at_most(f"{line}: BUSY, 99 of 100", found.middle("refused_p99") * 1e3, refused_ms, "ms")


def _ends(overs: list[dict[str, Any]]) -> str:
    ends = sorted({end for over in overs for end in over["ends"]})
    return ", ".join(f"{end} {sum(over['ends'].get(end, 0) for over in overs):,}" for end in ends)
