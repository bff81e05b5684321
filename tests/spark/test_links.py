from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from framehub.pipeline.stages.links import closings, horizon, link_events, standing
from tests.spark.audit_cases import LINK, OTHER

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
ROWS: list[dict[str, Any]] = [
    {"kind": "link_opened"},
    {"kind": "message"},
    {"kind": "link_closed", "code": 1006, "time_ns": 70},
    {"kind": "link_opened", "ref": 0},
    {"kind": "link_closed", "time_ns": 60},
    {"kind": "register", "protocol": "rpc", "link": OTHER},
    {"kind": "register", "protocol": "rpc", "link": OTHER},
    {"kind": "register", "protocol": "rpc", "refused": "why"},
    {"kind": "message", "node": "two", "time_ns": 50},
    {"kind": "message", "node": "two", "time_ns": 40},
]


def test_links_come_go_and_register(journal_of: JournalOf) -> None:
    journal = journal_of([{"link": LINK} | row for row in ROWS])
    events = link_events(journal)
    assert events.columns == ["node", "link", "protocol", "kind", "seq", "time_ns", "code", "ref"]
    assert sorted(row["seq"] for row in events.collect()) == [1, 3, 4, 5, 6, 7]
    (closed,) = closings(events).collect()
    assert (closed["node"], bytes(closed["link"]), closed["gone_ns"]) == ("one", LINK, 60)
    assert [tuple(one) for one in closed["closings"]] == [(3, 70), (5, 60)]
    stands = {bytes(row["link"]): row for row in standing(events).collect()}
    assert (stands[LINK]["registered"], stands[LINK]["first_closed"]) == (None, 3)
    assert [tuple(one) for one in stands[LINK]["events"]] == [(1, False), (3, True), (4, False), (5, True)]
    assert (stands[OTHER]["registered"], stands[OTHER]["events"]) == (6, [])


def test_the_horizon_is_the_latest_time_of_each_node(journal_of: JournalOf) -> None:
    rows = [{"link": LINK} | row for row in ROWS]
    assert {row["node"]: row["horizon_ns"] for row in horizon(journal_of(rows[-2:])).collect()} == {"two": 50}
