"""The job of this chaos: a driver whose tasks call a function, fail, are slow and are run twice."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext

PARTITIONS = 8
FAILING = (1, 4)
"""One task of each fails after most of its rows."""
SLOW = PARTITIONS - 1
"""Its tasks wait in the middle until Spark has started one more beside one of them."""
SECONDS = 180.0
"""So long at most."""


def disturb(folder: str, last: int) -> Any:
    """What follows the calls in each task: fails once, or dawdles."""

    def after(batches: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        assert context is not None
        partition, attempt = context.partitionId(), context.attemptNumber()
        with Path(folder, "attempts").open("a") as file:
            file.write(f"{partition} {attempt}\n")
        for number, batch in enumerate(batches):
            if partition == SLOW and number == 2:
                dawdle(Path(folder), attempt)
            if partition in FAILING and number == last and first(Path(folder, f"failed-{partition}")):
                with Path(folder, "deaths").open("a") as file:
                    file.write(f"task {time.time_ns()}\n")
                raise RuntimeError("this task was to fail")
            yield batch

    return after


def dawdle(folder: Path, attempt: int) -> None:
    """Until a task of the slow partition began after this one, or another saw one begin after it."""
    until = time.monotonic() + SECONDS
    while not (folder / "copied").exists() and time.monotonic() < until:
        began = (folder / "attempts").read_text().splitlines()
        if any(line.startswith(f"{SLOW} ") for line in began[began.index(f"{SLOW} {attempt}") + 1 :]):
            (folder / "copied").touch()
        time.sleep(0.1)


def first(path: Path) -> bool:
    """Whether nobody was here before."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def main() -> None:
    master, folder, address, rows = *sys.argv[1:4], int(sys.argv[4])
    from framehub.pipeline import remote, session

    batch = max(50, rows // PARTITIONS // 8)
    spark = session(
        master,
        "remote chaos",
        log=Path(folder, "spark.log"),
        conf={
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "900m",
            "spark.task.maxFailures": "8",
            "spark.speculation": "true",
            "spark.speculation.interval": "200ms",
            "spark.speculation.multiplier": "1.2",
            "spark.speculation.quantile": "0.3",
            "spark.speculation.minTaskRuntime": "500ms",
            "spark.sql.execution.arrow.maxRecordsPerBatch": str(batch),
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        },
    )
    salted = remote("salted", address, window=64)
    called = spark.range(0, rows, numPartitions=PARTITIONS).select("id", salted("id").alias("salted"))
    called.mapInArrow(disturb(folder, 5), called.schema).write.parquet(str(Path(folder, "out")))
    spark.stop()


if __name__ == "__main__":
    main()
