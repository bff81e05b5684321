from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from framehub.pipeline import frames
from framehub.pipeline.schemas import FRAMES, check, shape

pytestmark = pytest.mark.spark


def test_every_frame_is_a_row_and_links_are_not(journal_of: Callable[..., DataFrame]) -> None:
    rows: list[dict[str, Any]] = [
        {"kind": "link_opened"},
        {"kind": "message", "head": 0x41, "id": 7, "exchange": bytes(15) + b"\xab", "endpoint": "chat"},
        {"kind": "refused", "refused": "no such sub-protocol at byte 0"},
        {"kind": "link_closed", "code": 1006},
    ]
    made = check("frames", frames(journal_of(rows)))
    assert shape(made.schema) == shape(FRAMES)
    message, refused = made.orderBy("seq").collect()
    assert (message["seq"], message["id"], message["endpoint"]) == (2, 7, "chat")
    assert message["link"] == "00000000000000a1"
    assert message["exchange"] == "0" * 30 + "ab"
    assert message["parent"] is None
    assert (refused["kind"], refused["refused"]) == ("refused", "no such sub-protocol at byte 0")


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
def test_time_is_cut_to_the_microsecond_and_the_day_is_utc_wherever_the_session_is(
    spark: SparkSession, journal_of: Callable[..., DataFrame], zone: str
) -> None:
    midnight = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 10**9
    journal = journal_of(
        [{"kind": "service", "time_ns": midnight - 1}, {"kind": "service", "time_ns": midnight}]
    )
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        made = frames(journal).orderBy("seq").selectExpr("unix_micros(time) as us", "date").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert [row["us"] for row in made] == [midnight // 1000 - 1, midnight // 1000]
    assert [row["date"] for row in made] == [date(2026, 2, 28), date(2026, 3, 1)]


def test_every_frame_has_its_side(journal_of: Callable[..., DataFrame], rpc: Callable[..., Any]) -> None:
    wid = b"w" * 16
    told: list[tuple[str | None, dict[str, Any]]] = [
        ("client", {"kind": "message", "direction": "out"}),
        ("client", {"kind": "refused"}),
        ("client", rpc("in", "QUERY", "1", "[]", "add")),
        ("worker", rpc("out", "QUERY", wid, "[]", "add", peer="worker")),
        ("worker", rpc("in", "QUERY_RECEIVED", wid, peer="worker")),
        ("client", rpc("out", "QUERY_RECEIVED", "1")),
        ("worker", rpc("in", "RESPONSE_RESULT", wid, "3", peer="worker")),
        ("client", rpc("out", "RESPONSE_RESULT", "1", "3")),
        ("client", rpc("in", "RESPONSE_RECEIVED", "1")),
        ("worker", rpc("out", "RESPONSE_RECEIVED", wid, peer="worker")),
        ("client", rpc("in", "CANCEL", "1")),
        ("worker", rpc("out", "CANCEL", wid, peer="worker")),
        ("client", rpc("in", "FUNCTIONS_QUERY", "1")),
        ("client", rpc("out", "FUNCTIONS_LIST", "1", "[]")),
        ("worker", rpc("in", "HEART_BEAT", peer="worker")),
        ("worker", rpc("out", "HEART_BEAT", peer="worker")),
        ("worker", rpc("in", "WORKER_DESCRIBE", "{}", peer="worker")),
        ("worker", rpc("out", "QUERY_CONFIRMED", wid, peer="worker")),
        (None, {"kind": "refused", "protocol": "rpc"}),
        ("client", {"kind": "first", "protocol": "hub", "id": 5, "service": 3, "function": 9}),
        ("service", {"kind": "first", "protocol": "hub", "direction": "out", "id": 9, "ref": 5}),
        ("service", {"kind": "command", "protocol": "hub", "id": 0, "ref": 0}),
    ]
    rows = frames(journal_of([row for _, row in told])).orderBy("seq").collect()
    assert [(row["kind"], row["direction"], row["side"]) for row in rows] == [
        (row["kind"], row.get("direction", "in"), side) for side, row in told
    ]
    assert (rows[19]["service"], rows[19]["function"]) == (3, 9)
