"""``python -m tests.chaos.resets``: reset connections under full queues, as client, worker and service."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from scripts import results
from tests.chaos.resets.resets import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.resets", description=__doc__)
    parser.add_argument("--resets", type=int, default=100_000, help="with keys and without, each (100,000)")
    parser.add_argument("--seed", type=int, default=1, help="how much is sent before each reset (1)")
    parser.add_argument("--record", action="store_true", help="add a line to benchmarks/results/resets.md")
    parser.add_argument("kinds", nargs="*", default=["plain", "curve"], help="plain, curve")
    asked = parser.parse_args()
    failed = False
    for kind in asked.kinds:
        folder = Path(tempfile.mkdtemp(prefix="framehub-resets-"))
        told = 0

        def tell(done: int, kind: str = kind) -> None:
            nonlocal told
            if done - told >= 1_000:
                told = done
                print(f"\r{kind}: {done:,} of {asked.resets:,}", end="", file=sys.stderr, flush=True)

        verdict = run(folder, resets=asked.resets, keyed=kind == "curve", seed=asked.seed, tell=tell)
        outcome = (
            verdict.problem
            or f"the gateway lives; {verdict.calls:,} calls right, {verdict.refused:,} refused"
        )
        print(f"\r{kind}: {verdict.resets:,} resets in {verdict.seconds:,.0f} s: {outcome}", flush=True)
        if verdict.problem:
            failed = True
            print(f"  what was written down is in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder)
        if asked.record:
            results.add(
                "resets",
                "Connections reset under full queues",
                command=f"make resets ARGS='--resets {asked.resets} --seed {asked.seed} {kind}'",
                measures=("src/framehub/runtime",),
                executions=verdict.resets,
                seconds=verdict.seconds,
                outcome=outcome,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
