"""``make stale``: saved results that are older than what they measure.

A result in benchmarks/results says in lines of its head what it measures, at which commit, and by what:

    - when: 2026-11-19 05:47 UTC
    - commit: 0395ab21ca
    - command: make bench ARGS="attacks --save attacks"
    - measures: src/framehub/gateway, src/framehub/mfp

Where a table has a line for each run, the newest of each kind counts, by its own commit and command. A flame
graph has the same lines in a comment. It is stale if its paths are not now what they were at that commit.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from scripts.results import RESULTS

ROOT = RESULTS.parents[1]
_HEAD = re.compile(r"- (when|commit|command|measures): (.+)")
_ROW = re.compile(r"\| (\d{4}-\d\d-\d\d) \| (\w+\+?) \| `([^`]+)` \|")


class Result(NamedTuple):
    """One measurement that is kept."""

    file: Path
    when: str
    commit: str
    """With "+" or " with changes" if the tree was not quite that commit's."""
    command: str
    measures: tuple[str, ...]
    """Paths in the repository."""


def results_in(file: Path) -> list[Result]:
    """What a file keeps; of runs of the same kind only the newest."""
    head: dict[str, str] = {}
    runs: dict[str, tuple[str, str, str]] = {}
    for line in file.read_text().splitlines():
        if line.startswith("## "):
            break
        if said := _HEAD.fullmatch(line):
            head.setdefault(said[1], said[2])
        elif row := _ROW.match(line):
            runs[_kind(row[3])] = (row[1], row[2], row[3])
    measures = tuple(path.strip() for path in head.get("measures", "").split(",") if path.strip())
    alone = (head.get("when", ""), head.get("commit", ""), head.get("command", ""))
    return [Result(file, *run, measures) for run in runs.values() or [alone]]


def _kind(command: str) -> str:
    """A command without its numbers and options: ``make fuzz codec``."""
    words = [word for whole in shlex.split(command) for word in whole.removeprefix("ARGS=").split()]
    return " ".join(word for word in words if not word.startswith("-") and not word.isdigit())


class History:
    """What git knows about a tree; ``is_known`` if it knows anything."""

    def __init__(self, root: Path) -> None:
        self._root = root
        top = (
            self._git("rev-parse", "--show-toplevel") if self._git("rev-parse", "--verify", "HEAD") else None
        )
        self.is_known = top is not None and Path(top).resolve() == root.resolve()

    def why_stale(self, result: Result) -> str | None:
        """What has changed since a result was measured, or why nobody knows; None if nothing has."""
        commit = result.commit.split(" ")[0].rstrip("+")
        if not commit or not result.measures:
            return "cannot tell: it does not say its commit and what it measures"
        if self._git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}") is None:
            return "cannot tell: this repository does not have the commit"
        mine = self._git("status", "--porcelain", "--", *result.measures)
        if not mine and self._git("diff", "--quiet", commit, "--", *result.measures) is not None:
            return None
        if self._git("merge-base", "--is-ancestor", commit, "HEAD") is None:
            since = "other than at that commit: "
            told = [
                path for path in result.measures if self._git("diff", "--quiet", commit, "--", path) is None
            ]
        else:
            since = "since then "
            counted = [
                (path, int(self._git("rev-list", "--count", f"{commit}..HEAD", "--", path) or 0))
                for path in result.measures
            ]
            told = [f"{path} {count} commit{'s' * (count != 1)}" for path, count in counted if count]
        return since + ", ".join(told + ["changes that are not committed"] * bool(mine))

    def _git(self, *words: str) -> str | None:
        """What git says; None if it says no, or is not there."""
        try:
            done = subprocess.run(  # noqa: S603
                ["git", *words],  # noqa: S607
                cwd=self._root,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None


def told(root: Path, results: Path) -> list[str]:
    """The list, line by line."""
    history = History(root)
    if not history.is_known:
        return ["There is no git history here: nobody can tell which results are stale."]
    every = [result for file in sorted(results.glob("*.*")) for result in results_in(file)]
    found = [(result, why) for result in every if (why := history.why_stale(result)) is not None]
    lines = []
    for result, why in found:
        lines += [
            f"{result.file.relative_to(root)}: measured at {result.commit or '?'}, {result.when or '?'}",
            f"  {why}",
            f"  anew: {result.command or '?'}",
        ]
    unknown = sum(why.startswith("cannot tell") for _, why in found)
    return [
        *lines,
        f"{len(found) - unknown} of {len(every)} results are older than what they measure"
        + (f"; of {unknown} nobody can tell" if unknown else ""),
    ]


def main() -> int:
    """Print the list; whatever it says, it is no failure."""
    print("\n".join(told(ROOT, RESULTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
