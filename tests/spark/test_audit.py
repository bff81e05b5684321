"""The audit from a shell: what was put in is found, nothing else is."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from framehub.cli.main import run as framehub
from framehub.journal.generate import generate
from framehub.pipeline.audit import audit
from framehub.pipeline.stages.rules import RULES

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    journal = tmp_path_factory.mktemp("audit") / "faulty"
    generate(journal, frames=8000, seed=4, segment_bytes=1_000_000, faults="all", each=2)
    return journal


def test_every_fault_is_found_with_its_evidence_and_nothing_else(spark: SparkSession, faulty: Path) -> None:
    found = audit(faulty, spark=spark)
    truth = json.loads((faulty / "truth.json").read_bytes())["faults"]
    want = [
        (breach["rule"], breach["evidence"]) for fault in truth for breach in (fault, *fault["companions"])
    ]
    assert sorted((row["rule"], row["evidence"]) for row in found.violations) == sorted(want)
    assert {rule for rule, _ in want} == {rule.name for rule in RULES}
    assert len(found.damage) == 2, "both gaps are told"


def test_a_clean_journal_breaks_no_rule(spark: SparkSession, tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=6000, seed=6)
    done = CliRunner().invoke(framehub, ["pipeline", "audit", str(tmp_path / "journal")])
    assert done.exit_code == 0, done.output
    assert done.stdout == f"6,000 rows, {len(RULES)} rules: all held\n"


def test_the_command_shows_evidence_and_fails(spark: SparkSession, faulty: Path) -> None:
    command = ["pipeline", "audit", str(faulty), "--rule", "mfp-answered-twice", "--limit", "1"]
    done = CliRunner().invoke(framehub, command)
    assert done.exit_code == 1
    assert "mfp-answered-twice: A request is answered at most once. Broken 2 times:" in done.stdout
    assert "... and 1 more" in done.stdout
    assert "2 violations of 1 rules" in done.stdout
    shown = next(line for line in done.stdout.splitlines() if "journal cat" in line).split()
    rows = CliRunner().invoke(framehub, shown[1:]).stdout.splitlines()
    assert len(rows) == 2
    assert all("response" in row for row in rows)
    told = json.loads(CliRunner().invoke(framehub, [*command, "--json"]).stdout)
    assert [found["rule"] for found in told["violations"]] == ["mfp-answered-twice"] * 2
    assert told["broken"] == {"mfp-answered-twice": 2}


def test_all_are_counted_also_those_that_are_not_brought_back(spark: SparkSession, faulty: Path) -> None:
    all_, one = (audit(faulty, spark=spark, rules=["mfp-answered-twice"], most=most) for most in (2, 1))
    assert all_.counts == one.counts == {"mfp-answered-twice": 2}
    assert one.violations == all_.violations[:1]
    assert len(all_.violations) == 2


def test_rules_are_listed_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=300, seed=6)
    command = ["pipeline", "audit", str(tmp_path / "journal")]
    listed = CliRunner().invoke(framehub, [*command, "--rules", "--json"])
    assert len(json.loads(listed.stdout)) == len(RULES) > 25
    wrong = CliRunner().invoke(framehub, [*command, "--rule", "mfp-x"])
    assert wrong.exit_code == 2
    assert "no rule 'mfp-x'" in wrong.stderr
