"""MFP requests over WebSocket, against a bare picows echo that carries the same bytes.

Small calls carry their bytes as JSON in ``data``. Large ones carry them as an attached file, which is the
protocol's own way; the same as a JSON string is printed beside it. The handler is a plain function unless the
line says otherwise.
"""

from benchmarks.measuring import (
    RATIO_HEAD,
    RATIO_WIDTH,
    Case,
    Contender,
    Processes,
    Ratio,
    Result,
    in_turns,
    ratio,
    title,
)
from benchmarks.report import Report

MEASURES = ("src/framehub/mfp", "src/framehub/runtime")

BARE, MFP = "benchmarks.sides.bare", "benchmarks.sides.mfp"
SMALL = (Case(64, 1, together=True), Case(64, 64), Case(64, 1))
LARGE = (Case(65_536, 64), Case(1_048_576, 8))
ASYNC_CASE = Case(64, 64)
TARGETS = {
    ("mfp", SMALL[0]): 0.4,
    ("mfp", SMALL[1]): 0.6,
    ("mfp file", LARGE[0]): 0.8,
    ("mfp file", LARGE[1]): 0.8,
    ("mfp file, crc32", LARGE[0]): 0.75,
    ("mfp file, crc32", LARGE[1]): 0.75,
}
STRETCH = {("mfp", SMALL[0]): 0.55, ("mfp", SMALL[1]): 0.9}


def contenders(processes: Processes) -> tuple[dict[str, Contender], dict[str, Contender], Contender]:
    """Those of the small cases, those of the large ones, and the coroutine handler."""
    bare, mfp = processes.server(BARE, "serve"), processes.server(MFP, "serve")
    plain = processes.client(MFP, "client", mfp.port)
    summed = processes.client(MFP, "client", mfp.port, "crc32")
    both = {
        "bare": Contender(bare, processes.client(BARE, "client", bare.port, "echo")),
        "bare, coalesced": Contender(bare, processes.client(BARE, "client", bare.port, "coalesced")),
    }
    small = {
        "mfp": Contender(mfp, plain, {"as": "data"}),
        "mfp, crc32": Contender(mfp, summed, {"as": "data"}),
    }
    large = {
        "mfp file": Contender(mfp, plain, {"as": "file"}),
        "mfp file, crc32": Contender(mfp, summed, {"as": "file"}),
        "mfp JSON": Contender(mfp, plain, {"as": "data"}),
        "mfp JSON, crc32": Contender(mfp, summed, {"as": "data"}),
    }
    return both | small, both | large, Contender(mfp, plain, {"as": "async"})


def line(name: str, found: Result, to_bare: Ratio) -> str:
    return (
        f"  {name:22} {found.rate:>10,.0f}   {to_bare!s:{RATIO_WIDTH}}"
        f"   {found.server_us:>8.1f} {found.client_us:>8.1f}"
    )


def head(case: Case) -> str:
    return (
        f"{title(case):24} {'calls/s':>10}   {RATIO_HEAD.format('bare'):{RATIO_WIDTH}}"
        "   CPU us a call: server, client"
    )


def main(report: Report) -> None:
    with Processes() as processes:
        small, large, coroutine = contenders(processes)
        for case in SMALL + LARGE:
            measured = small if case in SMALL else large
            if case == ASYNC_CASE:
                measured = measured | {"mfp, async handler": coroutine}
            found = in_turns(measured, case)
            report.say(head(case))
            for name, result in found.items():
                to_bare = ratio(result.rates, found["bare"].rates)
                mark = ""
                if wanted := TARGETS.get((name, case)):
                    said = report.at_least(f"{name} {case}, to the bare echo", to_bare.best, wanted)
                    stretch = STRETCH.get((name, case))
                    mark = f"   {said}: {wanted}" + (f", stretch {stretch}" if stretch else "")
                report.say(line(name, result, to_bare) + mark)
