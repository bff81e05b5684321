from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from framehub.pipeline.schemas import VIOLATIONS, shape
from framehub.pipeline.stages.audit_rpc import RULES, rpc_violations
from framehub.pipeline.stages.links import horizon
from tests.spark.audit_cases import LATER, LINK, OTHER, Cases, found, placed, rules_of, wanted

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
A = bytes([7] * 16)
WORKERS = [bytes([40 + number] * 8) for number in range(6)]


def row(kind: str, way: str, **more: Any) -> dict[str, Any]:
    return {"protocol": "rpc", "kind": kind, "direction": way, "exchange": A, "endpoint": "add"} | more


def result(way: str, size: int = 3, **more: Any) -> dict[str, Any]:
    return row("result", way, payload_bytes=size) | ({"link": WORKERS[0]} if way == "in" else {}) | more


def given(worker: int = 0, **more: Any) -> dict[str, Any]:
    return row("query", "out", link=WORKERS[worker]) | more


def thanked(worker: int = 0) -> dict[str, Any]:
    return row("response_received", "out", link=WORKERS[worker])


def failed(way: str = "out", error: str = "function_failed", **more: Any) -> dict[str, Any]:
    return row("exception", way, error=error, payload_bytes=2) | more


ASKED = row("query", "in")
RECEIVED = row("query_received", "out")
CANCEL = row("cancel", "in")
RETURNED = row("query_returned", "in", link=WORKERS[0])
UNKNOWN = row("unknown_function", "out", error="unknown_function")
BUSY = failed(error="busy")
AN_HOUR = LATER | {"at": 3600.001}

CASES: Cases = {
    "all is well": ([ASKED, given(), RECEIVED, result("in"), thanked(), result("out"), LATER], {}),
    # rpc-answer-unasked
    "never asked": ([given(), result("in"), result("out"), result("out")], {"rpc-answer-unasked": [3]}),
    "asked afterwards": ([BUSY, ASKED, failed()], {"rpc-answer-unasked": [1]}),
    # rpc-wrong-client
    "somebody else's answer": (
        [ASKED, given(), result("in"), result("out"), result("out", link=OTHER)],
        {"rpc-wrong-client": [1, 5]},
    ),
    "asked too late by somebody else": (
        [ASKED, given(), result("in"), result("out", link=OTHER), ASKED | {"link": OTHER}],
        {"rpc-wrong-client": [1, 4]},
    ),
    "two clients asked": (
        [ASKED, ASKED | {"link": OTHER}, given(), result("in"), result("out"), result("out", link=OTHER)], {},
    ),
    # rpc-result-changed
    "another result": (
        [ASKED, given(), result("in", 3), result("in", 4), result("out", 5)], {"rpc-result-changed": [4, 5]},
    ),
    "the first of two results": ([ASKED, given(), result("in", 3), result("in", 4), result("out", 3)], {}),
    "a result from memory": ([ASKED, result("out", 5), result("in", 3)], {}),
    # rpc-answer-before-receipt
    "answered, then received": (
        [ASKED, given(), result("in"), result("out"), RECEIVED, RECEIVED],
        {"rpc-answer-before-receipt": [4, 5]},
    ),
    "busy, then received": ([ASKED, BUSY, ASKED, RECEIVED, given(), failed()], {}),
    # rpc-too-many-workers
    "four workers": (
        [ASKED, given(0), given(1), given(1), given(2), given(3), failed()],
        {"rpc-too-many-workers": [2, 3, 5, 6]},
    ),
    "four workers, one gave it back": (
        [ASKED, given(0), RETURNED, given(1), given(2), given(3), failed()], {},
    ),
    "three workers, one twice": ([ASKED, given(0), given(1), given(0), given(2), failed()], {}),
    # rpc-receipt-early
    "thanked too early": (
        [ASKED, given(), given(1), result("in"), thanked(1), thanked(), result("out")],
        {"rpc-receipt-early": [5]},
    ),
    "thanked before": ([ASKED, given(), thanked(), result("in"), result("out")], {"rpc-receipt-early": [3]}),
    "thanked for giving it back": ([ASKED, given(), RETURNED, thanked(), failed()], {}),
    # rpc-unknown-though-given
    "unknown though given": (
        [ASKED, given(), given(), UNKNOWN, UNKNOWN], {"rpc-unknown-though-given": [2, 4]},
    ),
    "the worker does not know it": (
        [ASKED, given(), row("unknown_function", "in", link=WORKERS[0]), UNKNOWN], {},
    ),
    "unknown before": ([ASKED, UNKNOWN], {}),
    # rpc-two-answers
    "a failure and a result": (
        [ASKED, given(), BUSY, failed(), failed(), result("out")], {"rpc-two-answers": [4, 6]},
    ),
    "two results": ([ASKED, given(), result("out", 3), result("out", 4)], {"rpc-two-answers": [3, 4]}),
    "one answer told again": ([ASKED, given(), BUSY, result("out"), ASKED, result("out")], {}),
    # rpc-run-again
    "run again": (
        [ASKED, given(), failed(at=1.0), ASKED | {"at": 2.0}, failed(at=3.0), given(at=63.0), given(at=64.0)],
        {"rpc-run-again": [5, 6]},
    ),
    "run again a minute later": ([ASKED, given(), failed(at=1.0), given(at=61.001)], {}),
    "run after busy": ([ASKED, BUSY, ASKED, given(), failed()], {}),
    # rpc-given-after-cancel
    "given after cancel": (
        [ASKED, CANCEL, CANCEL, given(), given()], {"rpc-given-after-cancel": [3, 4]},
    ),
    "asked once more": ([ASKED, CANCEL, ASKED, given(), failed()], {}),
    "cancelled afterwards": ([ASKED, given(), CANCEL, CANCEL | {"direction": "out", "link": WORKERS[0]}], {}),
    # rpc-busy-received
    "received and busy": ([ASKED, BUSY, RECEIVED, BUSY], {"rpc-busy-received": [3, 4]}),
    "busy and asked again": ([ASKED, RECEIVED, BUSY, ASKED, failed()], {}),
    "busy after all": ([ASKED, RECEIVED, given(), BUSY], {}),
    # rpc-function-changed
    "another function": (
        [ASKED | {"endpoint": None}, given(), failed(endpoint="sub")], {"rpc-function-changed": [2, 3]},
    ),
    "no function": ([ASKED, given(), failed(endpoint=None)], {}),
    # rpc-overdue
    "never answered": ([ASKED, ASKED, RECEIVED, given(), AN_HOUR], {"rpc-overdue": [1]}),
    "an hour is not over": ([ASKED, RECEIVED, given(), AN_HOUR | {"at": 3600.0}], {}),
    "cancelled": ([ASKED, given(), CANCEL, LATER], {}),
    "busy": ([ASKED, BUSY, LATER], {}),
    "busy, asked again": ([ASKED, BUSY, ASKED, LATER], {"rpc-overdue": [1]}),
    # what was not taken does not count
    "refused": ([ASKED | {"refused": "why"}, LATER], {}),
}  # fmt: skip


def test_each_rule_finds_its_breach_and_nothing_else(journal_of: JournalOf) -> None:
    journal = journal_of(placed(CASES))
    table = rpc_violations(journal, horizon(journal))
    assert shape(table.schema) == shape(VIOLATIONS)
    assert found(table) == wanted(CASES)
    assert rules_of(CASES) == {rule.name for rule in RULES if rule.scope == "exchange"}


def test_a_violation_tells_where_it_was(journal_of: JournalOf) -> None:
    journal = journal_of(placed({"one": CASES["somebody else's answer"]}))
    (got,) = rpc_violations(journal, horizon(journal)).collect()
    assert (got["exchange"], got["endpoint"], got["link"]) == (A.hex(), "add", OTHER.hex())
    assert got["link"] != LINK.hex()
