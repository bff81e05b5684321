"""``python -m tests.chaos.rpc``: kill workers, their processes, the proxy and clients, as often as asked."""

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from scripts import results
from tests.chaos.rpc.checker import KINDS
from tests.chaos.rpc.scenario import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.rpc", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each kind (100)")
    parser.add_argument("--seed", type=int, default=1, help="which victims, and when (1)")
    parser.add_argument("--record", action="store_true", help="add a line to benchmarks/results/chaos-rpc.md")
    parser.add_argument(
        "scenarios", nargs="*", default=[*KINDS, "mixed"], help="proxy, worker, child, client, mixed (all)"
    )
    asked = parser.parse_args()
    failed = False
    for name in asked.scenarios:
        mixed = [kind for kind in KINDS for _ in range(asked.kills)]
        random.Random(asked.seed).shuffle(mixed)
        kinds = mixed if name == "mixed" else [name] * asked.kills
        folder = Path(tempfile.mkdtemp(prefix="framehub-chaos-"))
        verdict = run(folder, kinds, seed=asked.seed)
        told = ", ".join(f"{what} {count:,}" for what, count in sorted(verdict.figures.items()))
        broken = f"{len(verdict.problems)} rules broken" if verdict.problems else "no rule broken"
        print(f"{name}: {broken}; {told}", flush=True)
        for problem in verdict.problems[:20]:
            print(f"  {problem}", file=sys.stderr)
        if verdict.problems:
            failed = True
            print(f"  what was written down is in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder)
        if asked.record:
            command = f"make chaos ARGS='--kills {asked.kills} --seed {asked.seed} {name}'"
            results.add(
                "chaos-rpc",
                "Remote functions under kill -9",
                measures=("src/framehub/rpc", "src/framehub/runtime"),
                command=command,
                executions=verdict.figures["executions"],
                seconds=verdict.figures["seconds"],
                outcome=f"{broken}; {told}",
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
