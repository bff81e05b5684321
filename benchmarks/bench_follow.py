"""A live gateway, followed: seconds from a frame to its row in the tables.

``framehub serve`` with the sample's endpoints, clients that ask, stream and fail at random, and ``framehub
pipeline follow``, each in a process of its own. Of every set of tables that is made the age of its newest
frame and of its oldest new one are taken, when it was there: how fresh tables are at best and at worst.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO

import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.report import Report
from framehub.gateway.traffic import drive

MEASURES = ("src/framehub/gateway", "src/framehub/journal", "src/framehub/pipeline")

SECONDS = 90.0
PAUSE = 0.5
FIRST = 3
"""Sets of tables that only warm up."""


@contextmanager
def started(*words: str) -> Iterator[IO[str]]:
    """What a command of ours says, line by line."""
    command = [sys.executable, "-m", "framehub", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.terminate()
        process.wait(timeout=60)


def keep_asking(url: str, done: threading.Event) -> None:
    """Traffic until the end."""
    seed = 0
    while not done.wait(PAUSE):
        seed += 1
        asyncio.run(drive(url, clients=2, rounds=10, seed=seed))


def ages(frames: Path, after: int, now: float) -> tuple[float, float, int]:
    """Of the frames after that row: the age of the newest and the oldest, and how many they are."""
    rows = ds.dataset(frames, format="parquet", partitioning="hive").to_table(
        columns=["time"], filter=pc.field("seq") > after
    )
    ends = pc.min_max(rows.column("time")).as_py()
    return now - ends["max"].timestamp(), now - ends["min"].timestamp(), rows.num_rows


def main(report: Report) -> None:
    done = threading.Event()
    found: list[tuple[float, float, int]] = []
    with tempfile.TemporaryDirectory() as temporary:
        journal, out = Path(temporary) / "journal", Path(temporary) / "out"
        serve = ("serve", "--app", "framehub.gateway.sample:endpoints", "--journal", str(journal))
        places = [word for name in ("listen", "clients", "workers") for word in (f"--{name}", "127.0.0.1:0")]
        with started(*serve, *places) as said:
            url = dict(word.split("=", 1) for word in said.readline().split()[1:])["mfp"]
            asking = threading.Thread(target=keep_asking, args=(url, done))
            asking.start()
            time.sleep(2 * PAUSE)  # so that there is a journal
            try:
                with started("pipeline", "follow", str(journal), str(out), "--every", "0", "--json") as lines:
                    after, ends = 0, time.monotonic() + SECONDS
                    for line in lines:
                        now, told = time.time(), json.loads(line)
                        found.append(ages(out / "current" / "frames", after, now))
                        (after,) = told["nodes"].values()
                        if time.monotonic() > ends:
                            break
            finally:
                done.set()
                asking.join()
    usual = found[FIRST:]
    newest, oldest = ([row[place] for row in usual] for place in (0, 1))
    frames = median(row[2] for row in usual)
    report.say(f"{len(usual)} sets of tables, a median of {frames:,.0f} new frames each")
    report.say(f"{'seconds from a frame to its row':34} {'median':>8} {'least':>8} {'most':>8}")
    for name, seconds in (("the newest frame of each set", newest), ("the oldest new one", oldest)):
        report.say(f"{name:34} {median(seconds):8.2f} {min(seconds):8.2f} {max(seconds):8.2f}")
