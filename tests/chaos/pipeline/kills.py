"""kill -9 of a run's processes at random moments, and what must be true after each."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pyarrow.parquet as pq

from framehub.pipeline.schemas import TABLES

VICTIMS = ("python", "java", "both")
"""The driver is two processes: either may be the one that dies."""
_FEW_CORES = ["--conf", "spark.driver.memory=1g", "--conf", "spark.sql.shuffle.partitions=2"]
T = TypeVar("T")
_CLUSTER = ["--master", "local-cluster[2,1,1024]"]


@dataclass(slots=True, kw_only=True)
class Killed:
    """What was done to a journal's tables."""

    kills: int = 0
    after: list[int] = field(default_factory=list)
    """Commits that were there at each kill."""


def start(
    journal: Path, out: Path, step_rows: int, *more: str, python: Path | None = None
) -> subprocess.Popen[str]:
    """A run in a process group of its own."""
    command = [sys.executable, "-m", "framehub", "pipeline", "run", str(journal), str(out)]
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    if python is not None:
        env["PYSPARK_PYTHON"] = str(python)
    return subprocess.Popen(
        [*command, "--step-rows", str(step_rows), *_FEW_CORES, *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )


def kill_drivers(
    journal: Path, out: Path, *, kills: int, step_rows: int, dice: random.Random, quiet: Path
) -> Killed:
    """Kill the driver so often, each time at a random point of its work, then let a run come to its end.

    A point is a set of tables that was made, and a number of paths that have come up under ``out`` since: it
    is in the same place of the work however busy the machine is. ``quiet`` are the tables of a whole run.
    """
    killed = Killed()
    steps, paths = commits(quiet), len(paths_below(quiet))
    while killed.kills < kills:
        step, point = dice.randrange(steps), dice.randint(1, paths)
        if commits(out) > step:
            shutil.rmtree(out)
        process = start(journal, out, step_rows)
        _watch(process, out, step, point)
        if process.poll() is None:
            _kill(process, dice.choice(VICTIMS))
            killed.kills += 1
            killed.after.append(commits(out))
        else:  # it was quicker than we look
            finish(process)
        for problem in problems(out):
            raise AssertionError(f"after {killed.kills} kills: {problem}")
    finish(start(journal, out, step_rows))
    return killed


def paths_below(place: Path) -> set[str]:
    """Every file and directory there is now, or was while we looked."""
    return {f"{folder}/{name}" for folder, *names in os.walk(place) for name in chain(*names)}


def _watch(process: subprocess.Popen[str], out: Path, step: int, point: int) -> None:
    """Until so many paths have come up in a step, or the next step has begun, or the run has ended."""
    seen: set[str] = set()
    before: set[str] | None = None
    while process.poll() is None and len(seen) < point:
        done = commits(out)
        if done > step:
            return
        if done == step:
            now = paths_below(out)
            before = now if before is None else before
            seen |= now - before
        time.sleep(0.01)


def kill_an_executor(
    journal: Path, out: Path, *, steps: int, step_rows: int, dice: random.Random, quiet: Path, python: Path
) -> int:
    """A run on two executors, one of which dies in the first half of a step; how many executors were seen.

    The half is measured as ``kill_drivers`` measures its points, so that work is left for the next.
    """
    process = start(journal, out, step_rows, *_CLUSTER, python=python)
    _wait(lambda: len(executors(process.pid)) == 2)
    seen = set(executors(process.pid))
    _watch(process, out, dice.randrange(steps), dice.randint(1, len(paths_below(quiet)) // 2))
    if process.poll() is not None:
        raise AssertionError("the run had ended before an executor could be killed")
    victim = dice.choice(sorted(executors(process.pid)))
    os.kill(victim, signal.SIGKILL)
    while process.poll() is None:
        seen |= set(executors(process.pid))
        time.sleep(0.2)
    finish(process)
    return len(seen)


def finish(process: subprocess.Popen[str]) -> None:
    """Wait for a run's end, which must be a good one."""
    _, said = process.communicate()
    if process.returncode != 0:
        raise AssertionError(f"the run ended with {process.returncode}:\n{said}")


def commits(out: Path) -> int:
    """How many sets of tables were made whole so far."""
    try:
        return int(json.loads((out / "current" / "manifest.json").read_bytes())["commit"])
    except FileNotFoundError:
        return 0


def problems(out: Path) -> Iterator[str]:
    """What is wrong with the tables that readers find now."""
    current = out / "current"
    if not current.exists():
        return
    manifest = json.loads((current / "manifest.json").read_bytes())
    for name in TABLES:
        rows = 0
        for file in (current / name).rglob("*"):
            if file.is_dir():
                continue
            try:
                rows += pq.ParquetFile(file).read(columns=["node"]).num_rows
            except Exception as exc:
                yield f"{file} cannot be read: {exc}"
        if rows != manifest["rows"][name]:
            yield f"{name} has {rows} rows, the manifest says {manifest['rows'][name]}"


def executors(driver: int) -> list[int]:
    """Processes of executors that a driver has started."""
    return [
        process
        for process in _below(driver)
        if b"CoarseGrainedExecutorBackend" in _read(f"/proc/{process}/cmdline")
    ]


def _kill(process: subprocess.Popen[str], victim: str) -> None:
    java = [found for found in _below(process.pid) if b"SparkSubmit" in _read(f"/proc/{found}/cmdline")]
    if victim in ("java", "both"):
        for found in java:
            os.kill(found, signal.SIGKILL)
    if victim in ("python", "both") or not java:
        process.kill()
    process.communicate()
    # What is left of it ends by itself; if it does not, that is a fault too.
    _wait(lambda: not any(Path(f"/proc/{found}").exists() for found in java) or None)


def _below(parent: int) -> list[int]:
    children = [int(child) for child in _read(f"/proc/{parent}/task/{parent}/children").split()]
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        children += [child for child in map(int, _read(str(task)).split()) if child not in children]
    return children + [deeper for child in children for deeper in _below(child)]


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _wait(found: Callable[[], T], seconds: float = 300.0) -> T:
    deadline = time.monotonic() + seconds
    while not (value := found()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come")
        time.sleep(0.05)
    return value
