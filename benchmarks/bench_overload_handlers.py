"""Three times as many requests as handlers in the gateway can answer (benchmarks/overloading.py)."""

from benchmarks.overloading import Line, run
from benchmarks.report import Report
from benchmarks.sides.overload import BLINK

MEASURES = ("src/framehub/gateway", "src/framehub/mfp", "src/framehub/runtime")

LINES = [
    Line(what, name, 1 / BLINK, patience, 3.0, 3)
    for what, name in (("blink", "a plain handler"), ("blink_later", "a coroutine handler"))
    for patience in (1.0, 10.0)
]
REFUSED_MS = 100.0
"""Handlers keep the event loop that would have to refuse, for 25 ms at a stretch."""


def main(report: Report) -> None:
    run(report, "blink", LINES, refused_ms=REFUSED_MS)
