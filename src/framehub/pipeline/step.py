"""One step: rows that are new in the journal, to the next whole snapshot of all tables.

New rows may change what old ones say: exchanges that they touch (``touched.py``) are computed again from all
their rows, with the very stages that compute a whole journal. So any number of steps comes to the same
tables as one. ``run`` and ``follow`` are both made of steps.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

from pyspark.sql import SparkSession

from framehub.journal.reader import Part, positions
from framehub.pipeline import snapshots
from framehub.pipeline.draft import Draft
from framehub.pipeline.link_book import add_links
from framehub.pipeline.sizes import USUAL, Sizes
from framehub.pipeline.state import State, check_same_journal, manifest_of
from framehub.pipeline.work import Work, prepare
from framehub.pipeline.writers import (
    write_exchanges,
    write_files,
    write_frames,
    write_messages,
    write_metrics,
    write_violations,
)

MOST_DAMAGE: Final = 1000
"""Damages told one by one."""

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of the step is behind."""

# What each costs, roughly: the share of a step that progress shows.
WRITERS: Final = {
    "frames": (write_frames, 0.15),
    "messages": (write_messages, 0.20),
    "exchanges": (write_exchanges, 0.15),
    "files": (write_files, 0.20),
    "violations": (write_violations, 0.25),
    "metrics": (write_metrics, 0.03),
}
TOGETHER: Final = (("violations",), ("exchanges", "files", "metrics"), ("messages", "frames"))
"""Of a small step: what can be written at the same time, each in order."""

# A plan that sees few rows costs more to compile than to run, and more to adapt than to get wrong.
FOR_FEW_ROWS: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


def step(
    spark: SparkSession,
    journal: Path,
    out: Path,
    state: State,
    parts: Sequence[Part],
    progress: Progress,
    *,
    publish: bool = True,
    sizes: Sizes = USUAL,
) -> State:
    """Take in the rows of these parts, which follow those of ``state``; where it came to.

    Readers find its tables in ``out/current`` if they are to be published.
    """
    began = time.monotonic()
    salts = check_same_journal(state, journal, out)
    draft = Draft(spark, snapshots.begin(out), state.commit + 1, sizes=sizes)
    try:
        progress("reading what is new", 0.0)
        with _tuned(spark, small=sum(part.rows for part in parts) <= sizes.small_step) as small:
            work = prepare(spark, journal, state, parts, sizes=sizes)
            try:
                if small:
                    _write_together(work, draft, progress)
                else:
                    _write_in_turn(work, draft, progress)
            finally:
                work.done()
        draft.fill_empty(state.snapshot)
        reached = _reached(work, draft, salts)
        add_links(state.snapshot, draft.target, draft.commit, work.census.links_table())
        told = manifest_of(journal, reached, seconds=time.monotonic() - began)
        snapshots.commit(out, draft.target, told, publish=publish)
    except BaseException:
        if not snapshots.is_current(out, draft.target):
            draft.drop()
        raise
    snapshots.sweep(out, draft.target)
    progress("replaced the tables", 1.0)
    return reached


@contextmanager
def _tuned(spark: SparkSession, *, small: bool) -> Iterator[bool]:
    """The session's settings for a step of this size."""
    if not small:
        yield False
        return
    before = {name: spark.conf.get(name) for name in FOR_FEW_ROWS}
    for name, value in FOR_FEW_ROWS.items():
        spark.conf.set(name, value)
    try:
        yield True
    finally:
        for name, usual in before.items():
            spark.conf.set(name, usual or "")


def _write_in_turn(work: Work, draft: Draft, progress: Progress) -> None:
    done = 0.02
    for name, (write, share) in WRITERS.items():
        progress(f"writing {name}", done)
        write(work, draft)
        done += share


def _write_together(work: Work, draft: Draft, progress: Progress) -> None:
    progress("writing tables", 0.02)
    shares, one_at_a_time = [0.02], Lock()

    def write(names: Sequence[str]) -> None:
        for name in names:
            writer, share = WRITERS[name]
            writer(work, draft)
            with one_at_a_time:
                shares.append(share)
                progress(f"wrote {name}", sum(shares))

    with ThreadPoolExecutor(len(TOGETHER)) as pool:
        for done in [pool.submit(write, names) for names in TOGETHER]:
            done.result()


def _reached(work: Work, draft: Draft, salts: dict[str, int]) -> State:
    state, census = work.state, work.census
    last_rows = {node: found.last_seq for node, found in census.nodes.items() if found.last_seq is not None}
    lost = dict.fromkeys([*state.damage, *map(str, census.damages)])
    return State(
        snapshot=draft.target,
        commit=draft.commit,
        nodes=positions(work.parts, state.nodes),
        last_rows={**state.last_rows, **last_rows},
        horizons=work.horizons,
        salts=salts,
        files=draft.files,
        damaged=sorted({*state.damaged, *census.damaged}),
        damage=list(lost)[:MOST_DAMAGE],
        marks={**state.marks, **census.marks},
    )
