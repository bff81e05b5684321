"""What Spark makes of a journal against an oracle in plain Python, and broken stages, which it notices."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions

from framehub.journal.generate import generate
from framehub.pipeline.journal import read_journal
from framehub.pipeline.run import run
from framehub.pipeline.schemas import TABLES
from tests.spark.oracle import audit_hub, audit_mfp, audit_rpc, difference, tables, tables_of
from tests.spark.oracle.mutation import Place, break_at
from tests.spark.test_exchanges import STORIES
from tests.spark.test_queries import stories

pytestmark = pytest.mark.spark

SEEDS = range(1, 21)
FRAMES = 3300
STAGES = "framehub.pipeline.stages"
AUDITS = ("gaps", "bytes", "rules")
BY_EXCHANGE = {*audit_mfp.RULES, *audit_rpc.RULES, *audit_hub.RULES}
Rows = list[dict[str, Any]]
JournalOf = Callable[..., DataFrame]


def rows_of(table: DataFrame) -> Rows:
    """The rows of a table; what is a VARIANT as JSON text."""
    if "data" in table.columns:
        table = table.withColumn("data", functions.to_json("data"))
    rows: Rows = table.toArrow().to_pylist()
    return rows


def stage(name: str) -> Any:
    return importlib.import_module(f"{STAGES}.{name}")


def made(name: str, journal: DataFrame) -> Rows:
    """A table as its stage makes it, or one part of the audit."""
    if name not in AUDITS:
        return rows_of(getattr(stage(name), name)(journal))
    links = stage("links").link_events(journal)
    parts: dict[str, Callable[[], DataFrame]] = {
        "gaps": lambda: stage("gaps").gaps(journal),
        "bytes": lambda: stage("unsound").unsound(journal),
        "rules": lambda: stage("violations").exchange_violations(
            journal, links, stage("links").horizon(journal)
        ),
    }
    return rows_of(parts[name]())


def is_of(name: str, rule: str) -> bool:
    """Whether a rule belongs to a part of the audit."""
    return {"gaps": rule == "journal-gap", "bytes": rule.startswith("raw-"), "rules": rule in BY_EXCHANGE}[
        name
    ]


def told(name: str, want: dict[str, Rows], got: Rows) -> str | None:
    """The first difference of a table, or of a part of the audit."""
    if name not in AUDITS:
        return difference({name: want[name]}, {name: got})
    rows = [row for row in want["violations"] if is_of(name, row["rule"])]
    return difference({"violations": rows}, {"violations": got})


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty made-up journals with every fault, as nodes of one: they have nothing to do with each other."""
    root = tmp_path_factory.mktemp("seeded")
    for seed in SEEDS:
        generate(root / f"node-{seed}", frames=FRAMES, seed=seed, node=f"node-{seed}", faults="all")
    return root


@pytest.fixture(scope="module")
def written(spark: SparkSession, seeded: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """The tables that a run writes."""
    out = tmp_path_factory.mktemp("written")
    run(seeded, out, spark=spark)
    return {name: rows_of(spark.read.parquet(f"file://{out}/current/{name}")) for name in TABLES}


@pytest.fixture(scope="module")
def wanted(seeded: Path) -> dict[str, Rows]:
    return tables(seeded)


@pytest.mark.parametrize("name", TABLES)
def test_a_run_writes_what_the_oracle_says(
    name: str, written: dict[str, Rows], wanted: dict[str, Rows]
) -> None:
    assert wanted[name]
    assert difference({name: wanted[name]}, {name: written[name]}) is None


@pytest.fixture(scope="module")
def handmade(journal_of: JournalOf, rpc: Callable[..., dict[str, Any]]) -> DataFrame:
    """Every story of the tests of exchanges and queries, each in an exchange and on a link of its own."""
    rows = []
    for number, (story, _) in enumerate(STORIES.values()):
        for part in story:
            placed = {"exchange": number.to_bytes(16, "big")} if "exchange" in part else {}
            rows.append({"link": b"L" + number.to_bytes(7, "big")} | part | placed)
    for number, (story, _) in enumerate(stories(rpc).values(), start=1000):
        rows += [row | {"exchange": number.to_bytes(16, "big")} for row in story]
    return journal_of(rows)


@pytest.mark.parametrize("name", ["frames", "messages", "exchanges", "metrics"])
def test_handmade_stories_are_told_alike(name: str, handmade: DataFrame) -> None:
    want = tables_of(handmade.toArrow().to_pylist())
    assert difference({name: want[name]}, {name: made(name, handmade)}) is None


# Stage module, the table it makes, and places in it where it is broken.
MUTANTS: list[tuple[str, str, Place]] = [
    ("frames", "frames", Place("frames", "not", 0)),
    ("frames", "frames", Place("_side", "comparison", 1)),
    ("columns", "frames", Place("timestamp", "number", 0)),
    ("messages", "messages", Place("_envelopes", "comparison", 0)),
    ("messages", "messages", Place("_is_envelope", "comparison", 0)),
    ("calls", "messages", Place("calls", "comparison", 0)),
    ("calls", "messages", Place("calls", "both", 2)),
    ("bodies", "messages", Place("bodies", "comparison", 0)),
    ("bodies", "messages", Place("bodies", "comparison", 2)),
    ("coders", "messages", Place("payload", "comparison", 0)),
    ("coders", "messages", Place("value", "comparison", 0)),
    ("exchanges", "exchanges", Place("_conversations", "comparison", 0)),
    ("exchanges", "exchanges", Place("_kind", "comparison", 1)),
    ("gathering", "exchanges", Place("gather", "comparison", 0)),
    ("gathering", "exchanges", Place("gather", "opposite", 6)),
    ("queries", "exchanges", Place("queries", "comparison", 0)),
    ("queries", "exchanges", Place("_gather", "comparison", 2)),
    ("streams", "exchanges", Place("streams", "comparison", 0)),
    ("streams", "exchanges", Place("_gather", "comparison", 1)),
    ("metrics", "metrics", Place("metrics_of", "opposite", 0)),
    ("metrics", "metrics", Place("_counted", "opposite", 0)),
    ("files", "files", Place("_in_frames", "comparison", 0)),
    ("files", "files", Place("_in_blocks", "comparison", 0)),
    ("pieces", "files", Place("pieces", "comparison", 0)),
    ("pieces", "files", Place("pieces", "opposite", 4)),
    ("gaps", "gaps", Place("gaps", "opposite", 0)),
    ("gaps", "gaps", Place("gaps", "opposite", 1)),
    ("unsound", "bytes", Place("unsound", "opposite", 0)),
    ("unsound", "bytes", Place("unsound", "not", 0)),
    ("links", "rules", Place("horizon", "opposite", 0)),
    ("audit_mfp", "rules", Place("mfp_rows", "opposite", 0)),
    ("audit_mfp", "rules", Place("_marked", "opposite", 1)),
    ("audit_rpc", "rules", Place("_rows", "comparison", 0)),
    ("audit_rpc", "rules", Place("_rows", "both", 1)),
    ("audit_hub", "rules", Place("_rows", "both", 1)),
    ("audit_hub", "rules", Place("_marked", "number", 0)),
    ("rule", "rules", Place("least", "opposite", 0)),
    ("rule", "rules", Place("most", "opposite", 0)),
]


@pytest.fixture(scope="module")
def small(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[DataFrame, dict[str, Rows]]:
    """One journal with every fault, and its tables."""
    place = tmp_path_factory.mktemp("small") / "node"
    generate(place, frames=FRAMES, seed=1, node="small", faults="all")
    return read_journal(spark, place).cache(), tables(place)


@pytest.mark.parametrize("name", sorted({name for _, name, _ in MUTANTS}))
def test_a_whole_stage_is_as_the_oracle_says(name: str, small: tuple[DataFrame, dict[str, Rows]]) -> None:
    """Without this, what a broken stage shows would prove nothing."""
    journal, want = small
    assert told(name, want, made(name, journal)) is None


@pytest.mark.parametrize(("module", "name", "place"), MUTANTS, ids=str)
def test_a_broken_stage_is_noticed(
    module: str,
    name: str,
    place: Place,
    small: tuple[DataFrame, dict[str, Rows]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, want = small
    break_at(stage(module), place, monkeypatch)
    assert told(name, want, made(name, journal)) is not None
