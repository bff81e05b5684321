"""A Spark session that works out of the box: Java found, loopback only, UTC, quiet."""

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedWriter
from pathlib import Path
from typing import Final, NoReturn

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from framehub.errors import PipelineError
from framehub.pipeline import java
from framehub.pipeline.failures import FAILURES, reason
from framehub.pipeline.shipping import ship
from framehub.private import FILE_MODE

SQL: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # What Catalyst infers from conditions grows without bound with the audit's.
    "spark.sql.constraintPropagation.enabled": "false",
    # Timestamps that every Parquet reader understands.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    # Of a key that comes twice the last one counts, as in every other JSON reader here.
    "spark.sql.variant.allowDuplicateKeys": "true",
    # VARIANT as two plain columns: the newer forms keep some readers (Polars) from opening the file at all.
    "spark.sql.variant.writeShredding.enabled": "false",
    "spark.sql.parquet.variant.annotateLogicalType.enabled": "false",
}
"""What the tables depend on; ``run`` sets these in any session it is given."""

_INTERRUPTED: Final = ("KeyboardInterrupt while sending command.", "Exception while sending command.")
"""What py4j logs, with a traceback, of a Ctrl-C that its caller hears of anyway."""
_MIB: Final = 2**20
_LARGEST_HEAP: Final = 4096 * _MIB
_SMALLEST_HEAP: Final = 512 * _MIB


def session(
    master: str | None = None,
    app: str = "framehub",
    *,
    log: Path | None = None,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark, or take the session that runs in this process.

    Args:
        master: where to run, as Spark spells it; by default all cores of this machine.
        app: the name that Spark shows.
        log: a file for what the JVM would print on the terminal.
        conf: more Spark settings; they win over ours.

    Raises:
        PipelineError: no usable Java, another master already runs in this process, or Spark did not start.
    """
    if (found := running(master)) is not None:
        return found
    master = master or "local[*]"
    settings = _settings(master, app) | dict(conf or {})
    _prepare_environment(master)
    try:
        _start(SparkConf().setAll(list(settings.items())), log)
        if not master.startswith("local["):
            ship(SparkContext._active_spark_context)
        return SparkSession.builder.getOrCreate()
    except (*FAILURES, OSError) as exc:
        if (half_started := SparkContext._active_spark_context) is not None:
            half_started.stop()
        raise PipelineError(f"Spark did not start on {master}: {_reason(exc, log)}") from exc


def end(spark: SparkSession) -> None:
    """End what ``session`` started, quietly also after a Ctrl-C: the JVM ends with us anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        spark.stop()


def running(master: str | None = None) -> SparkSession | None:
    """The session that runs in this process, if one does.

    Raises:
        PipelineError: it runs elsewhere than on ``master``.
    """
    context = SparkContext._active_spark_context
    if context is None:
        return None
    if master is not None and context.master != master:
        raise PipelineError(
            f"Spark already runs in this process on {context.master}, not {master}: stop it first"
        )
    return SparkSession.builder.getOrCreate()


def _start(conf: SparkConf, log: Path | None) -> None:
    gateway = None
    if SparkContext._gateway is None:
        with ExitStack() as held:
            file = held.enter_context(_written(log)) if log is not None else None
            held.enter_context(_signals_wait())
            gateway = launch_gateway(conf, {"stdout": file, "stderr": file})  # type: ignore[no-untyped-call]
    _mind_interrupts(SparkContext(conf=conf, gateway=gateway))


def _written(log: Path) -> BufferedWriter:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC  # no pipe is waited for
    return os.fdopen(os.open(log, flags, FILE_MODE), "wb")


def _mind_interrupts(context: SparkContext) -> None:
    """Let Ctrl-C cancel jobs by a connection of its own: Spark takes the one that waits for an answer."""
    if threading.current_thread() is not threading.main_thread():
        return

    def cancel() -> None:
        with suppress(Exception):  # it may end at the same time
            context.cancelAllJobs()

    def interrupt(_number: int, _frame: object) -> NoReturn:
        threading.Thread(target=cancel, daemon=True).start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    logging.getLogger().addFilter(lambda record: record.msg not in _INTERRUPTED)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Let Ctrl-C wait until the JVM is up: one left alone while it starts would stay for good.

    It is told where to report by a directory that an interrupted start removes; without it, it hangs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs no signal handlers in this thread
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda signum, _: came.append(signum))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(came):
            signal.raise_signal(late)


def is_local(master: str) -> bool:
    """Whether everything runs on this machine."""
    return master.startswith("local")


def _prepare_environment(master: str) -> None:
    found = java.find()
    if found.home is not None:
        os.environ["JAVA_HOME"] = str(found.home)
    else:
        os.environ.pop("JAVA_HOME", None)
    # Here this very Python runs, with the packages that it has; elsewhere whichever was asked for.
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master.startswith("local["):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_local(master):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def _settings(master: str, app: str) -> dict[str, str]:
    settings = {
        **SQL,
        "spark.master": master,
        "spark.app.name": app,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # Else every column that a plan names costs three calls to the JVM, to tell the line that named it.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.driver.memory": f"{heap_bytes() // _MIB}m",
        # Without it a session leaves spark-warehouse/ where the user stands.
        "spark.sql.warehouse.dir": f"/tmp/framehub-warehouse-{os.getuid()}",  # noqa: S108  (never written)
    }
    if is_local(master):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Each sort and each hash table begins with a page, which by default is 64 MiB to be zeroed.
            "spark.buffer.pageSize": "4m",
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        }
    return settings


def heap_bytes() -> int:
    """Memory for the driver: at most 4 GiB, and half of what this machine or container has."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [machine, _LARGEST_HEAP * 2]
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(file).read_text()))
        except (OSError, ValueError):
            continue
    return max(min(limits) // 2, _SMALLEST_HEAP)


def _reason(exc: BaseException, log: Path | None) -> str:
    said, last = reason(exc), _last_line(log)
    return f"{said} ({last}; see {log})" if last else said


def _last_line(log: Path | None) -> str | None:
    try:
        lines = log.read_text(errors="replace").splitlines() if log else []
    except OSError:
        return None
    return next((line.strip() for line in lines if "rror" in line or "xception" in line), None)
