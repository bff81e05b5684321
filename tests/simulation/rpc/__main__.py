"""``python -m tests.simulation.rpc``: simulate many queries; a failing seed is printed with its story.

A failure says ``seed N``. To see it again: ``python -m tests.simulation.rpc --seeds N-N``.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from scripts import results
from tests.simulation.rpc import life

BATCH = 50
"""Seeds that a worker process takes at once."""
EVERY = 5.0
"""Seconds between two lines of progress."""


def batch(seeds: range) -> Counter[str]:
    """What a worker process does."""
    total: Counter[str] = Counter()
    for seed in seeds:
        total += life.live(seed)
    return total


def parts(first: int, last: int | None, queries: int, jobs: int) -> Iterator[Counter[str]]:
    """Counts, part by part, until the last seed, or until there were enough queries."""
    seen = 0
    with ProcessPoolExecutor(jobs) as pool:
        while (first <= last) if last is not None else (seen < queries):
            stop = first + jobs * 4 * BATCH
            if last is not None:
                stop = min(stop, last + 1)
            batches = [range(seed, min(seed + BATCH, stop)) for seed in range(first, stop, BATCH)]
            for counts in pool.map(batch, batches):
                seen += counts["queries"]
                yield counts
            first = stop


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.rpc", description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000, help="how many at least (100,000)")
    parser.add_argument("--seeds", default="1", help="the first one, or FIRST-LAST: then all of these (1)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (1)")
    parser.add_argument(
        "--record", action="store_true", help="add a line to benchmarks/results/simulation-rpc.md"
    )
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    total: Counter[str] = Counter()
    began = told = time.monotonic()
    try:
        for counts in parts(int(first), int(last) if last else None, asked.queries, asked.jobs):
            total += counts
            if time.monotonic() - told > EVERY:
                told = time.monotonic()
                done = total["queries"]
                print(f"{done:,} queries, {done / (told - began):,.0f} a second", flush=True)
    except RuntimeError as failure:
        again = str(failure).partition(":")[0].removeprefix("seed ")
        command = f"python -m tests.simulation.rpc --seeds {again}-{again}"
        print(f"{failure}\nagain: {command}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - began
    seeds = f"seeds {first} to {int(first) + total['worlds'] - 1}"
    print(f"{total['queries']:,} queries in {seconds:,.1f} s, {seeds}: no rule broken")
    print("\n".join(f"  {name} {count:,}" for name, count in sorted(total.items())))
    if asked.record:
        named = (
            "events", "runs", "runs again", "ended: result",
            "ended: timeout", "kill a worker", "kill the proxy", "kill a client", "kill a child",
            "cut a worker", "cut a client", "half-open worker", "half-open client", "stop a worker", "forge",
        )  # fmt: skip
        outcome = f"no rule broken; {seeds}; " + ", ".join(f"{name} {total[name]:,}" for name in named)
        options = f"--queries {asked.queries} --seeds {asked.seeds} --jobs {asked.jobs}"
        file = results.add(
            "simulation-rpc",
            "Simulated remote functions",
            measures=("src/framehub/rpc",),
            command=f"make simulate-rpc ARGS='{options}'",
            executions=total["queries"],
            seconds=seconds,
            outcome=outcome,
        )
        print(f"recorded in {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
