"""Recorded bytes decoded again in Spark: how much more that costs than reading them.

A generated journal, all of it sealed. In turns: a plain Parquet scan of every column, ``raw`` included, into
Spark's noop sink, which takes whole rows; the data source's views ``unsound`` and ``decoded``; the stage
``unsound`` over a scan; what one would write first, a UDF that decodes each MFP frame and compares all that
the view compares, its rows given by Arrow, as Spark does by itself, and by pickle, as it once did; and, the
least that such a UDF can do, one that compares the id only.

A row counts where it is decoded: of all protocols in the views, of MFP only in a UDF, which is a third
shorter to write for that. The UDF's time has also the reading of the rows that it leaves out, some 40 of 100.
``given to UDF`` is its reading alone, and a last line says what the ratio is without that share.

Counted is CPU time of the whole tree of processes: driver, JVM and Python workers. ``FRAMES`` in the
environment says how many frames; the journal is kept in ``JOURNAL``, if that is given.
"""

import os
import tempfile
import time
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from benchmarks.measuring import Ratio, ratio
from benchmarks.process_tree import ProcessTree
from benchmarks.report import Report
from framehub.journal.generate import generate
from framehub.journal.reader import Part, snapshot
from framehub.journal.seal import seal
from framehub.mfp import codec
from framehub.mfp.frames import BinaryFrame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.pipeline.schemas import journal_schema
from framehub.pipeline.session import session
from framehub.pipeline.source import encode_parts
from framehub.pipeline.stages.unsound import unsound

MEASURES = ("src/framehub/journal", "src/framehub/mfp", "src/framehub/pipeline")

FRAMES = int(os.environ.get("FRAMES", "2000000"))
JOURNAL = os.environ.get("JOURNAL")
ROUNDS = 3
TO_SCAN, TO_UDF = 0.25, 5.0
VIEW, SCAN, UDF, LEAST_UDF = "view unsound", "scan", "row UDF", "row UDF, id"
OLD_UDF, GIVEN = "row UDF, pickle", "given to UDF"
MFP_FRAMES = "protocol = 'mfp' and kind not in ('refused', 'link_opened', 'link_closed')"
COMPARED = (
    "raw",
    "bytes",
    "kind",
    "head",
    "id",
    "ref",
    "key",
    "code",
    "payload_at",
    "payload_bytes",
    "files",
)
KINDS = {
    ServiceFrame: "service",
    MessageFrame: "message",
    RequestFrame: "request",
    BinaryFrame: "binary",
    ResponseFrame: "response",
}


def sealed_journal(place: Path, frames: int = FRAMES) -> list[Part]:
    """A journal of so many rows at ``place``, made if there is none."""
    if not place.exists():
        generate(place, frames=frames)
        for part in snapshot(place):
            if part.kind == "blocks":
                seal(Path(part.file), node=part.node, salt=part.salt)
    return snapshot(place)


def differs(raw, *recorded):  # type: ignore[no-untyped-def]  # Spark would look for a meaning in the types
    """Whether a frame says something else than its row: what the view asks, for one MFP frame."""
    frame = codec.decode(raw)
    ref = key = code = payload_at = payload_bytes = files = None
    if isinstance(frame, ServiceFrame):
        ref, code = frame.ref, int(frame.code)
    elif isinstance(frame, BinaryFrame):
        ref, key = frame.ref, frame.key
    else:
        head_bytes = 5
        if isinstance(frame, ResponseFrame):
            ref, head_bytes = frame.ref, 9
        announced = frame.expected if isinstance(frame, MessageFrame) else ()
        files = len(announced) or len(frame.files)
        if frame.payload:
            payload_at, payload_bytes = head_bytes + (8 if files else 4), len(frame.payload)
    said = (len(raw), KINDS[type(frame)], raw[0], frame.id, ref, key, code, payload_at, payload_bytes, files)
    return said != recorded


def contenders(spark: SparkSession, place: Path, parts: list[Part]) -> dict[str, DataFrame]:
    files = [part.file for part in parts]
    scan = spark.read.schema(journal_schema()).parquet(*files)
    source = spark.read.format("framehub").option("parts", encode_parts(parts))
    id_differs = udf(lambda raw, id_: codec.decode(raw).id != id_, "boolean")
    all_differs = udf(differs, "boolean")
    frames = scan.where(MFP_FRAMES)
    return {
        SCAN: scan,
        VIEW: source.option("view", "unsound").load(str(place)),
        "view decoded": source.option("view", "decoded").load(str(place)),
        "stage unsound": unsound(scan),
        UDF: frames.where(all_differs(*COMPARED)).select("node", "seq"),
        OLD_UDF: frames.where(udf(differs, "boolean", useArrow=False)(*COMPARED)).select("node", "seq"),
        LEAST_UDF: frames.where(id_differs("raw", "id")).select("node", "seq"),
        GIVEN: frames.select("node", "seq", *COMPARED),
    }


def take_all(table: DataFrame, processes: ProcessTree) -> tuple[float, float]:
    """CPU and wall clock seconds to make every row of the table."""
    cpu, clock = processes.cpu_seconds(), time.perf_counter()
    table.write.format("noop").mode("overwrite").save()
    return processes.cpu_seconds() - cpu, time.perf_counter() - clock


def measured(
    tables: dict[str, DataFrame], rows: dict[str, int]
) -> dict[str, tuple[list[float], list[float]]]:
    """Rows per CPU second and per second of each, round by round."""
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in tables}
    processes = ProcessTree()
    for turn in range(-1, ROUNDS):
        for name in list(tables) if turn % 2 else reversed(tables):
            cpu, clock = take_all(tables[name], processes)
            if turn >= 0:  # the first round only warms up
                found[name][0].append(rows[name] / cpu)
                found[name][1].append(rows[name] / clock)
    return found


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(JOURNAL) if JOURNAL else Path(temporary) / "journal"
        parts = sealed_journal(place)
        spark = session("local[*]", "bench_decode", log=Path(temporary) / "log")
        try:
            tables = contenders(spark, place, parts)
            every = sum(part.rows for part in parts)
            mfp = tables[SCAN].where(MFP_FRAMES).count()
            rows = dict.fromkeys(tables, every) | dict.fromkeys((UDF, OLD_UDF, LEAST_UDF, GIVEN), mfp)
            for name in (VIEW, UDF):
                assert tables[name].isEmpty(), "a generated journal is sound"
            found = measured(tables, rows)
        finally:
            spark.stop()
        size = sum(Path(part.file).stat().st_size for part in parts)
        report.say(f"{every:,} rows, {mfp:,} of them MFP frames; {size / 2**20:,.0f} MiB of Parquet")
        say(report, found, left_out=1 - mfp / every)


def say(report: Report, found: dict[str, tuple[list[float], list[float]]], *, left_out: float) -> None:
    def to(other: str, name: str) -> Ratio:
        return ratio(found[name][0], found[other][0])

    to_scan, to_udf = partial(to, SCAN), partial(to, UDF)
    report.say(
        f"{'':15} {'us CPU a row':>12} {'rows/s':>12}  to scan: best (rounds)    to row UDF: best (rounds)"
    )
    for name, (cpu, clock) in found.items():
        said = f"{name:15} {1e6 / max(cpu):12.2f} {max(clock):12,.0f}  {to_scan(name)!s:24}  {to_udf(name)}"
        report.say(said)
    marks = (
        report.at_least("decode, view unsound to a plain scan", to_scan(VIEW).best, TO_SCAN),
        report.at_least("decode, view unsound to a row UDF", to_udf(VIEW).best, TO_UDF),
    )
    report.say(f"{VIEW}: at least {TO_SCAN:g} of a scan, {TO_UDF:g} times a row UDF: {', '.join(marks)}")
    view, given, row_udf = (1 / max(found[name][0]) for name in (VIEW, GIVEN, UDF))
    report.say(f"without reading what the UDF leaves out: {(row_udf - given * left_out) / view:.2f} times")
