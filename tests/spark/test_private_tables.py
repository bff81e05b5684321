"""Tables, their report and files that are taken out of them are their owner's only, whatever the umask."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from framehub.errors import PipelineError
from framehub.journal.generate import generate
from framehub.pipeline.run import run
from framehub.report.extract import extract, listed
from framehub.report.page import write_report

pytestmark = pytest.mark.spark


def not_private(root: Path) -> dict[str, str]:
    """What others may do something with."""
    found = {}
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode != (0o700 if path.is_dir() else 0o600):
                found[str(path.relative_to(root))] = oct(mode)
    return found


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    generate(tmp_path / "j", frames=3_100, seed=5, faults="all")
    return tmp_path / "j"


def test_all_that_a_run_writes_is_its_owners_only(spark: SparkSession, journal: Path, tmp_path: Path) -> None:
    out = tmp_path / "above" / "tables"
    before = os.umask(0)
    try:
        run(journal, out, spark=spark, step_rows=1_700)
        write_report(out)
        written = list(extract(listed(out), tmp_path / "above" / "files" / "out"))
    finally:
        os.umask(before)
    assert any(file for _, file, _ in written)
    kinds = {path.suffix or path.name for path in (tmp_path / "above").rglob("*") if path.is_file()}
    assert {".parquet", ".json", ".html", ".npy", ".arrow", ".jsonl", "lock"} <= kinds
    assert not_private(tmp_path / "above") == {}


def test_so_it_is_where_java_too_has_no_umask(journal: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    command = [sys.executable, "-m", "framehub", "pipeline", "run", str(journal), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, umask=0, check=False)
    assert done.returncode == 0, done.stderr
    assert (out / "spark.log").exists()
    assert not_private(out) == {}


@pytest.mark.parametrize("bits", [0o775, 0o757, 0o1777])
def test_no_tables_go_where_others_can_write(
    spark: SparkSession, journal: Path, tmp_path: Path, bits: int
) -> None:
    out = tmp_path / "tables"
    out.mkdir()
    out.chmod(bits)
    with pytest.raises(PipelineError, match=re.escape(f"{out}: others can write there: chmod go-w {out}")):
        run(journal, out, spark=spark)
    assert [path.name for path in out.iterdir()] in ([], ["snapshots"])


@pytest.mark.parametrize("what", ["pipe", "link"])
def test_a_lock_that_is_no_file_is_waited_for_by_nobody(
    spark: SparkSession, journal: Path, tmp_path: Path, what: str
) -> None:
    out = tmp_path / "tables"
    out.mkdir(0o700)
    os.mkfifo(out / "lock") if what == "pipe" else (out / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PipelineError, match=re.escape(f"{out / 'lock'}: it is no regular file")):
        run(journal, out, spark=spark)
    assert not (tmp_path / "elsewhere").exists()
