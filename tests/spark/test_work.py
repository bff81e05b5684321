"""What one step has in hand."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from framehub.journal.generate import generate
from framehub.journal.reader import snapshot
from framehub.pipeline import work as work_module
from framehub.pipeline.census import LINK_SCHEMA
from framehub.pipeline.run import run
from framehub.pipeline.state import State, load_state
from framehub.pipeline.touched import Touched
from framehub.pipeline.work import prepare

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("work")
    generate(root / "journal", frames=2000, seed=11)
    return root


def test_the_first_step_has_the_new_rows_only(spark: SparkSession, place: Path) -> None:
    work = prepare(spark, place / "journal", State(), snapshot(place / "journal", upto={"generated": 800}))
    assert work.new.count() == work.rows.count() == 800
    assert work.again.count() == 0
    assert work.horizons.keys() == {"generated"}
    work.done()


def test_the_next_has_all_rows_of_what_is_touched(spark: SparkSession, place: Path) -> None:
    run(place / "journal", place / "out", spark=spark, step_rows=1200)
    state = load_state(place / "out")
    earlier = State(
        snapshot=state.snapshot,
        nodes={"generated": 1200},
        horizons=state.horizons,
        files=state.files,
    )
    parts = snapshot(place / "journal", after={"generated": 1200}, upto={"generated": 1300})
    work = prepare(spark, place / "journal", earlier, parts)
    rows = {(row["seq"], row["exchange"] and bytes(row["exchange"])) for row in work.rows.collect()}
    new = {seq for seq, _ in rows if seq > 1200}
    assert new == set(range(1201, 1301))
    old = {exchange for seq, exchange in rows if seq <= 1200}
    assert old, "something was in the middle"
    touched = {bytes.fromhex(row["exchange"]) for row in work.again.collect()}
    assert old <= touched
    everything = spark.read.format("framehub").load(str(place / "journal")).where("seq <= 1200").collect()
    of_them = {row["seq"] for row in everything if row["exchange"] and bytes(row["exchange"]) in old}
    assert {seq for seq, _ in rows if seq <= 1200} == of_them
    assert work.links.count() > 0
    work.done()


def test_earlier_rows_that_are_damaged_or_gone_are_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was taken in when it was whole may have to be read again when it is not."""
    journal = tmp_path / "journal"
    generate(journal, frames=9000, seed=11, segment_bytes=500_000)
    first, second, *_ = parts = snapshot(journal)
    assert first.kind == "parquet"
    taken = first.last_seq - 10
    state = State(snapshot=tmp_path, nodes={"generated": taken})
    touched = Touched(exchanges={"generated": {bytes(16)}}, spans={"generated": [(1, taken)]})
    monkeypatch.setattr(work_module, "_touched", lambda *_: touched)
    monkeypatch.setattr(work_module, "known_links", lambda _: LINK_SCHEMA.empty_table())
    rest = snapshot(journal, after={"generated": taken})
    file = Path(first.file)
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)
    work = prepare(spark, journal, state, rest)
    assert file.name in work.census.damaged
    assert work.rows.count() > 0, "it can be read, without what is lost"
    work.done()
    file.unlink()
    work = prepare(spark, journal, state, snapshot(journal, after={"generated": first.last_seq}))
    assert f"rows 1 to {taken} are missing" in str(work.census.damages[-1])
    work.done()
    assert second.first_seq == first.last_seq + 1
    assert len(parts) > 2
