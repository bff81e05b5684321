from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from framehub.pipeline.schemas import VIOLATIONS, shape
from framehub.pipeline.stages.gaps import gaps
from tests.spark.audit_cases import LINK

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
BLOCK = 65_536
NUMBERS = {
    "whole": [1, 2, 3],
    "begins late": [7, 8],
    "one row": [5],
    "inside": [1, 2, 5, 6, 9],
    "between blocks": [BLOCK - 2, BLOCK - 1, BLOCK + 3, BLOCK + 4],
    "over blocks": [1, 3, 5 * BLOCK, 5 * BLOCK + 1],
    "up to the edge": [BLOCK - 1, BLOCK, BLOCK + 1],
}
MISSING = {
    "inside": [[2, 5], [6, 9]],
    "between blocks": [[BLOCK - 1, BLOCK + 3]],
    "over blocks": [[1, 3], [3, 5 * BLOCK]],
}


def test_every_gap_is_found_whichever_kind_of_row_is_beside_it(journal_of: JournalOf) -> None:
    kinds = ("refused", "link_opened", "message")
    rows = [
        {"node": node, "seq": seq, "kind": kinds[seq % 3], "link": LINK, "protocol": "hub"}
        for node, numbers in NUMBERS.items()
        for seq in numbers
    ]
    journal = journal_of(rows[::-1])
    table = gaps(journal)
    assert shape(table.schema) == shape(VIOLATIONS)
    told: dict[str, list[list[int]]] = {}
    times = {(row["node"], row["seq"]): row["time_ns"] // 1000 for row in journal.collect()}
    for row in table.orderBy("evidence").collect():
        told.setdefault(row["node"], []).append(row["evidence"])
        assert (row["rule"], row["protocol"], row["link"]) == ("journal-gap", "hub", LINK.hex())
        assert (row["exchange"], row["endpoint"]) == (None, None)
        assert row["time"].microsecond == times[row["node"], row["evidence"][1]] % 1_000_000
    assert told == MISSING
