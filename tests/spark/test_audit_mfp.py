from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame

from framehub.pipeline.schemas import VIOLATIONS, shape
from framehub.pipeline.stages.audit_mfp import RULES, mfp_violations
from framehub.pipeline.stages.links import horizon, link_events
from tests.spark.audit_cases import CLOSED, LATER, LINK, Cases, found, placed, rules_of, wanted

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
A = LINK + bytes([0] * 7 + [1])
ACK, TIMEOUT, ABORT, UNKNOWN, PING = 1, 2, 3, 4, 7


def row(kind: str, way: str, head: int, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "direction": way, "head": head, "id": 1, "exchange": A} | more


def request(way: str = "in", *, head: int = 0x61, **more: Any) -> dict[str, Any]:
    return row("request", way, head, endpoint="chat", files=0) | more


def message(way: str = "in", *, head: int = 0x41, **more: Any) -> dict[str, Any]:
    return row("message", way, head, endpoint="chat", files=0) | more


def response(way: str = "out", *, head: int = 0xA1, **more: Any) -> dict[str, Any]:
    return row("response", way, head, endpoint="chat", id=50, ref=1) | more


def says(code: int, way: str = "out", **more: Any) -> dict[str, Any]:
    return row("service", way, 0x20 | code, code=code, id=60, ref=1) | more


def ping(way: str = "in") -> dict[str, Any]:
    return says(PING, way, id=1, head=0x2F)


def chunk(way: str = "out", *, more: bool = False, **fields: Any) -> dict[str, Any]:
    return row("binary", way, 0x84 | more, ref=1, key=1) | {"id": 7} | fields


def file(key: int, *, more: bool = False, **fields: Any) -> dict[str, Any]:
    return chunk(head=0x82 | more, key=key, **fields)


STREAM = message("out", head=0x45)
ANNOUNCED = message("out", head=0x43, files=2)
SOON = LATER | {"at": 9.0}

CASES: Cases = {
    # mfp-answered-twice
    "two answers": ([request(), response(), response(), response()], {"mfp-answered-twice": [2, 3]}),
    "one answer": ([request(), response(), response("in")], {}),
    "the peer answers twice": ([request("out"), response("in"), response("in"), says(UNKNOWN, ref=50)], {}),
    # mfp-answered-after-end
    "answered after a timeout": (
        [request(), says(TIMEOUT, "in"), says(ABORT, "in"), response()], {"mfp-answered-after-end": [2, 4]},
    ),
    "answered after our abort": ([request(), says(ABORT), response()], {"mfp-answered-after-end": [2, 3]}),
    "given up after the answer": ([request(), response(), says(TIMEOUT, "in")], {}),
    "not a request": ([message(), says(TIMEOUT, "in"), response()], {}),
    # mfp-late-answer-untold
    "late and untold": (
        [request("out"), says(TIMEOUT), response("in"), LATER], {"mfp-late-answer-untold": [2, 3]},
    ),
    "late, another is told": (
        [request("out"), response("in", id=49), response("in"), says(UNKNOWN, ref=49), LATER],
        {"mfp-late-answer-untold": [2, 3]},
    ),
    "late and told": ([request("out"), says(ABORT, "in"), response("in"), says(UNKNOWN, ref=50), LATER], {}),
    "late just now": ([request("out"), says(TIMEOUT), response("in"), SOON], {}),
    "late, and gone": ([request("out"), says(TIMEOUT), response("in"), CLOSED | {"at": 10.0}, LATER], {}),
    "in time": ([request("out"), response("in"), says(TIMEOUT), LATER], {}),
    # mfp-not-acked
    "no ack": ([message(head=0x49), LATER], {"mfp-not-acked": [1]}),
    "no ack after ten seconds": ([message(head=0x49), LATER | {"at": 10.001}], {"mfp-not-acked": [1]}),
    "no ack yet": ([message(head=0x49), LATER | {"at": 10.0009}], {}),
    "the link goes in time": ([message(head=0x49), CLOSED | {"at": 10.001}, LATER], {}),
    "the link goes later": ([message(head=0x49), CLOSED | {"at": 10.002}, LATER], {"mfp-not-acked": [1]}),
    "another node's link goes": ([message(head=0x49), LATER], {"mfp-not-acked": [1]}),
    "acked late": ([message(head=0x49), says(ACK, at=30.0), LATER], {}),
    "the second chunk has no ack": (
        [message(head=0x45), chunk("in", more=True, head=0x8D), says(ACK, ref=7),
         chunk("in", id=8, head=0x8D), chunk("in", id=9, head=0x8C), LATER],
        {"mfp-not-acked": [4]},
    ),
    "response without its ack": (
        [request("out"), response("in", head=0xA9), LATER], {"mfp-not-acked": [2]},
    ),
    "we ask in vain": ([message("out", head=0x49), LATER], {}),
    # mfp-acked-twice
    "acked twice": (
        [message(head=0x49), says(ACK), says(ACK), says(ACK)], {"mfp-acked-twice": [2, 3]},
    ),
    "two frames acked": (
        [message(head=0x4D), says(ACK), chunk("in", head=0x8C), says(ACK, ref=7), LATER], {},
    ),
    "the peer acks twice": ([message("out", head=0x49), says(ACK, "in"), says(ACK, "in")], {}),
    # mfp-acked-unasked
    "acked unasked": ([message(), says(ACK)], {"mfp-acked-unasked": [2]}),
    "acks another frame": (
        [message(head=0x49), says(ACK), says(ACK, ref=3)], {"mfp-acked-unasked": [3]},
    ),
    "our own frame asked": ([message("out", head=0x49), says(ACK)], {"mfp-acked-unasked": [2]}),
    # mfp-ping-unanswered
    "no pong": ([ping(), LATER], {"mfp-ping-unanswered": [1]}),
    "no pong yet": ([ping(), SOON], {}),
    "pong": ([ping(), says(ACK), LATER], {}),
    "no pong of theirs": ([ping("out"), LATER], {}),
    # mfp-chunk-after-end
    "chunks after the end": (
        [STREAM, chunk(more=True), chunk(), chunk(more=True), chunk(id=9)], {"mfp-chunk-after-end": [3, 5]},
    ),
    "a file after the end": (
        [ANNOUNCED, file(1), file(2)], {"mfp-chunk-after-end": [2, 3]},
    ),
    "chunks in order": ([STREAM, chunk(more=True), chunk(more=True), chunk()], {}),
    "their chunks after the end": ([message(head=0x45), chunk("in"), chunk("in"), says(UNKNOWN, ref=7)], {}),
    # mfp-chunk-after-abort
    "chunks after their abort": (
        [STREAM, chunk(more=True), says(ABORT, "in"), says(ABORT, "in"), chunk(more=True), chunk(more=True)],
        {"mfp-chunk-after-abort": [3, 6]},
    ),
    "chunks after our abort": ([STREAM, chunk(more=True), says(ABORT), chunk(more=True)], {}),
    "abort after the chunks": ([STREAM, chunk(more=True), chunk(more=True), says(ABORT, "in")], {}),
    # mfp-set-short
    "a file is missing": ([ANNOUNCED, file(1)], {"mfp-set-short": [1, 2]}),
    "a file comes as something else": (
        [ANNOUNCED, file(1, more=True), chunk(key=2)], {"mfp-set-short": [1, 3]},
    ),
    "all files": ([ANNOUNCED, file(1, more=True), file(2)], {}),
    "a file is to come": ([ANNOUNCED, file(1, more=True)], {}),
    "a file is missing after an abort": ([ANNOUNCED, file(1), says(ABORT)], {}),
    "files in the message": ([message("out", head=0x47, files=2), chunk()], {}),
    # mfp-key-twice
    "a file twice": (
        [ANNOUNCED | {"files": 3}, file(1, more=True), file(2, more=True), file(2, more=True),
         file(1, more=True), file(3)],
        {"mfp-key-twice": [3, 4]},
    ),
    "chunks of one stream": ([STREAM, chunk(more=True), chunk(more=True), chunk()], {}),
    # mfp-user-changed
    "another user": (
        [request(user=3), response(user=3), says(ACK, "in", user=4), says(UNKNOWN, "in", user=5)],
        {"mfp-user-changed": [1, 3]},
    ),
    "another user's chunk": (
        [STREAM | {"user": 3}, *[chunk(more=True, user=user) for user in (3, 5, 4)], chunk(user=3)],
        {"mfp-user-changed": [1, 3]},
    ),
    "one user": ([request(user=3), response(user=3), says(ACK, "in", user=3)], {}),
    # mfp-endpoint-changed
    "another endpoint": (
        [request(), response(endpoint="talk")], {"mfp-endpoint-changed": [1, 2]},
    ),
    "no endpoint": ([request(), response(endpoint=None)], {}),
    "they answer otherwise": ([request("out"), response("in", endpoint="talk")], {}),
    # what was not taken does not count, nor does an exchange without its opening
    "refused": ([message(head=0x49, refused="why"), says(ACK, refused="why"), LATER], {}),
    "beginning lost": ([response(), response(), chunk(), chunk()], {}),
}  # fmt: skip


def judged(journal: DataFrame) -> DataFrame:
    return mfp_violations(journal, link_events(journal), horizon(journal))


def test_each_rule_finds_its_breach_and_nothing_else(journal_of: JournalOf) -> None:
    # "another node's link goes": the links of all cases have one name, and many of them are closed.
    told = found(judged(journal_of(placed(CASES))))
    assert told == wanted(CASES)
    assert rules_of(CASES) == {rule.name for rule in RULES if rule.scope == "exchange"}


def test_a_violation_tells_where_and_when(journal_of: JournalOf) -> None:
    journal = journal_of(placed({"one": ([request(), response(endpoint="talk", at=2.5)], {})}))
    table = judged(journal)
    assert shape(table.schema) == shape(VIOLATIONS)
    (got,) = table.collect()
    assert got.asDict() == {
        "rule": "mfp-endpoint-changed",
        "protocol": "mfp",
        "time": datetime.fromtimestamp(1_780_000_002.5, UTC).replace(tzinfo=None),
        "date": datetime.fromtimestamp(1_780_000_002.5, UTC).date(),
        "node": "one",
        "link": LINK.hex(),
        "exchange": A.hex(),
        "endpoint": "chat",
        "evidence": [1, 2],
        "detail": None,
        "sentence": "An answer names the endpoint that was asked.",
    }


def test_a_long_stream_is_judged_without_holding_its_chunks(journal_of: JournalOf) -> None:
    acked = [
        part
        for number in range(2, 400)
        for part in (chunk("in", more=True, id=number, head=0x8D), says(ACK, ref=number))
    ]
    journal = journal_of(placed({"long": ([message(head=0x45), *acked, chunk("in", id=400), LATER], {})}))
    from framehub.pipeline.stages import audit_mfp

    (facts,) = audit_mfp._gathered(audit_mfp._marked(audit_mfp.mfp_rows(journal))).collect()
    assert len(facts["tape"]) == 1
    assert judged(journal).collect() == []
