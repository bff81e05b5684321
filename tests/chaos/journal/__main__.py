"""``python -m tests.chaos.journal``: kill a gateway under traffic; does its journal keep its word?"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from scripts import results
from tests.chaos.journal.kills import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.journal", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="how many (100)")
    parser.add_argument("--seed", type=int, default=1, help="which moments (1)")
    parser.add_argument(
        "--record", action="store_true", help="add a line to benchmarks/results/chaos-journal.md"
    )
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="framehub-chaos-"))
    verdict = run(folder, asked.kills, seed=asked.seed)
    told = ", ".join(f"{what} {count:,}" for what, count in verdict.figures.items())
    outcome = f"{len(verdict.problems)} problems" if verdict.problems else "nothing lost"
    print(f"{outcome}; {told}")
    for problem in verdict.problems[:20]:
        print(f"  {problem}", file=sys.stderr)
    if asked.record:
        results.add(
            "chaos-journal",
            "The journal under kill -9",
            measures=("src/framehub/gateway", "src/framehub/journal"),
            command=f"make chaos-journal ARGS='--kills {asked.kills} --seed {asked.seed}'",
            executions=verdict.figures["acknowledged"],
            seconds=verdict.figures["seconds"],
            outcome=f"{outcome}; {told}",
        )
    if verdict.problems:
        print(f"  journal, ledger and log are in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
