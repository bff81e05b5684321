"""A file goes through without being in memory, at either end: a slice of ``make bench ARGS=big_file``."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MIB = 2**20
SIZE_MIB = 64
MOST_MIB = 24


def test_a_streamed_file_costs_neither_end_its_size_in_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_big_file", str(SIZE_MIB)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    for end in ("sender", "receiver"):
        assert result[end]["bytes"] == SIZE_MIB * MIB
        assert 0 <= result[end]["growth_mib"] < MOST_MIB
