"""Three times as many calls of a function over ZeroMQ as its worker can do (benchmarks/overloading.py)."""

from benchmarks.overloading import REFUSED_MS, Line, run
from benchmarks.report import Report
from benchmarks.sides.overload import NAP, PROCESSES

MEASURES = ("src/framehub/gateway", "src/framehub/rpc", "src/framehub/runtime")

NAME = "a function over ZeroMQ"
MOST = PROCESSES / NAP
LINES = [Line("zmq_1", NAME, MOST, 1.0, 4.0, 4), Line("zmq_10", NAME, MOST, 10.0, 12.0, 2)]
"""The longer callers wait, the longer it takes until they are too many."""


def main(report: Report) -> None:
    run(report, "zmq", LINES, refused_ms=REFUSED_MS)
