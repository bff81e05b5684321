from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame

from framehub.pipeline.schemas import VIOLATIONS, shape
from framehub.pipeline.stages.audit_hub import RULES, hub_violations
from framehub.pipeline.stages.links import horizon, link_events
from tests.spark.audit_cases import (
    CLOSED,
    LATER,
    LINK,
    NOON_NS,
    OTHER,
    SECOND_NS,
    Cases,
    found,
    placed,
    rules_of,
    wanted,
)

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
A = LINK + bytes([0] * 7 + [5])
SERVICE = bytes([3] * 8)


def row(kind: str, way: str, side: str, **more: Any) -> dict[str, Any]:
    place = {"link": SERVICE, "ref": 5, "id": 1 << 20} if side == "service" else {"link": LINK, "id": 5}
    said = {"protocol": "hub", "kind": kind, "direction": way, "exchange": A, "user": 3, "endpoint": "mixer"}
    return said | place | more


def client(kind: str, **more: Any) -> dict[str, Any]:
    return row(kind, "in", "client", **more)


def to_client(kind: str, **more: Any) -> dict[str, Any]:
    return row(kind, "out", "client", **more)


def service(kind: str, **more: Any) -> dict[str, Any]:
    return row(kind, "in", "service", **more)


def to_service(kind: str, **more: Any) -> dict[str, Any]:
    return row(kind, "out", "service", **more)


def killed(code: int, **more: Any) -> list[dict[str, Any]]:
    return [made("stream_error", code=code, **more) for made in (to_client, to_service)]


def gone(link: bytes, at: float = 1.0) -> dict[str, Any]:
    return CLOSED | {"protocol": "hub", "link": link, "at": at}


FIRST = client("first", code=30)
BEGUN = [FIRST, to_service("first")]
DONE = [service("last"), to_client("last")]
PING = client("command", code=1, payload_bytes=4)
PONG = to_client("command", code=2, payload_bytes=4)
CLOSE = client("command", code=15)
PASSED = [to_service("command", code=15), to_client("command", code=15)]
BACK = {"kind": "link_opened", "protocol": "hub", "link": SERVICE}

CASES: Cases = {
    "all is well": (
        [*BEGUN, client("message"), to_service("message"), service("message"), to_client("message"), *DONE,
         gone(LINK), gone(SERVICE), LATER],
        {},
    ),
    # hub-unanswered
    "never answered": (
        [*BEGUN, client("message"), to_service("message"), LATER], {"hub-unanswered": [3]},
    ),
    "not answered after the timeout": ([*BEGUN, LATER | {"at": 40.002}], {"hub-unanswered": [1]}),
    "not answered yet": ([*BEGUN, LATER | {"at": 40.0019}], {}),
    "answered so far": ([*BEGUN, service("message"), to_client("message"), LATER], {}),
    "never answered, and gone": (
        [*BEGUN, to_service("stream_error", code=2, at=0.5), gone(LINK), LATER], {},
    ),
    # hub-client-gone-untold
    "the service does not learn it": (
        [*BEGUN, service("message"), to_client("message"), gone(LINK), LATER],
        {"hub-client-gone-untold": [1, 5]},
    ),
    "the service learns it": (
        [*BEGUN, gone(LINK), to_service("stream_error", code=2, at=1.5), LATER], {},
    ),
    "nobody was to learn it": ([FIRST, to_client("stream_error", code=7), gone(LINK), LATER], {}),
    "the service has gone, too": (
        [*BEGUN, gone(LINK), gone(SERVICE, 11.0), LATER], {},
    ),
    "the client went just now": ([*BEGUN, gone(LINK), LATER | {"at": 10.9}], {}),
    "the client went after the end": ([*BEGUN, *DONE, gone(LINK), LATER], {}),
    # hub-service-gone-untold
    "the client does not learn it": (
        [*BEGUN, service("message"), to_client("message"), gone(SERVICE), LATER],
        {"hub-service-gone-untold": [1, 5]},
    ),
    "the client learns it": (
        [*BEGUN, gone(SERVICE), to_client("stream_error", code=3, at=1.5), LATER], {},
    ),
    "the service came back before": (
        [gone(SERVICE, 0.1), BACK, *[part | {"at": 1.0} for part in (*BEGUN, *DONE)], LATER], {},
    ),
    # hub-killed-untold
    "only the client hears of it": (
        [*BEGUN, killed(9)[0], LATER], {"hub-killed-untold": [3]},
    ),
    "only the service hears of it": (
        [*BEGUN, killed(9)[1], LATER], {"hub-killed-untold": [3]},
    ),
    "two codes": ([*BEGUN, killed(9)[0], killed(12)[1], LATER], {"hub-killed-untold": [3, 4]}),
    "told twice": ([*BEGUN, *killed(11), killed(11)[0]], {"hub-killed-untold": [3, 4, 5]}),
    "both hear of it": ([*BEGUN, *killed(11), LATER], {}),
    "nobody else was there": ([FIRST, killed(11)[0], LATER], {}),
    "killed just now": ([*BEGUN, killed(9)[0], LATER | {"at": 10.0}], {}),
    "killed, and the service has gone": (
        [*BEGUN, killed(9)[0], gone(SERVICE, 10.0), LATER], {},
    ),
    # hub-timeout-early
    "timeout too early": (
        [*BEGUN, service("message", at=5.0), to_client("message", at=5.0), *killed(1, at=33.9)],
        {"hub-timeout-early": [4, 5]},
    ),
    "nothing said, timeout too early": ([*BEGUN, *killed(1, at=28.0)], {"hub-timeout-early": [1, 3]}),
    "timeout in time": (
        [*BEGUN, service("message", at=5.0), to_client("message", at=5.0), *killed(1, at=34.0), LATER], {},
    ),
    "a frame was refused meanwhile": (
        [*BEGUN, to_client("stream_error", code=8, at=29.0), *killed(1, at=30.0), LATER], {},
    ),
    # hub-ping-unanswered
    "no pong": ([PING, LATER], {"hub-ping-unanswered": [1]}),
    "no pong yet": ([PING, LATER | {"at": 10.0}], {}),
    "no pong, but gone": ([PING, gone(LINK), LATER], {}),
    "pong": ([PING, PONG, LATER], {}),
    "their pong": ([PING | {"direction": "out"}, LATER], {}),
    # hub-pong-differs
    "another pong": ([PING, PONG | {"payload_bytes": None}, LATER], {"hub-pong-differs": [1, 2]}),
    "two pongs": ([PING, PONG, PONG, PONG], {"hub-pong-differs": [1, 3]}),
    "empty ping, empty pong": ([part | {"payload_bytes": None} for part in (PING, PONG)], {}),
    # hub-close-unpassed
    "close is not echoed": ([*BEGUN, CLOSE, PASSED[0], LATER], {"hub-close-unpassed": [3]}),
    "close is not passed on": ([*BEGUN, CLOSE, PASSED[1], LATER], {"hub-close-unpassed": [3]}),
    "close": ([*BEGUN, CLOSE, *PASSED, LATER], {}),
    "close, just now": ([*BEGUN, CLOSE, LATER | {"at": 10.0}], {}),
    "close, nobody to pass it to": ([FIRST, CLOSE, PASSED[1], LATER], {}),
    "close, and the service has gone": (
        [*BEGUN, CLOSE, PASSED[1], gone(SERVICE, 5.0), LATER], {},
    ),
    "close after the end": ([*BEGUN, *DONE, CLOSE, LATER], {}),
    # hub-foreign-client
    "somebody else's message": (
        [*BEGUN, client("message", link=OTHER), client("message", link=OTHER), *DONE],
        {"hub-foreign-client": [1, 3]},
    ),
    # hub-foreign-service
    "another service's message": (
        [*BEGUN, service("message", link=OTHER), to_client("message"), *DONE],
        {"hub-foreign-service": [2, 3]},
    ),
    # hub-dead-stream
    "messages after the end": (
        [*BEGUN, *DONE, to_client("message"), to_service("message"), PASSED[0]], {"hub-dead-stream": [4, 6]},
    ),
    "a message in after the end": ([*BEGUN, *DONE, client("message"), LATER], {}),
    # hub-reopened
    "opened twice": ([*BEGUN, FIRST, FIRST, *DONE], {"hub-reopened": [1, 3]}),
    # hub-lost
    "an answer is lost": (
        [*BEGUN, service("message"), service("message"), to_client("message"), *DONE], {"hub-lost": [1, 7]},
    ),
    "an answer too many": ([*BEGUN, to_client("message"), *DONE], {"hub-lost": [1, 5]}),
    "the hub answers itself": ([FIRST, to_client("last")], {}),
    "lost, but failed": (
        [*BEGUN, service("message"), service("service_error"), to_client("service_error")], {},
    ),
    # hub-user-changed
    "another user": (
        [FIRST, to_service("first", user=4), service("message", user=5), to_client("message"), *DONE],
        {"hub-user-changed": [1, 2]},
    ),
    # hub-after-last
    "more after the last": (
        [*BEGUN, to_service("last"), to_service("message"), to_service("message"), *DONE],
        {"hub-after-last": [3, 5]},
    ),
    "the last is the last": ([*BEGUN, to_service("message"), to_service("last"), *DONE], {}),
    # what was not taken does not count
    "refused": ([FIRST | {"refused": "busy"}, FIRST | {"refused": "busy"}, LATER], {}),
}  # fmt: skip


def judged(journal: DataFrame) -> DataFrame:
    return hub_violations(journal, link_events(journal), horizon(journal))


def test_each_rule_finds_its_breach_and_nothing_else(journal_of: JournalOf) -> None:
    table = judged(journal_of(placed(CASES)))
    assert shape(table.schema) == shape(VIOLATIONS)
    assert found(table) == wanted(CASES)
    assert rules_of(CASES) == {rule.name for rule in RULES if rule.scope == "exchange"}


def test_a_violation_shown_by_a_lost_link_has_its_time_and_name(journal_of: JournalOf) -> None:
    (got,) = judged(journal_of(placed({"one": CASES["the client does not learn it"]}))).collect()
    assert (got["exchange"], got["endpoint"], got["link"]) == (A.hex(), "mixer", SERVICE.hex())
    a_second_later = datetime.fromtimestamp(NOON_NS // SECOND_NS + 1, UTC).replace(tzinfo=None)
    assert (got["time"], got["protocol"]) == (a_second_later, "hub")


def test_a_long_stream_is_judged_without_holding_its_messages(journal_of: JournalOf) -> None:
    said = [part for _ in range(200) for part in (service("message"), to_client("message"))]
    journal = journal_of(placed({"long": ([*BEGUN, *said, *DONE, to_client("message"), LATER], {})}))
    from framehub.pipeline.stages import audit_hub

    (facts,) = audit_hub._gathered(audit_hub._marked(audit_hub._rows(journal))).collect()
    assert len(facts["tape"]) == 5
    assert found(judged(journal)) == {"long": {"hub-dead-stream": [404, 405]}}
