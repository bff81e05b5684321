"""The table ``frames`` in Spark: how much more it costs than a plain Parquet scan of the journal.

A generated journal, all of it sealed, into Spark's noop sink, which takes whole rows. In turns: a scan of
every column; a scan of the columns that ``frames`` needs; the table, as a run makes it; and ``exchanges``,
the table with an aggregation in it, to compare. CPU time of the whole tree of processes counts. ``FRAMES``
and ``JOURNAL`` in the environment mean what they do for ``decode``.
"""

import tempfile
from pathlib import Path

from benchmarks.bench_decode import JOURNAL, measured, sealed_journal
from benchmarks.measuring import ratio
from benchmarks.report import Report
from framehub.pipeline.journal import read_parts
from framehub.pipeline.schemas import journal_schema
from framehub.pipeline.session import session
from framehub.pipeline.stages.exchanges import exchanges
from framehub.pipeline.stages.frames import frames

MEASURES = ("src/framehub/journal", "src/framehub/pipeline")

TO_SCAN = 0.6
SCAN, NARROW, FRAMES, EXCHANGES = "scan", "scan, no raw", "frames", "exchanges"


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(JOURNAL) if JOURNAL else Path(temporary) / "journal"
        parts = sealed_journal(place)
        spark = session("local[*]", "bench_frames", log=Path(temporary) / "log")
        try:
            scan = spark.read.schema(journal_schema()).parquet(*(part.file for part in parts))
            journal = read_parts(spark, place, parts)
            every = sum(part.rows for part in parts)
            tables = {
                SCAN: scan,
                NARROW: scan.drop("raw"),
                FRAMES: frames(journal),
                EXCHANGES: exchanges(journal),
            }
            found = measured(tables, dict.fromkeys(tables, every))
        finally:
            spark.stop()
    report.say(f"{every:,} rows")
    report.say(f"{'':15} {'us CPU a row':>12} {'rows/s':>12}  to scan: best (rounds)    to scan, no raw")
    for name, (cpu, clock) in found.items():
        to_scan, to_narrow = ratio(cpu, found[SCAN][0]), ratio(cpu, found[NARROW][0])
        report.say(f"{name:15} {1e6 / max(cpu):12.2f} {max(clock):12,.0f}  {to_scan!s:24}  {to_narrow}")
    best = ratio(found[FRAMES][0], found[SCAN][0]).best
    mark = report.at_least("table frames to a plain Parquet scan", best, TO_SCAN)
    report.say(f"frames: at least {TO_SCAN:g} of a scan of every column: {mark}")
