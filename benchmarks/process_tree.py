"""CPU time and memory of this process and all that it started; of time, that of those that have ended too."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


class ProcessTree:
    """Ours, the JVM, and every Python that it started.

    Spark lets idle Python workers go, and their parent does not take over their time: what was seen of a
    process is remembered here.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], int] = {}

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        for process, (begun, used) in _ours().items():
            self._seen[process, begun] = used
        return sum(self._seen.values()) / _TICKS

    def memory(self, besides: set[int]) -> int:
        """Bytes that they hold now, but for some of them; what two share counts half for each."""
        total = 0
        for process in self.processes() - besides:
            try:
                lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        return total

    def processes(self) -> set[int]:
        """Those that are there now."""
        return set(_ours())


def _ours() -> dict[int, tuple[int, int]]:
    """When each began, and the time that it has used, in ticks."""
    parents: dict[int, int] = {}
    ticks: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = int(fields[19]), int(fields[11]) + int(fields[12])
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return {process: ticks[process] for process in ours}
