"""A whole run of the pipeline beside DuckDB making the same tables from the same journal.

A generated journal, all of it sealed; both start anew, as their users start them, and write the six tables as
Parquet. CPU time of every process counts, starting up included. DuckDB's side does less: it judges fewer
rules, and does not decode the recorded bytes again (``peers/duckdb_tables.py`` says which). Both sets of
tables are compared row by row, in the columns and rules that both have. ``FRAMES`` in the environment says
how many frames.
"""

import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.bench_decode import JOURNAL, sealed_journal
from benchmarks.duckdb_same import differences
from benchmarks.measuring import ROOT, ratio
from benchmarks.peers.environments import python_of
from benchmarks.report import Report
from benchmarks.whole_runs import Spent, run, spent

MEASURES = ("src/framehub/journal", "src/framehub/pipeline")

ROUNDS = 2
FRAMES = int(os.environ.get("FRAMES", "1000000"))
OURS, THEIRS = "framehub", "DuckDB"
PEER = ROOT / "benchmarks" / "peers" / "duckdb_tables.py"


def main(report: Report) -> None:
    python = python_of("duckdb")
    found: dict[str, list[Spent]] = {OURS: [], THEIRS: []}
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        place = Path(JOURNAL) if JOURNAL else root / "journal"
        rows = sum(part.rows for part in sealed_journal(place, FRAMES))
        outs = {OURS: root / "ours", THEIRS: root / "theirs"}
        for turn in range(ROUNDS):
            for name in (OURS, THEIRS) if turn % 2 else (THEIRS, OURS):
                shutil.rmtree(outs[name], ignore_errors=True)
                command = [python, str(PEER), str(place), str(outs[name])]
                found[name].append(run(place, outs[name])[0] if name == OURS else spent(command))
        same = differences(outs[OURS] / "current", outs[THEIRS])
    report.say(f"{rows:,} rows; best of {ROUNDS} rounds")
    report.say(f"{'':10} {'CPU us a row':>12} {'rows/s':>10} {'peak MiB':>9}  rows per CPU s, to DuckDB")
    rates = {name: [rows / one.cpu for one in taken] for name, taken in found.items()}
    for name, taken in found.items():
        clock, peak = min(one.clock for one in taken), max(one.peak for one in taken)
        report.say(
            f"{name:10} {1e6 / max(rates[name]):12.1f} {rows / clock:10,.0f} {peak / 2**20:9,.0f}  "
            f"{ratio(rates[name], rates[THEIRS])}"
        )
    for line in same:
        report.say(line)
