"""``python -m tests.simulation``: simulate many connections; a failing seed is printed with its story.

A failure says ``seed N``. To see it again: ``python -m tests.simulation --seed N --connections 1``.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from scripts import results
from tests.simulation import life

BATCH = 100
"""Seeds that a worker process takes at once."""
EVERY = 5.0
"""Seconds between two lines of progress."""
OUTCOMES = (
    ("connections", ("events", "frames", "cut", "silence", "calm", "found ", "misbehaved", "refused frames")),
    ("requests", ("request ",)),
    ("messages", ("message ", "announced lost")),
    ("streams", ("stream ",)),
    ("answers come late", ("answers ",)),
    ("acks sent", ("ackable accepted", "pings", "knocks", "too many")),
    ("ids wrapped", ("live ids passed over",)),
    ("forged frames", ("clock jumps", "waits for room", "calls refused")),
)


def batch(first: int) -> Counter[str]:
    """What a worker process does."""
    total: Counter[str] = Counter()
    for seed in range(first, first + BATCH):
        total += life.live(seed)
    total["seeds"] = BATCH
    return total


def parts(first: int, connections: int, jobs: int) -> Iterator[Counter[str]]:
    """Counts, part by part, until there were enough connections."""
    if jobs == 1:
        for counts in life.lives(first, connections):
            counts["seeds"] = 1
            yield counts
        return
    seen = 0
    with ProcessPoolExecutor(jobs) as pool:
        while seen < connections:
            firsts = range(first, first + jobs * 4 * BATCH, BATCH)
            for counts in pool.map(batch, firsts):
                seen += counts["connections"]
                yield counts
            first = firsts.stop


def summary(total: Counter[str]) -> str:
    """All counts, a line for each subject."""
    lines = []
    for subject, related in OUTCOMES:
        found = [name for name in sorted(total) if name.startswith(related) and name != subject]
        lines.append(
            f"  {subject} {total[subject]:,}: " + ", ".join(f"{name} {total[name]:,}" for name in found)
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--connections", type=int, default=10_000, help="how many at least (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="the first one; the others follow it (1)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (1)")
    parser.add_argument(
        "--record", action="store_true", help="add a line to benchmarks/results/simulation.md"
    )
    asked = parser.parse_args()
    total: Counter[str] = Counter()
    began = told = time.monotonic()
    try:
        for counts in parts(asked.seed, asked.connections, asked.jobs):
            total += counts
            if time.monotonic() - told > EVERY:
                told = time.monotonic()
                done = total["connections"]
                print(f"{done:,} connections, {done / (told - began):,.0f} a second", flush=True)
    except (life.Failure, RuntimeError) as failure:
        again = str(failure).partition(":")[0].removeprefix("seed ")
        print(f"{failure}\nagain: python -m tests.simulation --seed {again} --connections 1", file=sys.stderr)
        return 1
    seconds = time.monotonic() - began
    seeds = f"seeds {asked.seed} to {asked.seed + total['seeds'] - 1}"
    print(f"{total['connections']:,} connections in {seconds:,.1f} s, {seeds}: no rule broken")
    print(summary(total))
    if asked.record:
        told_of = ("events", "frames", "requests", "streams", "cut", "silence", "forged frames")
        outcome = f"no rule broken; {seeds}; " + ", ".join(f"{name} {total[name]:,}" for name in told_of)
        options = f"--connections {asked.connections} --seed {asked.seed} --jobs {asked.jobs}"
        command = f"make simulate ARGS='{options}'"
        file = results.add(
            "simulation",
            "Simulated connections",
            measures=("src/framehub/mfp",),
            command=command,
            executions=total["connections"],
            seconds=seconds,
            outcome=outcome,
        )
        print(f"recorded in {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
