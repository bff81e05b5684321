"""A journal to tables: ``run`` takes in all that is there, ``follow`` goes on as it grows.

Both go step by step (``step.py``), and each step leaves one whole set of tables in ``OUT/current``. What ends
one, a kill included, costs the step it was in: the next run goes on from the last whole set.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from framehub.errors import PipelineError
from framehub.journal.reader import Part, positions, snapshot
from framehub.pipeline import snapshots
from framehub.pipeline.failures import FAILURES, reason
from framehub.pipeline.session import SQL, end, running, session
from framehub.pipeline.sizes import USUAL, Sizes
from framehub.pipeline.state import State, check_same_journal, load_state
from framehub.pipeline.step import step

LOG: Final = "spark.log"
STEP_ROWS: Final = 2_000_000
"""Rows of the journal that one step takes in, at most."""
POLL: Final = 0.2
"""Seconds between two looks at a journal that has not grown."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many rows are behind, and of how many."""


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
    new: int
    """Rows of the journal that this run took in."""
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
    conf: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    fresh: bool = False,
    step_rows: int = STEP_ROWS,
    sizes: Sizes = USUAL,
) -> Result:
    """Take in what the journal has now, and leave its tables in ``out/current``.

    Args:
        journal: a journal's directory, or a directory of them.
        out: where tables go; made if it is not there.
        spark: the session to use; by default the one that runs in this process, else one is started, and
            stopped at the end.
        master: where to start it, as Spark spells it.
        conf: more settings of Spark, for one that is started.
        progress: told each step as it begins.
        fresh: begin with the journal's first row, whatever tables there are.
        step_rows: rows that are taken in at a time.
        sizes: where a step takes another way to the same tables.

    Raises:
        JournalError: there is no journal, or it cannot be read.
        PipelineError: Java or Spark is missing, another run writes to ``out``, or the job failed.
    """
    journal, out, began = Path(journal).absolute(), Path(out), time.monotonic()
    progress = progress or _silently
    goal = positions(snapshot(journal))  # a wrong path must not cost a start of Spark
    with _ready(journal, out, spark, master, conf, progress) as using:
        state = State() if fresh else load_state(out)
        check_same_journal(state, journal, out)
        total, done = _rows_between(journal, state.nodes, goal), 0
        for parts in batches(journal, state, goal, step_rows):
            rows = sum(part.rows for part in parts)
            tell = _within(progress, done, rows, total)
            done += rows
            # Whoever makes all tables anew keeps the old ones until they can be replaced.
            publish = done >= total or not fresh
            state = step(using, journal, out, state, parts, tell, publish=publish, sizes=sizes)
        return _result(journal, state, new=done, began=began)


def follow(
    journal: str | Path,
    out: str | Path,
    *,
    spark: SparkSession | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    committed: Callable[[Result], None] | None = None,
    every: float = 0.0,
    idle: float | None = None,
    stop: Callable[[], bool] | None = None,
    step_rows: int = STEP_ROWS,
    sizes: Sizes = USUAL,
) -> Result:
    """Take in what the journal has, then what comes, until told to stop; the last result.

    Args:
        journal: a journal's directory, or a directory of them.
        out: where tables go.
        spark: as for ``run``.
        master: as for ``run``.
        conf: as for ``run``.
        progress: as for ``run``.
        committed: told of each set of tables as it is there.
        every: seconds between two sets of tables, at least.
        idle: end when nothing has come for so many seconds.
        stop: asked between steps whether to end.
        step_rows: rows that are taken in at a time.
        sizes: where a step takes another way to the same tables.

    Raises:
        JournalError: there is no journal, or it cannot be read.
        PipelineError: as for ``run``.
    """
    journal, out, began = Path(journal).absolute(), Path(out), time.monotonic()
    progress = progress or _silently
    snapshot(journal)
    with _ready(journal, out, spark, master, conf, progress) as using:
        state, taken, quiet_since = load_state(out), 0, time.monotonic()
        check_same_journal(state, journal, out)
        while True:
            at = time.monotonic()
            goal = positions(snapshot(journal, after=state.nodes), state.nodes)
            for parts in batches(journal, state, goal, step_rows):
                rows = sum(part.rows for part in parts)
                tell = _within(progress, 0, rows, rows)
                state = step(using, journal, out, state, parts, tell, sizes=sizes)
                taken += rows
                quiet_since = time.monotonic()
                if committed is not None:
                    committed(_result(journal, state, new=rows, began=at))
                break  # what has come meanwhile belongs to the next step
            else:
                if idle is not None and time.monotonic() - quiet_since >= idle:
                    break
                time.sleep(POLL)
            if stop is not None and stop():
                break
            time.sleep(max(0.0, every - (time.monotonic() - at)))
        return _result(journal, state, new=taken, began=began)


def batches(journal: Path, state: State, goal: Mapping[str, int], step_rows: int) -> Iterator[list[Part]]:
    """Parts of the journal beyond ``state`` up to ``goal``, as many at a time as one step takes in.

    A journal without rows gives one empty batch if there are no tables yet: they are made then, empty.
    """
    seen = dict(state.nodes)
    if state.snapshot is None and not any(goal.values()):
        yield []
    while True:
        batch: list[Part] = []
        room = step_rows
        for part in snapshot(journal, after=seen, upto=goal):
            taken = part if part.rows <= room else replace(part, last_seq=part.first_seq + room - 1)
            batch.append(taken)
            room -= taken.rows
            if not room:
                break
        if not batch:
            return
        seen = positions(batch, seen)
        yield batch


def _rows_between(journal: Path, seen: Mapping[str, int], goal: Mapping[str, int]) -> int:
    return sum(part.rows for part in snapshot(journal, after=seen, upto=goal))


@contextmanager
def _ready(
    journal: Path,
    out: Path,
    spark: SparkSession | None,
    master: str | None,
    conf: Mapping[str, str] | None,
    progress: Progress,
) -> Iterator[SparkSession]:
    """A session of our own beside the caller's, same Spark, other settings; and ``out`` is ours alone."""
    with snapshots.locked(out):
        own = None
        if spark is None and (spark := running(master)) is None:
            progress("starting Spark", 0, 0)
            spark = own = session(master, log=out / LOG, conf=conf)
        try:
            using = spark.newSession()
            for name, value in SQL.items():
                using.conf.set(name, value)
            yield using
        except FAILURES as exc:
            raise PipelineError(f"the run over {journal} failed: {reason(exc)}") from exc
        finally:
            if own is not None:
                end(own)


def _within(progress: Progress, done: int, rows: int, total: int) -> Callable[[str, float], None]:
    return lambda what, share: progress(what, done + int(rows * share), total)


def _result(journal: Path, state: State, *, new: int, began: float) -> Result:
    assert state.snapshot is not None
    return Result(
        journal=str(journal.absolute()),
        snapshot=state.snapshot,
        nodes=state.nodes,
        rows=state.rows,
        new=new,
        damage=state.damage,
        seconds=round(time.monotonic() - began, 3),
    )


def _silently(what: str, done: int, total: int) -> None:
    """Tell nobody."""
