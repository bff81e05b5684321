"""CPU time of this process and all that it started, threads and those that have ended included."""

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
        for process in ours:
            begun, used = ticks[process]
            self._seen[process, begun] = used
        return sum(self._seen.values()) / _TICKS
