from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit

from framehub.pipeline.schemas import EXCHANGES, shape
from framehub.pipeline.stages.gathering import exchange_table, first, gather, last

pytestmark = pytest.mark.spark

A, B = bytes([10] * 16), bytes([11] * 16)


def frame(seq: int, code: int, exchange: bytes = A, **more: Any) -> dict[str, Any]:
    return {"kind": "service", "seq": seq, "code": code, "exchange": exchange} | more


def test_rows_are_counted_and_the_right_ones_chosen(journal_of: Callable[..., DataFrame]) -> None:
    rows = [
        frame(3, 2, time_ns=9_000, direction="out", bytes=5),
        frame(1, 1, time_ns=7_000, user=4, bytes=2),
        frame(2, 2, time_ns=11_000, direction="out", bytes=3),
        frame(4, 1, B, time_ns=1_000, node="two"),
    ]
    two = col("code") == 2
    gathered = gather(
        journal_of(rows),
        first(col("code") == 1, "user", "parent").alias("open"),
        first(two, "code").alias("early"),
        last(two).alias("answer"),
        first(col("code") == 7).alias("never"),
    )
    one, other = gathered.orderBy("node").collect()
    assert (one["open"]["seq"], one["early"]["seq"], one["answer"]["seq"], one["never"]) == (1, 2, 3, None)
    assert (one["frames_in"], one["frames_out"], one["bytes_in"], one["bytes_out"]) == (1, 2, 2, 8)
    assert (one["first_seq"], one["last_seq"], one["first_ns"], one["last_ns"]) == (1, 3, 7_000, 9_000)
    assert (other["node"], other["early"], other["first_seq"]) == ("two", None, 4)
    made = exchange_table(
        gathered,
        **{name: lit(name) for name in ("kind", "endpoint", "outcome", "code", "ended_by")},
        id=lit(5).cast("bigint"),
        closed=None,
        acked=lit(True),
    )
    assert shape(made.schema) == shape(EXCHANGES)
    row = made.where("node = 'one'").selectExpr("unix_micros(last) as last", "*").collect()[0]
    assert (row["exchange"], row["user"], row["direction"], row[0]) == (A.hex(), 4, "in", 9)
    assert (row["kind"], row["id"], row["given"], row["dispatches"]) == ("kind", 5, None, None)
