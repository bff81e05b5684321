"""SQL over the tables, at a prompt and from a script."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from framehub.cli.main import run as framehub
from framehub.errors import PipelineError
from framehub.journal.generate import generate
from framehub.pipeline.explore import explorer
from framehub.pipeline.run import run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def out(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("explore")
    generate(place / "journal", frames=2500, seed=9)
    run(place / "journal", place / "out {a,b} [1]", spark=spark)
    return place / "out {a,b} [1]"


def test_an_answer_is_rows_of_plain_values(spark: SparkSession, out: Path) -> None:
    with explorer(out, spark=spark) as tables:
        counted = tables.ask("SELECT count(*) AS n FROM frames", 10)
        assert (counted.names, counted.more) == (["n"], False)
        assert counted.rows[0][0] > 2000
        said = tables.ask("SELECT data, files FROM messages WHERE endpoint = 'chat' AND kind = 'message'", 3)
        assert said.more
        assert len(said.rows) == 3
        assert set(json.loads(said.rows[0][0])) == {"text", "room"}
        assert {name for name, _, comment in tables.columns("exchanges") if comment} >= {"outcome", "given"}
        with pytest.raises(PipelineError, match="nowhere"):
            tables.ask("SELECT nowhere FROM frames", 1)


def test_a_table_that_is_not_there_is_one_line(
    spark: SparkSession, out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with explorer(out, spark=spark) as tables, pytest.raises(PipelineError, match="`nope` cannot be found"):
        tables.ask("SELECT * FROM nope", 1)
    assert capfd.readouterr().err == ""


def test_the_command_prints_tables_json_and_csv(spark: SparkSession, out: Path) -> None:
    sql = "SELECT outcome, count(*) AS n FROM exchanges GROUP BY outcome ORDER BY n DESC"
    shown = CliRunner().invoke(framehub, ["pipeline", "explore", str(out), sql])
    assert shown.exit_code == 0, shown.output
    assert "│ ok" in shown.stdout
    rows = CliRunner().invoke(framehub, ["pipeline", "explore", str(out), sql, "--json"]).stdout.splitlines()
    assert json.loads(rows[0])["outcome"] == "ok"
    lines = CliRunner().invoke(framehub, ["pipeline", "explore", str(out), sql, "--csv", "--limit", "1"])
    assert lines.stdout.splitlines()[0] == "outcome,n"
    assert "only the first 1 rows are shown" in lines.stderr


def test_statements_come_from_stdin_too(spark: SparkSession, out: Path) -> None:
    typed = "SELECT 1 AS one;\nSELECT\n 2 AS two;\n"
    done = CliRunner().invoke(framehub, ["pipeline", "explore", str(out), "--json"], input=typed)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"one": 1}, {"two": 2}]


def test_errors_are_one_line(spark: SparkSession, out: Path, tmp_path: Path) -> None:
    wrong = CliRunner().invoke(framehub, ["pipeline", "explore", str(out), "SELEC 1"])
    assert wrong.exit_code == 1
    assert wrong.stderr.startswith("Error: ")
    assert "Traceback" not in wrong.stderr
    missing = CliRunner().invoke(framehub, ["pipeline", "explore", str(tmp_path), "SELECT 1"])
    assert (missing.exit_code, missing.stderr) == (
        1,
        f"Error: no tables in {tmp_path}: make them with `framehub pipeline run JOURNAL {tmp_path}`\n",
    )
