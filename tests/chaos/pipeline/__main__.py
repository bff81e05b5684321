"""``make pipeline-kills``: kill -9 of the driver at random points, and of an executor; the same tables."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from framehub.journal.generate import generate
from tests.chaos.pipeline.kills import commits, finish, kill_an_executor, kill_drivers, problems, start
from tests.cluster.same import rows_of, without_us

EXECUTORS = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="make pipeline-kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=10, help="of the driver (10)")
    parser.add_argument("--frames", type=int, default=20_000, help="of the journal (20,000)")
    parser.add_argument("--step-rows", type=int, default=6000, help="that a run takes in at a time (6,000)")
    parser.add_argument("--seed", type=int, default=1, help="which victims, and when (1)")
    asked = parser.parse_args()
    dice, failed = random.Random(asked.seed), False
    with tempfile.TemporaryDirectory(prefix="framehub-kills-") as place:
        root = Path(place)
        journal = root / "journal"
        generate(journal, frames=asked.frames, seed=asked.seed, segment_bytes=2_000_000, faults="all")
        finish(start(journal, root / "quiet", asked.step_rows))
        quiet = rows_of(root / "quiet" / "current")

        def judge(out: Path, told: str) -> bool:
            wrong = list(problems(out))
            same = rows_of(out / "current") == quiet
            print(
                f"{told}: the tables are {'the same' if same else 'NOT THE SAME'}",
                *wrong,
                sep="\n  ",
                flush=True,
            )
            return same and not wrong

        killed = kill_drivers(
            journal,
            root / "killed",
            kills=asked.kills,
            step_rows=asked.step_rows,
            dice=dice,
            quiet=root / "quiet",
        )
        told = f"{killed.kills} kills of the driver, after {killed.after} sets of tables"
        failed |= not judge(root / "killed", told)
        for number in range(EXECUTORS):
            out = root / f"executor-{number}"
            seen = kill_an_executor(
                journal,
                out,
                steps=commits(root / "quiet"),
                step_rows=asked.step_rows,
                dice=dice,
                quiet=root / "quiet",
                python=without_us(root),
            )
            failed |= not judge(out, f"one of 2 executors killed, {seen} seen")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
