"""Bodies of the hub as messages."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from framehub.pipeline import endpoint, messages
from framehub.pipeline.schemas import MESSAGES, check, shape
from framehub.pipeline.stages.bodies import bodies

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]


def hub(kind: str, body: bytes, direction: str = "in", **more: Any) -> dict[str, Any]:
    raw = b"header" + body
    return {
        "protocol": "hub", "kind": kind, "direction": direction, "id": 5, "service": 3, "function": 9,
        "endpoint": "chat", "bytes": len(raw), "raw": raw, "payload_at": 6 if body else None,
        "payload_bytes": len(body) or None,
    } | more  # fmt: skip


def rows_of(journal: DataFrame) -> list[Row]:
    return check("messages", messages(journal)).orderBy("seq").collect()


def test_bodies_at_the_client_are_messages(journal_of: JournalOf) -> None:
    exchange, parent = bytes([1] * 16), bytes([2] * 16)
    journal = journal_of(
        [
            hub("first", b'{"text": "hi"}', exchange=exchange, parent=parent, user=2),
            hub("first", b'{"text": "hi"}', "out", ref=5),
            hub("message", b"[1, 2.5]", "out"),
            hub("message", b"12 and more"),
            hub("message", b"\xff\xfe"),
            hub("last", b"null", "out"),
            hub("last", b"", "out"),
            hub("service_error", 'no "é"'.encode(), "out"),
            hub("service_error", b"\xff", "out"),
            hub("service_error", b'{"code": "busy"}', "out"),
            hub("stream_error", b"too late", "out", code=1),
            hub("command", b"ping", code=1, id=0),
            hub("first", b"\2\0\0\0\0\0\0", id=0),
            hub("message", b"5") | {"recorded": "off", "raw": None},
            hub("message", b"6", refused="stream_not_found"),
        ]
    )
    assert shape(bodies(journal).schema) == shape(MESSAGES)
    rows = rows_of(journal)
    assert [(row["seq"], row["json"], row["error"], row["readable"]) for row in rows] == [
        (1, '{"text":"hi"}', None, True),
        (3, "[1,2.5]", None, True),
        (4, None, None, False),
        (5, None, None, False),
        (6, "null", None, True),
        (8, None, '"no \\"é\\""', True),
        (9, None, None, False),
        (10, None, '{"code":"busy"}', True),
        (14, None, None, None),
    ]
    first = rows[0]
    assert (first["exchange"], first["parent"], first["user"]) == (exchange.hex(), parent.hex(), 2)
    assert (first["service"], first["function"], first["endpoint"], first["protocol"]) == (
        3,
        9,
        "chat",
        "hub",
    )
    assert (first["coder"], first["files"], first["kind"], first["direction"]) == (None, [], "first", "in")


def test_what_clients_sent_to_a_service_is_typed_columns(journal_of: JournalOf) -> None:
    def said(n: int) -> bytes:
        return json.dumps({"n": n}).encode()

    journal = journal_of(
        [
            hub("first", said(1)),
            hub("message", said(2)),
            hub("message", said(3), "out"),
            hub("last", said(4)),
            hub("last", said(5), "out"),
            hub("last", said(6), endpoint="other"),
        ]
    )
    sent = endpoint(journal, "chat", "n int").orderBy("seq").collect()
    assert [(row["n"], row["kind"]) for row in sent] == [(1, "first"), (2, "message"), (4, "last")]
    lasts = endpoint(journal, "chat", "n int", kinds=("last",)).orderBy("seq").collect()
    assert [(row["n"], row["direction"]) for row in lasts] == [(4, "in"), (5, "out")]
