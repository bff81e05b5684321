from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from framehub.pipeline.schemas import VIOLATIONS, shape
from framehub.pipeline.stages.links import link_events
from framehub.pipeline.stages.lives import lives, reused_ids
from tests.spark.audit_cases import CLOSED, LINK, OTHER, placed

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
ACK, TIMEOUT, UNKNOWN, PING = 1, 2, 4, 7


def named(number: int) -> bytes:
    return LINK + number.to_bytes(8, "big")


def row(kind: str, head: int, way: str = "in", *, of: int = 1, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "direction": way, "head": head, "id": 1, "exchange": named(of)} | more


def request(of: int = 1, **more: Any) -> dict[str, Any]:
    return row("request", 0x61, of=of, endpoint=f"endpoint {of}", **more)


def message(head: int = 0x41, of: int = 1, **more: Any) -> dict[str, Any]:
    return row("message", head, of=of, **more)


def says(code: int, way: str = "out", **more: Any) -> dict[str, Any]:
    return row("service", 0x20 | code, way, code=code, **({"id": 60, "ref": 1} | more))


RESPONSE = row("response", 0xA1, "out", id=50, ref=1)
LAST, MORE = row("binary", 0x84, id=2, ref=1), row("binary", 0x85, id=2, ref=1)
RELEASED: dict[str, tuple[list[dict[str, Any]], int | None]] = {
    "not yet": ([request()], None),
    "answered": ([request(), RESPONSE, RESPONSE], 2),
    "given up": ([request(), says(ACK), says(TIMEOUT, "in")], 3),
    "unknown": ([request(), says(UNKNOWN)], 2),
    "the link went": ([CLOSED, {"kind": "link_opened"}, request(), CLOSED, CLOSED], 4),
    "another link went": ([request(), CLOSED | {"link": OTHER}], None),
    "a message": ([message()], 1),
    "a message that waits for its ack": ([message(0x49), says(ACK, "in"), says(ACK, ref=2)], None),
    "a message with its ack": ([message(0x49), says(ACK, ref=2), says(ACK), says(ACK)], 3),
    "a stream": ([message(0x45), MORE, LAST, LAST], 3),
    "a stream that goes on": ([message(0x45), MORE], None),
    "a stream with an ack": ([message(0x4D), LAST, says(ACK)], 3),
    "a message with files": ([message(0x47)], 1),
}
REUSED: dict[str, tuple[list[dict[str, Any]], list[list[int]]]] = {
    "used again": ([request(), request(2)], [[1, 2]]),
    "used again after the answer": ([request(), RESPONSE, request(2)], []),
    "by the other side": ([request(), request(2, direction="out")], []),
    "another id": ([request(), request(2, id=2)], []),
    "on another link": ([request(), request(2, link=OTHER)], []),
    "by a ping": ([request(), says(PING, "in", id=1, of=2)], []),
    "the latest counts": ([request(), request(2), request(3)], [[1, 2], [2, 3]]),
    "an older one is alive": ([request(), message(of=2), message(of=3)], [[1, 2], [1, 3]]),
    "a much older one is alive": (
        [request(), *[message(of=number) for number in range(2, 22)]],
        [[1, number] for number in range(2, 22)],
    ),
}


def test_an_id_is_taken_until_its_exchange_is_over(journal_of: JournalOf) -> None:
    journal = journal_of(placed({name: (story, {}) for name, (story, _) in RELEASED.items()}))
    table = lives(journal, link_events(journal))
    assert table.columns == [
        "node", "link", "direction", "id", "exchange", "endpoint", "user", "seq", "time_ns", "released_seq",
    ]  # fmt: skip
    told = {row["node"]: row["released_seq"] for row in table.collect()}
    assert told == {name: want for name, (_, want) in RELEASED.items()}


def test_an_id_that_is_used_while_alive_is_found(journal_of: JournalOf) -> None:
    journal = journal_of(placed({name: (story, {}) for name, (story, _) in REUSED.items()}))
    table = reused_ids(lives(journal, link_events(journal)))
    assert shape(table.schema) == shape(VIOLATIONS)
    told: dict[str, list[list[int]]] = {name: [] for name in REUSED}
    for row in table.orderBy("evidence").collect():
        told[row["node"]].append(row["evidence"])
        if row["node"] == "used again":
            assert (row["exchange"], row["endpoint"], row["link"]) == (
                named(2).hex(), "endpoint 2", LINK.hex(),
            )  # fmt: skip
    assert {name: sorted(found) for name, found in told.items()} == {
        name: want for name, (_, want) in REUSED.items()
    }
