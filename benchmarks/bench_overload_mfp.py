"""Three times as many calls of a function over MFP as its worker can do (benchmarks/overloading.py)."""

from benchmarks.overloading import REFUSED_MS, Line, run
from benchmarks.report import Report
from benchmarks.sides.overload import NAP, PROCESSES

MEASURES = ("src/framehub/gateway", "src/framehub/mfp", "src/framehub/rpc", "src/framehub/runtime")

NAME = "a function over MFP"
MOST = PROCESSES / NAP
LINES = [Line("mfp_1", NAME, MOST, 1.0, 4.0, 4), Line("mfp_10", NAME, MOST, 10.0, 12.0, 2)]
"""The longer callers wait, the longer it takes until they are too many."""


def main(report: Report) -> None:
    run(report, "mfp", LINES, refused_ms=REFUSED_MS)
