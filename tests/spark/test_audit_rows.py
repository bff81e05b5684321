from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from framehub.pipeline.schemas import VIOLATIONS, shape
from framehub.pipeline.stages.audit_rows import row_violations
from framehub.pipeline.stages.links import link_events
from framehub.pipeline.stages.rules import RULES
from tests.spark.audit_cases import CLOSED, LINK, OTHER, Cases, found, placed, rules_of, wanted

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
A = LINK + bytes([0] * 7 + [1])


def mfp(kind: str, way: str, head: int, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "direction": way, "head": head, "id": 1, "exchange": A} | more


def hub(kind: str, **more: Any) -> dict[str, Any]:
    return {"protocol": "hub", "kind": kind, "id": 5} | more


GIVEN = {"protocol": "rpc", "kind": "query", "direction": "out", "exchange": A}
REGISTER = {"protocol": "rpc", "kind": "register"}
MESSAGE = mfp("message", "in", 0x41)
OPENED = {"kind": "link_opened"}

CASES: Cases = {
    "a request that streams": ([mfp("request", "in", 0x65)], {"mfp-request-streams": [1]}),
    "a response that announces": (
        [mfp("request", "in", 0x61), mfp("response", "out", 0xA3, ref=1)], {"mfp-request-streams": [2]},
    ),
    "a request with files": ([mfp("request", "in", 0x67)], {}),
    "a message that streams": ([mfp("message", "in", 0x45)], {}),
    "answered unasked": ([mfp("response", "out", 0xA1, ref=9, exchange=None)], {"mfp-answer-unasked": [1]}),
    "they answer unasked": ([mfp("response", "in", 0xA1, ref=9, exchange=None)], {}),
    "id zero": ([mfp("message", "in", 0x41, id=0)], {"mfp-zero-id": [1]}),
    "ref zero": ([mfp("service", "out", 0x21, ref=0, code=1)], {"mfp-zero-id": [1]}),
    "refused with id zero": ([mfp("message", "in", 0x41, id=0, refused="why")], {}),
    "stream zero of the hub": ([hub("first", id=0, ref=0)], {}),
    "given to a stranger": ([GIVEN, REGISTER], {"rpc-unregistered-worker": [1]}),
    "given to a worker": ([REGISTER, GIVEN | {"link": LINK}], {}),
    "given to another link": ([REGISTER, GIVEN | {"link": OTHER}], {"rpc-unregistered-worker": [2]}),
    "asked by a stranger": ([GIVEN | {"direction": "in"}], {}),
    "a client's stream error": ([hub("stream_error", code=1)], {"hub-wrong-state": [1]}),
    "a client's service error": ([hub("service_error")], {"hub-wrong-state": [1]}),
    "a service's stream error": ([hub("stream_error", ref=5)], {"hub-wrong-state": [1]}),
    "a service opens a stream": ([hub("first", ref=5)], {"hub-wrong-state": [1]}),
    "a service's service error": ([hub("service_error", ref=5)], {}),
    "our stream error": ([hub("stream_error", direction="out", code=1)], {}),
    "a refused stream error": ([hub("stream_error", code=1, refused="bad_frame")], {}),
    "used after close": ([MESSAGE, CLOSED, CLOSED, MESSAGE], {"link-used-after-close": [3, 4]}),
    "hub used after close": (
        [CLOSED | {"protocol": "hub"}, hub("message")], {"link-used-after-close": [1, 2]},
    ),
    "opened again": ([CLOSED, OPENED, MESSAGE, CLOSED], {}),
    "opened again and closed": (
        [OPENED, CLOSED, OPENED, MESSAGE, CLOSED, MESSAGE], {"link-used-after-close": [5, 6]},
    ),
    "another link closed": ([CLOSED | {"link": OTHER}, MESSAGE], {}),
    "functions have no link": ([CLOSED, REGISTER, GIVEN], {}),
    "refused after close": ([CLOSED, MESSAGE | {"refused": "why"}, {"kind": "refused"}], {}),
}  # fmt: skip


def test_each_rule_finds_its_breach_and_nothing_else(journal_of: JournalOf) -> None:
    journal = journal_of(placed(CASES))
    table = row_violations(journal, link_events(journal))
    assert shape(table.schema) == shape(VIOLATIONS)
    assert found(table) == wanted(CASES)
    assert rules_of(CASES) == {rule.name for rule in RULES if rule.scope == "row"}


def test_a_row_can_break_several_rules(journal_of: JournalOf) -> None:
    story = [CLOSED, mfp("response", "out", 0xA5, id=0, exchange=None, endpoint="chat")]
    journal = journal_of(placed({"one": (story, {})}))
    got = row_violations(journal, link_events(journal)).orderBy("rule").collect()
    assert [row["rule"] for row in got] == [
        "link-used-after-close", "mfp-answer-unasked", "mfp-request-streams", "mfp-zero-id",
    ]  # fmt: skip
    assert {(row["protocol"], row["link"], row["exchange"], row["endpoint"]) for row in got} == {
        ("mfp", LINK.hex(), None, "chat")
    }
