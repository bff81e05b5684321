"""Two columns added by a remote function: as Arrow, as JSON lists, and by a call for each row.

Everything is whole: our client, proxy and worker, each a process. Rows a second, and how many times
as many Arrow carries as JSON.
"""

from benchmarks.measuring import Processes
from benchmarks.report import Report

MEASURES = ("src/framehub/rpc", "src/framehub/runtime")

OURS = "benchmarks.sides.rpc"
SIZES = (1_000, 10_000, 100_000)
ROUNDS = 3
SECONDS = 1.0
WAYS = {"arrow": 4, "json": 4, "rows": 1}
"""How the columns go, and calls in flight; with ``rows`` each call is as many calls as there are rows."""


def main(report: Report) -> None:
    with Processes() as processes:
        proxy = processes.server(OURS, "serve")
        front, back = proxy.port.split()
        processes.client(OURS, "worker", back)
        client = processes.client(OURS, "client", front)
        report.say(
            f"{'rows in a call':>15} {'Arrow':>14} {'JSON':>14} {'a call each':>14}   rows/s; Arrow to JSON"
        )
        for size in SIZES:
            best = dict.fromkeys(WAYS, 0.0)
            for _ in range(ROUNDS):
                for way, flight in WAYS.items():
                    rows = min(size, 1_000) if way == "rows" else size
                    told = client.ask(**{"as": way, "rows": rows, "flight": flight, "seconds": SECONDS})
                    best[way] = max(best[way], told["calls"] * rows / told["seconds"])
            ratio = best["arrow"] / best["json"]
            cells = " ".join(f"{best[way]:>14,.0f}" for way in WAYS)
            report.say(f"{size:>15,} {cells}   {ratio:.1f} x")
