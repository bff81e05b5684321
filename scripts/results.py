"""Long runs write a line each into benchmarks/results/NAME.md: what was run, on what, what came of it."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
COLUMNS = ("day", "commit", "command", "executions", "seconds", "a second", "outcome")


def commit() -> str:
    """The commit that runs, with a mark if the tree differs from it; results themselves do not count."""
    root = RESULTS.parents[1]

    def git(*words: str) -> str:
        command = ["git", *words]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


def add(
    name: str,
    title: str,
    *,
    measures: Sequence[str],
    command: str,
    executions: int,
    seconds: float,
    outcome: str,
) -> Path:
    """Append a line; the file is made if it is not there.

    ``measures`` are the paths that the run is about: ``scripts/stale.py`` tells when they have changed.
    """
    file = RESULTS / f"{name}.md"
    if not file.exists():
        RESULTS.mkdir(parents=True, exist_ok=True)
        head = " | ".join(COLUMNS)
        said = f"- measures: {', '.join(measures)}"
        file.write_text(f"# {title}\n\n{said}\n\n| {head} |\n|{' --- |' * len(COLUMNS)}\n")
    rate = executions / max(seconds, 1e-9)
    day = time.strftime("%Y-%m-%d", time.gmtime())
    cells = (day, commit(), f"`{command}`", f"{executions:,}", f"{seconds:,.0f}", f"{rate:,.0f}", outcome)
    with file.open("a") as lines:
        lines.write(f"| {' | '.join(cells)} |\n")
    return file
