"""One function for each table: what of it one step writes anew, and what it keeps.

``frames`` and ``messages`` are one row per row of the journal: new ones are added. ``exchanges`` and
``files`` lie in generations: one step's settled exchanges each, and the hot one, of all that may still
change. A step writes the hot generation anew, and any other that holds a touched exchange. ``violations``
are few. ``metrics`` are made again for the minutes in which exchanges changed.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.pipeline import schemas, snapshots
from framehub.pipeline.draft import HOT, Draft, Files, frame_of, read_files, small_ones
from framehub.pipeline.findings import FINDINGS
from framehub.pipeline.index import write_index
from framehub.pipeline.sealed import findings_in
from framehub.pipeline.source import read_unsound
from framehub.pipeline.stages.exchanges import exchanges
from framehub.pipeline.stages.files import files
from framehub.pipeline.stages.frames import frames
from framehub.pipeline.stages.messages import messages
from framehub.pipeline.stages.metrics import metrics_of
from framehub.pipeline.stages.rules import RULES
from framehub.pipeline.stages.unsound import as_violations
from framehub.pipeline.stages.violations import (
    exchange_violations,
    gaps,
    lives,
    reused_ids,
    row_violations,
)
from framehub.pipeline.touched import GRACE_NS, OVERDUE_NS, SECOND_NS
from framehub.pipeline.work import Work, index_of

_MINUTE_US = 60_000_000


def write_frames(work: Work, draft: Draft) -> None:
    """Add those of the new rows."""
    _append(work, draft, "frames", frames(work.new))


def write_messages(work: Work, draft: Draft) -> None:
    """Add those of the new rows."""
    _append(work, draft, "messages", messages(work.new))


def _append(work: Work, draft: Draft, name: str, table: DataFrame) -> None:
    kept = work.state.files[name]
    small = small_ones(kept, work.sizes)
    table = schemas.check(name, table)
    if small and work.state.snapshot is not None:
        table = table.unionByName(read_files(work.spark, name, work.state.snapshot, small))
    rows = work.census.rows + sum(told.rows for told in small.values())
    draft.adopt(name, draft.write(name, table, rows=rows), "rows")
    if work.state.snapshot is not None:
        stays = {path: told for path, told in kept.items() if path not in small}
        draft.keep(name, work.state.snapshot, stays)


def write_exchanges(work: Work, draft: Draft) -> None:
    """Make touched ones anew; part the settled from those that may still change."""
    state = work.state
    kept = state.files["exchanges"]
    small = {told.generation for told in small_ones(kept, work.sizes).values()}
    work.absorbed = {HOT, *work.touched.generations, *small}
    table = schemas.check("exchanges", exchanges(work.rows, work.links))
    table = table.unionByName(_survivors(work, "exchanges"))
    rows = work.census.rows // 2 + _count(kept, work.absorbed)
    staged = draft.write("exchanges", table.withColumn("hot", _is_hot(work)), rows=rows, by=("hot", "date"))
    generation = f"g{draft.commit:06d}"
    settled = draft.adopt("exchanges", staged / "hot=false", generation)
    hot = draft.adopt("exchanges", staged / "hot=true", HOT)
    if settled:
        write_index(index_of(draft.target, generation), settled)
    work.minutes = work.touched.minutes | _minutes([*settled, *hot], state.nodes)
    work.hot_ids = _ids(hot)
    _keep_the_rest(work, draft, "exchanges")
    if state.snapshot is not None:
        for other in set(state.generations) - work.absorbed:
            snapshots.keep(index_of(state.snapshot, other), index_of(draft.target, other))


def _survivors(work: Work, name: str) -> DataFrame:
    """Rows of generations that are written anew, of exchanges that are not touched."""
    paths = work.state.paths(name, work.absorbed)
    old = read_files(work.spark, name, work.state.snapshot or Path(), paths)
    return old.join(F.broadcast(work.again), ["node", "exchange"], "left_anti").select(*old.columns)


def _keep_the_rest(work: Work, draft: Draft, name: str) -> None:
    if work.state.snapshot is not None:
        kept = work.state.files[name].items()
        stays = {path: told for path, told in kept if told.generation not in work.absorbed}
        draft.keep(name, work.state.snapshot, stays)


def _count(kept: Files, generations: set[str]) -> int:
    return sum(told.rows for told in kept.values() if told.generation in generations)


def _is_hot(work: Work) -> Column:
    """Whether an exchange may change by a link's end or by time alone (``touched.py``)."""
    horizon = work.of_node({node: at // 1000 for node, at in work.horizons.items()})
    last, opened = F.unix_micros("last"), F.unix_micros(F.coalesce("opened", "last"))
    fresh = last + (GRACE_NS + 2 * SECOND_NS) // 1000 > horizon
    decided = (F.col("protocol") == "rpc") & (opened + (OVERDUE_NS + 2 * SECOND_NS) // 1000 <= horizon)
    return fresh | ((F.col("outcome") == "open") & ~decided)


def _minutes(written: Sequence[Path], before: dict[str, int]) -> set[int]:
    """Minutes in which exchanges with new rows began."""
    found: set[int] = set()
    for file in written:
        for batch in pq.ParquetFile(file).iter_batches(columns=["node", "opened", "last_seq"]):
            nodes = batch.column("node").dictionary_encode()
            seen = pa.array([before.get(name, 0) for name in nodes.dictionary.to_pylist()], pa.int64())
            changed = pc.greater(batch.column("last_seq"), seen.take(nodes.indices))
            opened = pc.drop_null(batch.column("opened").filter(changed).cast(pa.int64()))
            found.update(pc.divide(opened, _MINUTE_US).unique().to_pylist())
    return found


def _ids(written: Sequence[Path]) -> pa.Table:
    schema = pa.schema([("node", pa.string()), ("exchange", pa.string())])
    tables = [pq.ParquetFile(file).read(columns=schema.names).cast(schema) for file in written]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def write_files(work: Work, draft: Draft) -> None:
    """Make those of touched exchanges anew, in the generations of their exchanges."""
    table = schemas.check("files", files(work.rows)).unionByName(_survivors(work, "files"))
    hot = frame_of(work.spark, work.hot_ids).withColumn("hot", F.lit(True))
    marked = table.join(F.broadcast(hot), ["node", "exchange"], "left")
    marked = marked.select(*table.columns, F.coalesce("hot", F.lit(False)).alias("hot"))
    rows = work.census.rows // 8 + _count(work.state.files["files"], work.absorbed)
    staged = draft.write("files", marked, rows=rows, by=("hot", "date"))
    draft.adopt("files", staged / "hot=false", f"g{draft.commit:06d}")
    draft.adopt("files", staged / "hot=true", HOT)
    _keep_the_rest(work, draft, "files")


def write_violations(work: Work, draft: Draft) -> None:
    """Write all of them anew: a good journal has none."""
    spark, state = work.spark, work.state
    horizon = frame_of(
        spark, pa.table({"node": list(work.horizons), "horizon_ns": list(work.horizons.values())})
    )
    found = [
        exchange_violations(work.rows, work.links, horizon),
        row_violations(work.new, work.links),
        _reused(work),
        gaps(_with_the_last(work)),
        *_unsound(work),
    ]
    if state.snapshot is not None:
        found.append(_standing(work, state.snapshot))
    table = schemas.check("violations", found[0])
    for more in found[1:]:
        table = table.unionByName(schemas.check("violations", more))
    draft.adopt("violations", draft.write("violations", table, rows=1), "rows")


def _unsound(work: Work) -> list[DataFrame]:
    """What recorded bytes do not bear out. Of few rows it is found here: no plan, and no Python to start."""
    if not work.is_small:
        return [read_unsound(work.spark, work.journal, work.parts)]
    found = pa.Table.from_batches([batch for part in work.parts for batch in findings_in(part)], FINDINGS)
    return [as_violations(frame_of(work.spark, found))] if found.num_rows else []


def _standing(work: Work, snapshot: Path) -> DataFrame:
    """What was found earlier, but of exchanges that are judged again."""
    old = read_files(work.spark, "violations", snapshot, work.state.files["violations"])
    again = work.again.withColumn("again", F.lit(True))
    by_exchange = F.col("rule").isin([rule.name for rule in RULES if rule.scope == "exchange"])
    judged = by_exchange & F.coalesce("again", F.lit(False))
    return old.join(F.broadcast(again), ["node", "exchange"], "left").where(~judged).select(*old.columns)


def _reused(work: Work) -> DataFrame:
    """Ids that new rows use again: whoever had them before is touched."""
    used = reused_ids(lives(work.rows, work.links))
    return used.where(F.try_element_at("evidence", F.lit(-1)) > work.of_node(work.state.nodes))


def _with_the_last(work: Work) -> DataFrame:
    """The new rows, and of each node the last one before them, so that a gap between shows."""
    new = work.new.select("node", "seq", "time_ns", "link", "protocol")
    last = {node: seq for node, seq in work.state.last_rows.items() if node in work.census.nodes}
    if not last:
        return new
    before = pa.table({"node": list(last), "seq": list(last.values())})
    return new.unionByName(frame_of(work.spark, before), allowMissingColumns=True)


def write_metrics(work: Work, draft: Draft) -> None:
    """Count again the minutes in which exchanges changed; other minutes stay."""
    spark, state = work.spark, work.state
    minutes = frame_of(
        spark,
        pa.table(
            {"minute": pa.array([n * _MINUTE_US for n in sorted(work.minutes)], pa.timestamp("us", "UTC"))}
        ),
    )
    holding = [
        path for path, told in draft.files["exchanges"].items() if _holds(told.first_us, told.last_us, work)
    ]
    began = read_files(spark, "exchanges", draft.target, holding)
    changed = began.withColumn("minute", _minute("opened"))
    changed = changed.join(F.broadcast(minutes), ["minute"], "left_semi").select(*began.columns)
    table = schemas.check("metrics", metrics_of(changed))
    days = {f"date={datetime.fromtimestamp(n * 60, UTC):%Y-%m-%d}" for n in work.minutes}
    kept = state.files["metrics"]
    same_day = {path: told for path, told in kept.items() if path.partition("/")[0] in days}
    if same_day and state.snapshot is not None:
        old = read_files(spark, "metrics", state.snapshot, same_day)
        stays = old.join(F.broadcast(minutes), ["minute"], "left_anti").select(*old.columns)
        table = table.unionByName(stays)
    draft.adopt("metrics", draft.write("metrics", table, rows=1), "rows")
    if state.snapshot is not None:
        draft.keep("metrics", state.snapshot, {p: told for p, told in kept.items() if p not in same_day})


def _holds(first_us: int | None, last_us: int | None, work: Work) -> bool:
    """Whether a file may hold exchanges that began in a minute that changed."""
    if first_us is None or last_us is None:
        return False
    first, last = first_us // _MINUTE_US, last_us // _MINUTE_US
    return any(first <= minute <= last for minute in work.minutes)


def _minute(column: str) -> Column:
    whole = F.unix_micros(column)
    return F.timestamp_micros(whole - F.pmod(whole, F.lit(_MINUTE_US)))
