"""What the writers of tables share in one step: the new rows, and all that they touch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from framehub.journal.reader import Gap, Part, snapshot
from framehub.pipeline.census import Census, is_whole, link_rows, take_census
from framehub.pipeline.draft import HOT, frame_of
from framehub.pipeline.journal import read_parts
from framehub.pipeline.link_book import known_links
from framehub.pipeline.sizes import USUAL, Sizes
from framehub.pipeline.state import State
from framehub.pipeline.touched import Touched, find_touched, read_hot


@dataclass(slots=True, kw_only=True)
class Work:
    """One step's input."""

    spark: SparkSession
    journal: Path
    state: State
    parts: Sequence[Part]
    """Of the journal: what is new."""
    census: Census
    touched: Touched
    horizons: dict[str, int]
    new: DataFrame
    """Rows that are new."""
    rows: DataFrame
    """These, and all earlier rows of exchanges that are touched."""
    remembered: list[DataFrame]
    """What Spark was told to remember for this step."""
    links: DataFrame
    """Those that this step has to do with."""
    again: DataFrame
    """Node and exchange of what is touched, as the tables write them."""
    sizes: Sizes = USUAL
    hot_ids: pa.Table | None = None
    """Of exchanges that this step leaves hot."""
    minutes: set[int] = field(default_factory=set)
    """Minutes since 1970 in which exchanges began that have changed."""
    absorbed: set[str] = field(default_factory=set)
    """Generations that are written anew."""

    @property
    def is_small(self) -> bool:
        """Whether it has so few new rows that they are read once and remembered."""
        return self.census.rows <= self.sizes.small_step

    def of_node(self, numbers: dict[str, int]) -> Column:
        """A number of each node, for rows that have a column ``node``; 0 for others."""
        chosen = F.lit(0).cast("bigint")
        for node, number in numbers.items():
            chosen = F.when(F.col("node") == node, F.lit(number).cast("bigint")).otherwise(chosen)
        return chosen

    def done(self) -> None:
        """Forget what was remembered."""
        for frame in self.remembered:
            frame.unpersist()


def prepare(
    spark: SparkSession, journal: Path, state: State, parts: Sequence[Part], *, sizes: Sizes = USUAL
) -> Work:
    """Look at what is new, and find what it touches."""
    census = take_census(parts, state.nodes)
    damaged = {*state.damaged, *census.damaged}
    horizons = dict(state.horizons)
    for node, found in census.nodes.items():
        if found.horizon_ns is not None:
            horizons[node] = max(horizons.get(node, 0), found.horizon_ns)
    known = known_links(state.snapshot)
    touched = _touched(state, census, horizons, known)
    new = read_parts(spark, journal, parts, damaged=damaged)
    remembered = []
    small = census.rows <= sizes.small_step
    if small:
        new = new.persist()
        remembered.append(new)
    again = frame_of(spark, touched.table())
    rows = new
    if earlier := _earlier(journal, state, touched, census, damaged):
        history = read_parts(spark, journal, earlier, damaged=damaged)
        kept = history.join(F.broadcast(again), ["node", "exchange"], "left_semi").persist()
        remembered.append(kept)
        rows = new.unionByName(kept.select(*new.columns))
        if small:  # every plan is planned twice over a union, once over what is remembered
            rows = rows.persist()
            remembered.append(rows)
    return Work(
        spark=spark,
        journal=journal,
        state=state,
        parts=parts,
        census=census,
        touched=touched,
        horizons=horizons,
        new=new,
        rows=rows,
        remembered=remembered,
        links=frame_of(spark, _links(known, census, touched)),
        again=again.select("node", F.lower(F.hex("exchange")).alias("exchange")),
        sizes=sizes,
    )


def index_of(place: Path, generation: str) -> Path:
    """The index of a generation in a snapshot."""
    return place / "state" / "index" / f"{generation}.npy"


def _touched(state: State, census: Census, horizons: dict[str, int], known: pa.Table) -> Touched:
    if state.snapshot is None:
        return Touched()
    hot = [state.snapshot / "exchanges" / path for path in state.paths("exchanges", {HOT})]
    indexes = [index_of(state.snapshot, generation) for generation in state.generations]
    return find_touched(
        census,
        hot=read_hot(hot),
        indexes=indexes,
        before=state.horizons,
        horizons=horizons,
        known_links=known,
    )


def _earlier(journal: Path, state: State, touched: Touched, census: Census, damaged: set[str]) -> list[Part]:
    """Parts of the journal, up to where the last step came, that hold rows of what is touched.

    Of those that are gone or damaged since they were taken in, ``census`` and ``damaged`` are told.
    """
    found = []
    for node, spans in touched.spans.items():
        for first, last in spans:
            end = min(last, state.nodes.get(node, 0))
            parts = snapshot(journal, after={node: first - 1}, upto={node: end})
            seen = first - 1
            for part in parts:
                if part.first_seq > seen + 1 and not _was_a_gap(state, node, seen, part.first_seq):
                    census.damages.append(Gap(node=node, after_seq=seen, before_seq=part.first_seq))
                seen = part.last_seq
            if seen < end and not _was_a_gap(state, node, seen, end + 1):
                census.damages.append(Gap(node=node, after_seq=seen, before_seq=end + 1))
            found += parts
    changed = {Path(part.file) for part in found if part.kind == "parquet" and not is_whole(Path(part.file))}
    for file in sorted(changed):
        if file.name not in damaged:
            census.damaged.add(file.name)
            damaged.add(file.name)
    return found


def _was_a_gap(state: State, node: str, after: int, before: int) -> bool:
    return str(Gap(node=node, after_seq=after, before_seq=before)) in state.damage


def _links(known: pa.Table, census: Census, touched: Touched) -> pa.Table:
    """Events of all links that this step has to do with."""
    if not touched.generations:  # else links may matter that only the tables name
        wanted = {node: set(found.links) for node, found in census.nodes.items()}
        for node, links in touched.links.items():
            wanted.setdefault(node, set()).update(links)
        known = link_rows(known, wanted)
    return pa.concat_tables([known, census.links_table()])
