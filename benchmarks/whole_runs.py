"""Whole runs of the pipeline as their users start them: CPU time of every process, and peak memory."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.process_tree import ProcessTree

LOOK = 0.2
"""Seconds between two looks at the processes: what one did in its last of these is not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a command took."""

    cpu: float
    clock: float
    peak: int
    """Bytes, of all its processes together."""
    said: str


def spent(command: Sequence[str]) -> Spent:
    """Run a command and count what it and all that it starts take."""
    tree, began = ProcessTree(), time.perf_counter()
    before, others = tree.cpu_seconds(), tree.processes()
    peak, done = 0, threading.Event()

    def look() -> None:
        nonlocal peak
        while not done.wait(LOOK):
            tree.cpu_seconds()
            peak = max(peak, tree.memory(others))

    watching = threading.Thread(target=look)
    watching.start()
    try:
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        clock = time.perf_counter() - began
        done.set()
        watching.join()
    if finished.returncode != 0:
        raise RuntimeError(f"{command} ended with {finished.returncode}:\n{finished.stderr}")
    return Spent(cpu=tree.cpu_seconds() - before, clock=clock, peak=peak, said=finished.stdout)


def run(journal: Path, out: Path, *more: str) -> tuple[Spent, dict[str, Any]]:
    """``framehub pipeline run``, and what it says."""
    command = [sys.executable, "-m", "framehub", "pipeline", "run", str(journal), str(out), "--json", *more]
    taken = spent(command)
    return taken, json.loads(taken.said)
