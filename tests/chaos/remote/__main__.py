"""``make chaos-remote``: 100,000 calls of a DataFrame while tasks, an executor, proxy and worker die."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.remote.stage import play


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos-remote", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="to call the function for (100,000)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="framehub-remote-") as place:
        told = play(Path(place), asked.rows, patience=1800.0)
    print(told)
    right = told.right == asked.rows and told.wrong == 0 and not told.unexplained and told.copied
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
