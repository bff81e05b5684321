"""What a run found: lines to read, targets hit or missed, and the file that keeps both."""

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import ROOT, cores

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("picows", "uvloop", "msgspec", "isal")
BEST_COUNTS = (
    "The best round of each counts; in brackets the lowest, median and highest ratio within a round."
)


class Target(NamedTuple):
    """One figure beside what was wanted of it."""

    what: str
    found: float
    wanted: float
    unit: str
    at_most: bool

    @property
    def is_hit(self) -> bool:
        """Whether it is as wanted."""
        return self.found <= self.wanted if self.at_most else self.found >= self.wanted

    @property
    def mark(self) -> str:
        """One word."""
        return "hit" if self.is_hit else "MISS"

    @property
    def bound(self) -> str:
        """What was wanted."""
        return f"{'at most' if self.at_most else 'at least'} {self.wanted:g} {self.unit}"

    @property
    def figure(self) -> str:
        """What was found."""
        return f"{self.found:.3g} {self.unit}" if self.found < 1000 else f"{self.found:,.0f} {self.unit}"


class Report:
    """Prints as it goes, and remembers."""

    def __init__(self) -> None:
        self.sections: list[tuple[str, list[str]]] = []
        self.measures: set[str] = set()
        """Paths in the repository that the figures are about."""
        self.targets: list[Target] = []
        self.method = BEST_COUNTS
        """What of the rounds counts, in words."""
        self.load_before = os.getloadavg()[0]

    def section(self, title: str, measures: Iterable[str]) -> None:
        """A benchmark begins; ``measures`` are the paths that it is about."""
        print(f"== {title}", flush=True)
        self.measures.update(measures)
        self.sections.append((title, []))

    def say(self, line: str = "") -> None:
        """One line of it."""
        print(f"   {line}".rstrip(), flush=True)
        self.sections[-1][1].append(line.rstrip())

    def at_least(self, what: str, found: float, wanted: float, unit: str = "x") -> str:
        """Note a figure that should be large; the mark to print beside it."""
        return self._note(Target(what, found, wanted, unit, at_most=False))

    def at_most(self, what: str, found: float, wanted: float, unit: str = "x") -> str:
        """Note a figure that should be small; the mark to print beside it."""
        return self._note(Target(what, found, wanted, unit, at_most=True))

    def _note(self, target: Target) -> str:
        self.targets.append(target)
        return target.mark

    def summary(self) -> list[str]:
        """Every target, one a line."""
        width = max(len(target.what) for target in self.targets)
        lines = [
            f"{target.mark:4}  {target.what:{width}}  {target.figure:>12}  ({target.bound})"
            for target in self.targets
        ]
        hits = sum(target.is_hit for target in self.targets)
        return [*lines, f"{hits} of {len(self.targets)} targets hit"]

    def save(self, name: str, command: str) -> Path:
        """Write ``benchmarks/results/NAME.md``; ``command`` is what measures it again."""
        file = RESULTS / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        lines = [f"# Results: {name}", "", *(f"- {line}" for line in self._circumstances(command)), ""]
        lines += [self.method, "", "## Targets", ""]
        lines += ["| target | wanted | found | |", "| --- | --- | --- | --- |"]
        lines += [f"| {one.what} | {one.bound} | {one.figure} | {one.mark} |" for one in self.targets]
        for title, said in self.sections:
            lines += ["", f"## {title}", "", "```text", *said, "```"]
        file.write_text("\n".join(lines) + "\n")
        return file

    def _circumstances(self, command: str) -> list[str]:
        chosen = cores()
        pinned = (
            f"server on core {chosen[0]}, client on core {chosen[1]} or, with one call in flight, beside it"
            if chosen
            else "not pinned"
        )
        libraries = ", ".join(f"{library} {version(library)}" for library in LIBRARIES)
        return [
            f"when: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            f"commit: {_commit()}",
            f"command: {command}",
            f"measures: {', '.join(sorted(self.measures))}",
            f"machine: {_processor()}, {os.cpu_count()} cores, {_memory()}; {pinned}",
            f"system: {platform.system()} {platform.release()}, Python {platform.python_version()}",
            f"libraries: {libraries}",
            f"load average before the run: {self.load_before:.2f}; after: {os.getloadavg()[0]:.2f}",
        ]


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + changed


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
