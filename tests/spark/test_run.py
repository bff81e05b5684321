"""Whole runs: tables on disk, one whole snapshot at a time."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from click.testing import CliRunner
from pyspark.sql import DataFrame, SparkSession

from framehub.cli.main import run as framehub
from framehub.errors import JournalError, PipelineError
from framehub.journal.generate import generate
from framehub.journal.rpc_rows import IN, OUT, RpcRows
from framehub.journal.writer import JournalWriter
from framehub.pipeline import exchanges, files, frames, messages, metrics, read_journal, violations, writers
from framehub.pipeline.run import Result, run
from framehub.pipeline.schemas import TABLES, shape
from framehub.report.page import write_report

pytestmark = pytest.mark.spark

STAGES = {
    "frames": frames,
    "messages": messages,
    "exchanges": exchanges,
    "files": files,
    "violations": violations,
    "metrics": metrics,
}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "journal"
    generate(path, frames=3000, seed=3, segment_bytes=700_000)
    return path


class Whole(NamedTuple):
    """One run of that journal."""

    out: Path
    result: Result
    steps: list[tuple[str, int, int]]

    def copy(self, out: Path) -> Result:
        """The same tables elsewhere, as if they had been made there."""
        shutil.copytree(self.out, out, symlinks=True)
        return replace(self.result, snapshot=out / "snapshots" / self.result.snapshot.name)


@pytest.fixture(scope="module")
def whole(spark: SparkSession, journal: Path) -> Whole:
    steps: list[tuple[str, int, int]] = []
    out = journal.parent / "out"
    return Whole(out, run(journal, out, spark=spark, progress=lambda *told: steps.append(told)), steps)


def _rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def test_tables_are_what_the_stages_give(spark: SparkSession, journal: Path, whole: Whole) -> None:
    out, result, steps = whole
    source = read_journal(spark, journal)
    for name, stage in STAGES.items():
        table = spark.read.parquet(str(out / "current" / name))
        assert sorted(shape(table.schema)) == sorted(shape(TABLES[name]))
        want = stage(source).drop("data")
        there, wanted = _rows(table.select(want.columns).toArrow()), _rows(want.toArrow())
        assert there == wanted
        assert len(there) == result.rows[name]
        assert result.rows[name] or name == "violations"
    assert steps[0] == ("reading what is new", 0, 3000)
    assert steps[-1] == ("replaced the tables", 3000, 3000)
    assert result.new == 3000
    manifest = json.loads((out / "current" / "manifest.json").read_text())
    assert manifest["rows"] == result.rows
    assert manifest["nodes"] == result.nodes == {"generated": 3000}
    assert manifest["damage"] == []
    assert len(manifest["rules"]) > 25
    for name, schema in TABLES.items():
        assert [column["name"] for column in manifest["columns"][name]] == schema.names
        assert all(column["comment"] for column in manifest["columns"][name])
    _check_for_other_readers(out / "current")


def _check_for_other_readers(current: Path) -> None:
    for name in TABLES:
        assert {file.suffix for file in (current / name).rglob("*") if file.is_file()} == {".parquet"}
    sent = ds.dataset(current / "messages", partitioning="hive").schema
    assert str(sent.field("time").type) == "timestamp[us, tz=UTC]"
    assert [field.name for field in sent.field("data").type] == ["value", "metadata"]


def test_a_fresh_run_replaces_the_first_and_gives_the_same(
    spark: SparkSession,
    journal: Path,
    whole: Whole,
    tmp_path: Path,
    tables_of: Callable[[Path], dict[str, Any]],
) -> None:
    out = tmp_path / "out"
    first = whole.copy(out)
    before = tables_of(out / "current")
    idle = run(journal, out, spark=spark)
    assert (idle.new, idle.snapshot) == (0, first.snapshot.resolve()), "there was nothing to do"
    seen: list[tuple[int, bool]] = []

    def look(_what: str, done: int, total: int) -> None:
        seen.append((done, (out / "current").resolve() == first.snapshot.resolve()))
        assert seen[-1][1] or done == total, "the old tables stay until the new ones are complete"

    rows = sum(first.nodes.values())
    second = run(journal, out, spark=spark, fresh=True, step_rows=rows * 2 // 3, progress=look)
    assert any(old for done, old in seen if done >= rows * 2 // 3)
    assert (out / "current").resolve() == second.snapshot.resolve() != first.snapshot.resolve()
    assert tables_of(out / "current") == before == tables_of(first.snapshot)


def test_a_run_that_fails_leaves_the_tables_and_the_next_cleans_up(
    spark: SparkSession, journal: Path, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    first = whole.copy(out)

    def broken(rows: DataFrame, links: DataFrame) -> DataFrame:
        failing = exchanges(rows, links).selectExpr(
            "* except (code)", "cast(raise_error('the disk is full') as string) as code"
        )
        return failing.select(TABLES["exchanges"].names)

    with monkeypatch.context() as patched:
        patched.setattr(writers, "exchanges", broken)
        with pytest.raises(PipelineError, match="the disk is full"):
            run(journal, out, spark=spark, fresh=True)
    assert (out / "current").resolve() == first.snapshot.resolve()
    assert list((out / "snapshots").iterdir()) == [first.snapshot]
    (out / "snapshots" / "half").mkdir()
    again = run(journal, out, spark=spark, fresh=True)
    left = {path.name for path in (out / "snapshots").iterdir()}
    assert left == {first.snapshot.name, again.snapshot.name}


def test_an_empty_journal_gives_empty_tables_and_a_report(spark: SparkSession, tmp_path: Path) -> None:
    JournalWriter(tmp_path / "journal", node="one").close()
    result = run(tmp_path / "journal", tmp_path / "out", spark=spark)
    assert result.rows == dict.fromkeys(TABLES, 0)
    for name, schema in TABLES.items():
        table = spark.read.parquet(str(tmp_path / "out" / "current" / name))
        assert shape(table.schema) == shape(schema)
        assert ds.dataset(tmp_path / "out" / "current" / name, format="parquet").count_rows() == 0
    assert "no frames yet" in write_report(tmp_path / "out").read_text()


def test_calls_of_functions_reach_the_tables_and_the_report(spark: SparkSession, tmp_path: Path) -> None:
    rows, wid = RpcRows(), b"w" * 16
    about: dict[str, Any] = {"link": bytes(8), "exchange": wid, "function": "add", "coder": "json"}
    at = iter((1_780_000_000_000_000_000 + n * 1_000_000, n * 1_000_000) for n in range(9))
    with JournalWriter(tmp_path / "journal", node="one") as writer:
        writer.append(rows.row(next(at), IN, b"c", [b"QUERY", b"1", b'["<b>",2]', b"add"], **about))
        writer.append(rows.row(next(at), OUT, b"w", [b"QUERY", wid, b'["<b>",2]', b"add"], **about))
        writer.append(rows.row(next(at), IN, b"w", [b"RESPONSE_RESULT", wid, b"3"], **about))
        writer.append(rows.row(next(at), OUT, b"c", [b"RESPONSE_RESULT", b"1", b"3"], **about))
        writer.append(rows.row(next(at), IN, b"w", [b"HEART_BEAT"], link=bytes(8)))
    result = run(tmp_path / "journal", tmp_path / "out", spark=spark)
    assert {name: result.rows[name] for name in ("frames", "messages", "exchanges")} == {
        "frames": 5,
        "messages": 2,
        "exchanges": 1,
    }
    page = write_report(tmp_path / "out").read_text()
    assert '<span class="called">add()</span>' in page
    assert "[&quot;&lt;b&gt;&quot;,2]" in page


def test_damage_is_told(spark: SparkSession, tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=6000, seed=3)
    (segment,) = (tmp_path / "journal").glob("*.fhj")
    with segment.open("r+b") as file:
        file.seek(segment.stat().st_size // 2)
        file.write(b"\x5a" * 100)
    result = run(tmp_path / "journal", tmp_path / "out", spark=spark)
    assert len(result.damage) == 1
    assert segment.name in result.damage[0]
    assert 0 < result.rows["frames"] < 5900
    page = write_report(tmp_path / "out").read_text()
    assert "The journal is damaged" in page


def test_the_command_prints_one_object(spark: SparkSession, journal: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(framehub, ["pipeline", "run", str(journal), str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert set(told["rows"]) == set(TABLES)
    assert "writing tables" in done.stderr
    # The session of this suite was used, and is not ours to stop.
    assert spark.range(1).count() == 1


def test_a_wrong_path_is_one_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(framehub, ["pipeline", "run", str(tmp_path / "nowhere"), str(tmp_path / "out")])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"Error: {tmp_path}/nowhere: no such journal\n"
    assert not (tmp_path / "out").exists()


def test_out_that_is_a_file_is_one_line(spark: SparkSession, journal: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(PipelineError, match="cannot write tables"):
        run(journal, tmp_path / "out", spark=spark)
    (tmp_path / "empty").mkdir()
    with pytest.raises(JournalError, match="no journal here"):
        run(tmp_path / "empty", tmp_path / "other", spark=spark)
