"""A plan that Spark cannot compile fails the test that made it."""

import subprocess
import sys
from functools import reduce
from operator import or_
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, concat, lit

from tests.uncompiled import UNCOMPILED

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
TESTS = """\
import os
from pathlib import Path

import pytest


@pytest.mark.parametrize("said", ["", "ERROR CodeGenerator: Failed to compile", ""])
def test_that_passes(said: str) -> None:
    with Path(os.environ["UNCOMPILED_PLANS"]).open("a") as file:
        file.write(said)
"""


def test_a_plan_that_is_too_long_for_java_is_noticed(spark: SparkSession) -> None:
    def few(terms: int) -> int:
        found = [concat(col("id").cast("string"), lit(f" {n}")) == f"x {n}" for n in range(terms)]
        while len(found) > 1:  # pair by pair: Spark has no room for a long chain on its own stack
            found = [reduce(or_, found[at : at + 2]) for at in range(0, len(found), 2)]
        return spark.newSession().range(10).where(found[0]).count()

    UNCOMPILED.check()
    assert few(3) == 0
    UNCOMPILED.check()
    assert few(1500) == 0, "it is interpreted then"
    with pytest.raises(AssertionError, match="could not compile") as failed:
        UNCOMPILED.check()
    assert "Code grows beyond 64 KB" in str(failed.value)
    UNCOMPILED.check()


def test_the_test_that_made_it_fails_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "test_made_up.py"
    file.write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        "-v",
        str(file),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, done.stdout
    assert "3 passed, 1 error" in done.stdout
    assert "Spark could not compile a plan:" in done.stdout
    assert "ERROR CodeGenerator: Failed to compile" in done.stdout
