"""A job in a cluster, its functions' proxy and workers; what dies, and what must be true after."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pyarrow.dataset as ds

from tests.chaos.pipeline.kills import executors
from tests.chaos.remote.offered import salted_by
from tests.cluster.__main__ import cluster
from tests.spark.offering import Offering

ROOT = Path(__file__).parents[3]


@dataclass(slots=True, kw_only=True)
class Told:
    """What happened, as the files tell it."""

    rows: int
    seconds: float
    right: int = 0
    wrong: int = 0
    executions: int = 0
    repeated: int = 0
    """Rows that were executed more than once."""
    unexplained: list[int] = field(default_factory=list)
    """Those of them for which nobody had died in between."""
    deaths: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    """Tasks that began, retries and copies among them."""
    copied: bool = False
    """Whether Spark started a second copy of the slow task, beside it."""

    def __str__(self) -> str:
        deaths = ", ".join(f"{count} x {what}" for what, count in sorted(self.deaths.items()))
        return (
            f"{self.rows:,} rows in {self.seconds:.0f} s: {self.right:,} right, {self.wrong} wrong;"
            f" {self.executions:,} executions, {self.repeated} rows more than once,"
            f" {len(self.unexplained)} of them without a death;"
            f" {self.attempts} tasks, {'a' if self.copied else 'no'} copy of a slow one among them;"
            f" deaths: {deaths}"
        )


def play(folder: Path, rows: int, *, patience: float = 900.0) -> Told:
    """Run the job; kill an executor at a fifth of the calls, the proxy at half, a worker at two thirds."""
    shutil.copy(Path(__file__).with_name("offered.py"), folder / "offered.py")
    scene = Offering(folder)
    began = time.monotonic()
    try:
        proxy = scene.serve()
        clients, workers = (each.removeprefix("tcp://") for each in (scene.clients, scene.workers))
        victim = scene.work("offered")
        scene.work("offered")
        (folder / "cluster").mkdir()
        with cluster(folder / "cluster", ("127.0.0.1", "127.0.0.2")) as master:
            job = _start(folder, master, scene.clients, rows)
            try:
                _reach(folder, job, rows // 5, patience)
                since = time.time_ns()
                os.kill(sorted(executors(os.getpid()))[0], signal.SIGKILL)
                _died(folder, "executor", since)
                _reach(folder, job, rows // 2, patience)
                since = time.time_ns()
                proxy.kill()
                proxy.wait()
                _died(folder, "proxy", since)
                scene.serve(clients, workers)
                _reach(folder, job, rows * 2 // 3, patience)
                since = time.time_ns()
                victim.kill()
                victim.wait()
                _died(folder, "worker", since)
                _, said = job.communicate(timeout=patience)
                assert job.returncode == 0, said
            finally:
                if job.poll() is None:
                    os.killpg(job.pid, signal.SIGKILL)
                    job.communicate()
        return judge(folder, rows, time.monotonic() - began)
    finally:
        scene.close()


def judge(folder: Path, rows: int, seconds: float) -> Told:
    """Compare what came out with what is right, and executions with deaths."""
    told = Told(rows=rows, seconds=seconds)
    table = ds.dataset(folder / "out", format="parquet").to_table().to_pydict()
    got = dict(zip(table["id"], table["salted"], strict=True))
    told.right = sum(got.get(row) == salted_by(row) for row in range(rows))
    told.wrong = len(table["id"]) - told.right
    deaths = [line.split() for line in (folder / "deaths").read_text().splitlines()]
    told.deaths = Counter(what for what, *_ in deaths)
    times = [(int(when[0]), int(when[-1])) for _, *when in deaths]
    runs: dict[int, list[int]] = defaultdict(list)
    for file in folder.glob("executions-*"):
        for line in file.read_text().splitlines():
            row, time_ns = map(int, line.split())
            runs[row].append(time_ns)
    told.executions = sum(map(len, runs.values()))
    for row, when in runs.items():
        when.sort()
        told.repeated += len(when) > 1
        if any(
            not any(first <= end and begin <= again for begin, end in times)
            for first, again in pairwise(when)
        ):
            told.unexplained.append(row)
    told.attempts = len((folder / "attempts").read_text().splitlines())
    told.copied = (folder / "copied").exists()
    return told


def _start(folder: Path, master: str, address: str, rows: int) -> "subprocess.Popen[str]":
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.chaos.remote.job", master, str(folder), address, str(rows)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        cwd=ROOT,
        start_new_session=True,
    )


def _reach(folder: Path, job: "subprocess.Popen[str]", executions: int, patience: float) -> None:
    """Until so many calls were executed."""
    until = time.monotonic() + patience
    while _lines(folder) < executions:
        if job.poll() is not None:
            raise AssertionError(f"the job ended early: {job.communicate()[1]}")
        if time.monotonic() > until:
            raise TimeoutError(f"{_lines(folder)} of {executions} executions")
        time.sleep(0.05)


def _lines(folder: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.glob("executions-*"))


def _died(folder: Path, what: str, since: int) -> None:
    """Between ``since`` and now: others may do its work again before we hear that it is dead."""
    with (folder / "deaths").open("a") as file:
        file.write(f"{what} {since} {time.time_ns()}\n")
