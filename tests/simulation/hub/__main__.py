"""``python -m tests.simulation.hub``: simulate many streams; a failing seed is printed with its story.

A failure says ``seed N``. To see it again: ``python -m tests.simulation.hub --seed N --streams 1``.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from scripts import results
from tests.simulation.hub import life

BATCH = 50
"""Seeds that a worker process takes at once."""
EVERY = 5.0
"""Seconds between two lines of progress."""
RECORDED = (
    "events", "V1 to V2", "V2 to V1", "ended: its service's last frame", "ended: close", "ended: timeout",
    "ended: client_disconnect", "ended: service_disconnect", "ended: busy", "ended: limit", "ended: internal",
    "paused", "cut a client", "half-open client", "cut a service", "half-open service", "slow service",
    "kill a service", "restart the hub", "stop the hub", "drain the hub", "forging client", "forging service",
)  # fmt: skip


def batch(first: int) -> Counter[str]:
    """What a worker process does."""
    total: Counter[str] = Counter()
    for seed in range(first, first + BATCH):
        total += life.live(seed)
    return total


def parts(first: int, streams: int, jobs: int) -> Iterator[Counter[str]]:
    """Counts, part by part, until there were enough streams."""
    seen = 0
    if jobs == 1:
        while seen < streams:
            counts = life.live(first)
            seen += counts["streams"]
            yield counts
            first += 1
        return
    with ProcessPoolExecutor(jobs) as pool:
        while seen < streams:
            firsts = range(first, first + jobs * 4 * BATCH, BATCH)
            for counts in pool.map(batch, firsts):
                seen += counts["streams"]
                yield counts
            first = firsts.stop


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.hub", description=__doc__)
    parser.add_argument("--streams", type=int, default=100_000, help="how many at least (100,000)")
    parser.add_argument("--seed", type=int, default=1, help="the first one; the others follow it (1)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (1)")
    parser.add_argument(
        "--record", action="store_true", help="add a line to benchmarks/results/simulation-hub.md"
    )
    asked = parser.parse_args()
    total: Counter[str] = Counter()
    began = told = time.monotonic()
    try:
        for counts in parts(asked.seed, asked.streams, asked.jobs):
            total += counts
            if time.monotonic() - told > EVERY:
                told = time.monotonic()
                done = total["streams"]
                print(f"{done:,} streams, {done / (told - began):,.0f} a second", flush=True)
    except (life.Failure, RuntimeError) as failure:
        again = str(failure).partition(":")[0].removeprefix("seed ")
        command = f"python -m tests.simulation.hub --seed {again} --streams 1"
        print(f"{failure}\nagain: {command}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - began
    seeds = f"seeds {asked.seed} to {asked.seed + total['worlds'] - 1}"
    print(f"{total['streams']:,} streams in {seconds:,.1f} s, {seeds}: no rule broken")
    print("\n".join(f"  {name} {count:,}" for name, count in sorted(total.items())))
    if asked.record:
        outcome = f"no rule broken; {seeds}; " + ", ".join(f"{name} {total[name]:,}" for name in RECORDED)
        options = f"--streams {asked.streams} --seed {asked.seed} --jobs {asked.jobs}"
        file = results.add(
            "simulation-hub",
            "The simulated hub",
            measures=("src/framehub/hub",),
            command=f"make simulate-hub ARGS='{options}'",
            executions=total["streams"],
            seconds=seconds,
            outcome=outcome,
        )
        print(f"recorded in {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
