from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from framehub.pipeline import exchanges
from framehub.pipeline.schemas import EXCHANGES, check, shape

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
A, B = bytes([10] * 16), bytes([11] * 16)
ACK, TIMEOUT, ABORT, UNKNOWN, PING = 1, 2, 3, 4, 7
GONE = {"kind": "link_closed", "code": 1006}


def request(id_: int = 1, *, exchange: bytes = A, head: int = 0x61, **more: Any) -> dict[str, Any]:
    return {
        "kind": "request",
        "id": id_,
        "head": head,
        "exchange": exchange,
        "endpoint": "chat",
        "bytes": 30,
    } | more


def message(id_: int = 1, *, exchange: bytes = A, head: int = 0x41, **more: Any) -> dict[str, Any]:
    return {"kind": "message", "id": id_, "head": head, "exchange": exchange, "endpoint": "chat"} | more


def binary(*, more: bool, exchange: bytes = A) -> dict[str, Any]:
    return {"kind": "binary", "head": 0x84 | more, "exchange": exchange, "ref": 1}


def response(error: str | None = None, *, exchange: bytes = A) -> dict[str, Any]:
    answer = {"kind": "response", "direction": "out", "id": 50, "ref": 1, "head": 0xA1, "bytes": 20}
    return answer | {"error": error, "exchange": exchange}


def service(code: int, direction: str = "out", ref: int = 1, *, exchange: bytes = A) -> dict[str, Any]:
    head = 0x20 | code
    return {
        "kind": "service",
        "code": code,
        "direction": direction,
        "head": head,
        "id": 60,
        "ref": ref,
        "exchange": exchange,
    }


def ping(**more: Any) -> dict[str, Any]:
    return service(PING, "out") | {"id": 1, "head": 0x2F} | more


# What happened -> outcome, code, ended_by, acked, whether it was answered.
Told = tuple[str, str | None, str | None, bool, bool]
STORIES: dict[str, tuple[list[dict[str, Any]], Told]] = {
    "answered": ([request(), response()], ("ok", None, "out", False, True)),
    "answered with an error": ([request(), response("busy")], ("error", "busy", "out", False, True)),
    "acknowledged first": ([request(head=0x69), service(ACK), response()], ("ok", None, "out", True, True)),
    "only the response was acknowledged": (
        [request(), response(), service(ACK, "in", 50)], ("ok", None, "out", False, True),
    ),
    "the asker gave up": ([request(), service(TIMEOUT, "in")], ("timeout", None, "in", False, False)),
    "late answer": (
        [request(), service(TIMEOUT, "in"), response(), service(UNKNOWN, "in", 50)],
        ("timeout", None, "in", False, False),
    ),
    "aborted": ([request(), service(ABORT, "in")], ("aborted", None, "in", False, False)),
    "refused as unknown": ([request(), service(UNKNOWN)], ("unknown", None, "out", False, False)),
    "unknown about a second response": (
        [request(), response(), response("busy"), service(UNKNOWN, "in", 50)],
        ("ok", None, "out", False, True),
    ),
    "not answered yet": ([request()], ("open", None, None, False, False)),
    "link lost": ([request(), GONE], ("disconnected", "1006", None, False, False)),
    "link lost after the answer": ([request(), response(), GONE], ("ok", None, "out", False, True)),
    "another link lost": ([request(), GONE | {"link": bytes(8)}], ("open", None, None, False, False)),
    "another node's link lost": ([request(), GONE | {"node": "two"}], ("open", None, None, False, False)),
    "sent": ([message()], ("ok", None, "in", False, False)),
    "sent and lost afterwards": ([message(), GONE], ("ok", None, "in", False, False)),
    "sent and refused": ([message(), service(ABORT)], ("aborted", None, "out", False, False)),
    "sent, acknowledged": ([message(head=0x49), service(ACK)], ("ok", None, "out", True, True)),
    "sent, ack still to come": ([message(head=0x49)], ("open", None, None, False, False)),
    "sent, ack never came": ([message(head=0x49), GONE], ("disconnected", "1006", None, False, False)),
    "ack from the wrong side": (
        [message(head=0x49), service(ACK, "in")], ("open", None, None, False, False),
    ),
    "acknowledged, then aborted": (
        [message(head=0x49), service(ACK), service(ABORT)], ("aborted", None, "out", True, True),
    ),
    "acknowledged, though it did not ask": ([message(), service(ACK)], ("ok", None, "in", True, False)),
    "aborted, then acknowledged": (
        [message(head=0x49), service(ABORT), service(ACK)], ("aborted", None, "out", True, False),
    ),
    "streamed": (
        [message(head=0x45), binary(more=True), binary(more=False)], ("ok", None, "in", False, False),
    ),
    "stream still open": ([message(head=0x45), binary(more=True)], ("open", None, None, False, False)),
    "stream cut off": (
        [message(head=0x45), binary(more=True), GONE], ("disconnected", "1006", None, False, False),
    ),
    "stream fell silent": (
        [message(head=0x45), binary(more=True), service(TIMEOUT)], ("timeout", None, "out", False, False),
    ),
    "stray chunk after the end": (
        [message(head=0x45), binary(more=False), binary(more=False), service(UNKNOWN)],
        ("ok", None, "in", False, False),
    ),
    "a chunk's ack is not the message's": (
        [message(head=0x4D), service(ACK, ref=9), binary(more=False)], ("open", None, None, False, False),
    ),
    "ponged": ([ping(), service(ACK, "in")], ("ok", None, "in", True, True)),
    "ping not answered yet": ([ping()], ("open", None, None, False, False)),
    "ping never answered": ([ping(), GONE], ("disconnected", "1006", None, False, False)),
    "beginning lost": ([response()], ("ok", None, "out", False, True)),
}  # fmt: skip


def made(journal: DataFrame) -> list[Row]:
    return check("exchanges", exchanges(journal)).orderBy("first_seq").collect()


def test_every_story_has_its_outcome(journal_of: JournalOf) -> None:
    # All in one job: story N happens on link N, in exchange N, of one journal.
    rows = []
    for number, (story, _) in enumerate(STORIES.values()):
        for part in story:
            placed = {"exchange": number.to_bytes(16, "big")} if "exchange" in part else {}
            rows.append({"link": b"L" + number.to_bytes(7, "big")} | part | placed)
    names, told = list(STORIES), {}
    for row in made(journal_of(rows)):
        answered = row["first_answer"] is not None
        of_it = (row["outcome"], row["code"], row["ended_by"], row["acked"], answered)
        told[names[int(row["exchange"], 16)]] = of_it
    assert told == {name: want for name, (_, want) in STORIES.items()}


def test_everything_about_one_exchange(journal_of: JournalOf) -> None:
    journal = journal_of(
        [
            request(head=0x69, parent=B, user=7, mono_ns=5_000_000),
            service(ACK) | {"mono_ns": 5_100_000},
            request(exchange=B, direction="out", mono_ns=5_200_000),
            response() | {"mono_ns": 7_500_999},
            service(ACK, "in", 50) | {"mono_ns": 8_000_000},
        ]
    )
    assert shape(exchanges(journal).schema) == shape(EXCHANGES)
    first, second = made(journal)
    assert (first["exchange"], first["parent"]) == (A.hex(), B.hex())
    assert (first["kind"], first["direction"], first["endpoint"], first["user"]) == (
        "request",
        "in",
        "chat",
        7,
    )
    assert (first["id"], first["service"], first["given_to"], first["timeout_s"]) == (1, None, None, None)
    assert first["wait_us"] == 2500
    assert (first["last"] - first["opened"]).microseconds == 4000
    assert first["closed"] == first["first_answer"]
    assert (first["closed"] - first["opened"]).microseconds == 3000
    assert (first["frames_in"], first["frames_out"], first["bytes_in"], first["bytes_out"]) == (2, 2, 39, 29)
    assert (first["first_seq"], first["last_seq"], first["date"]) == (1, 5, first["opened"].date())
    assert (second["exchange"], second["direction"], second["outcome"]) == (B.hex(), "out", "open")


def test_the_same_id_on_two_nodes_is_two_exchanges(journal_of: JournalOf) -> None:
    rows = made(journal_of([request(), request(node="two"), response()]))
    assert sorted((row["node"], row["outcome"]) for row in rows) == [("one", "ok"), ("two", "open")]


def test_rows_of_no_exchange_make_none(journal_of: JournalOf) -> None:
    assert made(journal_of([service(UNKNOWN) | {"exchange": None}, GONE])) == []


def test_links_may_have_ended_in_rows_that_are_not_here(journal_of: JournalOf) -> None:
    links = journal_of([GONE | {"seq": 9}, GONE | {"seq": 10, "protocol": "hub", "code": 1000}])
    (row,) = check("exchanges", exchanges(journal_of([request()]), links)).collect()
    assert (row["outcome"], row["code"]) == ("disconnected", "1006")
    (row,) = check("exchanges", exchanges(journal_of([request(), GONE]), links.limit(0))).collect()
    assert row["outcome"] == "open"


def test_the_order_of_rows_on_disk_does_not_matter(journal_of: JournalOf) -> None:
    story = [request(), service(TIMEOUT, "in"), response()]
    backwards = [{"seq": number} | row for number, row in reversed(list(enumerate(story, start=1)))]
    (row,) = made(journal_of(backwards))
    assert (row["outcome"], row["frames_out"]) == ("timeout", 1)


def test_a_message_that_opens_a_stream_is_one(journal_of: JournalOf) -> None:
    rows = [
        message(1, exchange=A, head=0x45),
        binary(more=True, exchange=A),
        binary(more=False, exchange=A),
        message(2, exchange=B, head=0x41),
    ]
    found = {row["first_seq"]: (row["kind"], row["outcome"]) for row in exchanges(journal_of(rows)).collect()}
    assert found == {1: ("stream", "ok"), 4: ("message", "ok")}
