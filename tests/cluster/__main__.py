"""``make cluster``: a standalone master and two workers on the loopback address, and a run over them.

The executors' Python cannot import framehub by itself: what they run was shipped. The tables must be those
that one machine makes.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

from framehub.journal.generate import generate
from framehub.pipeline import java
from tests.cluster.same import rows_of, without_us

PATIENCE = 60.0


def main() -> None:
    options = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    options.add_argument("--frames", type=int, default=40_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="framehub-cluster-") as place:
        root = Path(place)
        generate(
            root / "journal", frames=chosen.frames, seed=chosen.seed, segment_bytes=4_000_000, faults="all"
        )
        with cluster(root) as master:
            print(f"a master at {master}, two workers")
            run(root, "cluster", ["--master", master], {"PYSPARK_PYTHON": str(without_us(root))})
        run(root, "alone", [], {})
        ours, theirs = rows_of(root / "alone" / "current"), rows_of(root / "cluster" / "current")
        for name, rows in ours.items():
            same = rows == theirs[name]
            print(f"{name:<12}{len(rows):>9,} rows, {'the same' if same else 'NOT THE SAME'}")
        if ours != theirs:
            sys.exit(1)


def run(root: Path, out: str, options: list[str], env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "framehub", "pipeline", "run", "journal", out, *options]
    began = time.monotonic()
    subprocess.run(command, cwd=root, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **env}, check=True)
    print(f"{out}: {time.monotonic() - began:.0f} s")


@contextmanager
def cluster(root: Path, hosts: Sequence[str] = ("127.0.0.1", "127.0.0.1")) -> Iterator[str]:
    """The address of a master with two workers of one core each.

    To Spark, ``hosts`` that differ are two machines: it starts no second copy of a task where one runs.
    """
    found = java.find()
    env = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOG_DIR": str(root)}
    if found.home is not None:
        env["JAVA_HOME"] = str(found.home)
    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, host: str, *command: str) -> Path:
        log = root / f"{name}.log"
        with log.open("wb") as file:
            whole = [program, f"org.apache.spark.deploy.{command[0]}", "--host", host, *command[1:]]
            own = {**env, "SPARK_LOCAL_IP": host}
            started.append(subprocess.Popen(whole, env=own, stdout=file, stderr=file))
        return log

    try:
        log = start("master", "127.0.0.1", "master.Master", "--port", "0", "--webui-port", "0")
        master = wait_for(log, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        for number, host in enumerate(hosts, 1):
            work = root / f"work-{number}"
            log = start(
                f"worker-{number}", host, "worker.Worker", "--port", "0", "--webui-port", "0",
                "--cores", "1", "--memory", "1200m", "--work-dir", str(work), master,
            )  # fmt: skip
            wait_for(log, r"(Successfully registered with master)")
        yield master
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=PATIENCE)


def wait_for(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(f"{log} does not say {pattern!r}:\n{log.read_text(errors='replace')}")


if __name__ == "__main__":
    main()
