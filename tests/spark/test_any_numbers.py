"""No number and no byte of a row makes a stage fail, in whichever order Spark evaluates what it reads."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col, transform

from framehub.pipeline import files, messages
from framehub.pipeline.stages import coders
from framehub.pipeline.step import FOR_FEW_ROWS

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
LEAST, MOST = -(2**31), 2**31 - 1
NUMBERS = (LEAST, -1, 0, 3, MOST, None)
BYTES = (None, b"", b"\xff", b"\xff" * 17, bytes(40))


@pytest.fixture(params=["compiled", "interpreted"])
def mode(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """The session of the suite interprets; users' sessions compile."""
    few = {name: spark.conf.get(name) for name in FOR_FEW_ROWS}
    usual = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"}
    for name, value in usual.items() if request.param == "compiled" else ():
        spark.conf.set(name, value)
    yield
    for name, before in few.items():
        spark.conf.set(name, str(before))


def test_what_is_read_of_bytes_needs_no_guard(spark: SparkSession, mode: None) -> None:
    rows = [(*numbers, data) for numbers in product(NUMBERS, NUMBERS) for data in BYTES]
    table = spark.createDataFrame(rows, "at int, count int, raw binary").withColumn(
        "_names", coders.no_files()
    )
    at, count, raw = col("at"), col("count"), col("raw")
    read: dict[str, Column] = {
        "cut": coders.cut("raw", at, count),
        "u32": coders.u32(at),
        "eights": coders.places(count, 8),
        "fours": coders.places(count, 4),
        "attached": transform(coders.places(count, 8), lambda place: coders.attached(at, place)),
        "string": coders.string(raw),
        **{name: of(raw) for name, (_, of) in coders._FIXED.items()},
    }
    for row in table.select("*", *[made.alias(name) for name, made in read.items()]).collect():
        for name, size in {"eights": 8, "fours": 4}.items():
            if row["count"] is None or row["raw"] is None:
                assert row[name] is None
            else:
                assert row[name] == list(range(max(0, min(row["count"], len(row["raw"]) // size))))
        if row["raw"] is not None and row["at"] in (0, 3):
            there = row["raw"][row["at"] : row["at"] + 4]
            assert row["u32"] == int.from_bytes(there) or not there


def test_stages_take_any_numbers(spark: SparkSession, journal_of: JournalOf, mode: None) -> None:
    kinds = [
        {"protocol": "mfp", "kind": "message", "head": head, "exchange": bytes(16)}
        for head in (0x43, 0x47, 0x45)
    ]
    kinds += [
        {"protocol": "rpc", "kind": "query", "coder": coder, "exchange": bytes([1] * 16)}
        for coder in ("envelope", "Int", "Long", "ULong", "Double", "String", "json")
    ]
    rows: list[dict[str, Any]] = [
        kind | {"payload_at": at, "payload_bytes": size, "files": count, "raw": data, "recorded": "full"}
        for kind in kinds
        for at, size, count in product((LEAST, 0, MOST), (LEAST, 0, 9, MOST), (LEAST, 0, 2, MOST))
        for data in (b"", b"\xff" * 17, bytes(40))
    ]
    journal = journal_of(rows)
    assert messages(journal).count() == len(rows)
    assert len(messages(journal).collect()) == len(rows)
    assert {row["how"] for row in files(journal).collect()} <= {"attached", "announced"}
