"""One run: a journal in, one whole snapshot of tables out.

Everything is computed from one snapshot of the journal, so the tables agree with each other whatever is being
written meanwhile. A run that fails or is killed leaves the tables that were there.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from framehub.errors import PipelineError
from framehub.journal.reader import check, positions, snapshot
from framehub.pipeline import schemas, snapshots
from framehub.pipeline.journal import read_parts
from framehub.pipeline.session import SQL, running, session
from framehub.pipeline.stages.exchanges import exchanges
from framehub.pipeline.stages.frames import frames
from framehub.pipeline.stages.messages import messages

STAGES: Final[dict[str, Callable[[DataFrame], DataFrame]]] = {
    "frames": frames,
    "messages": messages,
    "exchanges": exchanges,
}
LOG: Final = "spark.log"
_ROWS_PER_FILE: Final = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run made."""

    journal: str
    """The journal's directory."""
    snapshot: Path
    """Where its tables are."""
    nodes: dict[str, int]
    """The last row that was read of each node."""
    rows: dict[str, int]
    """Rows per table."""
    damage: list[str]
    """What the journal has lost, in words."""
    seconds: float
    """How long it took."""


def run(
    journal: str | Path,
    out: str | Path,
    *,
    spark: SparkSession | None = None,
    master: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Result:
    """Make the tables of a journal and put them in ``out/current``.

    Args:
        journal: a journal's directory, or a directory of them.
        out: where tables go; made if it is not there.
        spark: the session to use; by default the one that runs in this process, else one is started, and
            stopped at the end.
        master: where to start it, as Spark spells it.
        progress: told each step as it begins.

    Raises:
        JournalError: there is no journal, or it cannot be read.
        PipelineError: Java or Spark is missing, another run writes to ``out``, or the job failed.
    """
    journal, out, began = Path(journal), Path(out), time.monotonic()
    progress = progress or _silently
    snapshot(journal)  # a wrong path must not cost a start of Spark
    with snapshots.locked(out):
        own = None
        if spark is None and (spark := running(master)) is None:
            progress("starting Spark")
            spark = own = session(master, log=out / LOG)
        try:
            return _run(spark, journal, out, began, progress)
        except PySparkException as exc:
            raise PipelineError(f"the run failed: {_reason(exc)}") from exc
        finally:
            if own is not None:
                own.stop()


def _run(
    spark: SparkSession, journal: Path, out: Path, began: float, progress: Callable[[str], None]
) -> Result:
    # A session of our own beside the caller's: same Spark, other settings.
    spark = spark.newSession()
    for name, value in SQL.items():
        spark.conf.set(name, value)
    target = snapshots.begin(out)
    progress("checking the journal")
    report = check(journal)
    damage = [str(found) for found in (*report.damages, *report.gaps, *report.torn)]
    parts = snapshot(journal)
    source = read_parts(spark, journal, parts, damaged={found.segment for found in report.damages})
    files = max(1, sum(part.rows for part in parts) // _ROWS_PER_FILE)
    rows = {}
    for name, stage in STAGES.items():
        progress(f"writing {name}")
        rows[name] = _write(name, schemas.check(name, stage(source)), target / name, files)
    progress("replacing the tables")
    result = Result(
        journal=str(journal.absolute()),
        snapshot=target,
        nodes=positions(parts),
        rows=rows,
        damage=damage,
        seconds=round(time.monotonic() - began, 3),
    )
    snapshots.commit(out, target, _manifest(result))
    return result


def _write(name: str, table: DataFrame, directory: Path, files: int) -> int:
    """Write one table; its number of rows."""
    place = f"file://{directory.absolute()}"
    settings = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
    table.coalesce(files).write.options(**settings).partitionBy("date").parquet(place, mode="overwrite")
    rows: int = sum(pq.read_metadata(file).num_rows for file in directory.rglob("*.parquet"))
    if not rows:
        # No day, so no file: one without rows tells readers the columns.
        shutil.rmtree(directory)
        empty = table.sparkSession.createDataFrame([], schemas.TABLES[name]).coalesce(1)
        empty.write.options(**settings).parquet(place)
    return rows


def _manifest(result: Result) -> dict[str, Any]:
    return {
        "journal": result.journal,
        "nodes": result.nodes,
        "rows": result.rows,
        "damage": result.damage,
        "seconds": result.seconds,
        "snapshot": result.snapshot.name,
    }


def _silently(step: str) -> None:
    """Tell nobody."""


def _reason(exc: BaseException) -> str:
    """The line that says why: under a worker's traceback if there is one, else the first."""
    lines = [line for line in str(exc).splitlines() if line.strip()]
    traced = next((number for number, line in enumerate(lines) if line.startswith("Traceback")), -1)
    said = next((line for line in lines[traced + 1 :] if not line.startswith(" ")), None)
    return (said or type(exc).__name__).strip()
