from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from framehub.journal.rpc_rows import RpcRows
from framehub.pipeline import exchanges, frames
from framehub.pipeline.schemas import EXCHANGES, check, shape
from framehub.pipeline.stages.queries import queries

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
Rpc = Callable[..., dict[str, Any]]
WID, PARENT = bytes([7] * 16), bytes([8] * 16)
Told = tuple[str, str | None, str | None, bool, bool, int]


def stories(rpc: Rpc) -> dict[str, tuple[list[dict[str, Any]], Told]]:
    """What happened -> outcome, code, ended_by, acked, whether it was answered, dispatches."""
    usual: dict[str, Any] = {"exchange": WID, "function": "add", "coder": "json"}
    ask = rpc("in", "QUERY", "1", "[1,2]", "add", **usual)
    ack = rpc("out", "QUERY_RECEIVED", "1", **usual)
    give = rpc("out", "QUERY", WID, "[1,2]", "add", peer="worker 1", **usual)
    give_2 = rpc("out", "QUERY", WID, "[1,2]", "add", peer="worker 2", **usual)
    taken = rpc("in", "QUERY_RECEIVED", WID, peer="worker 1", **usual)
    done = rpc("in", "RESPONSE_RESULT", WID, "3", peer="worker 1", **usual)
    done_2 = rpc("in", "RESPONSE_RESULT", WID, "3", peer="worker 2", **usual)
    held = rpc("out", "RESPONSE_RECEIVED", WID, peer="worker 1", **usual)
    told = rpc("out", "RESPONSE_RESULT", "1", "3", **usual)
    thanks = rpc("in", "RESPONSE_RECEIVED", "1", **usual)
    cancel = rpc("in", "CANCEL", "1", **usual)
    stop = rpc("out", "CANCEL", WID, peer="worker 1", **usual)
    nobody = rpc("out", "RESPONSE_UNKNOWN_FUNCTION", "1", "add", **usual)

    def failed(error: str | None, text: str = "oh", way: str = "out") -> dict[str, Any]:
        wire, peer = ("1", "client") if way == "out" else (WID, "worker 1")
        return rpc(way, "RESPONSE_EXCEPTION", wire, text, peer=peer, error=error, **usual)

    busy = failed("busy", "BUSY: later")
    return {
        "answered": ([ask, ack, give, taken, done, held, told, thanks], ("ok", None, "out", True, True, 1)),
        "without an ack": ([ask, give, taken, done, told], ("ok", None, "out", False, True, 1)),
        "asked twice": (
            [ask, ack, give, ask, ack, done, told, ask, told, thanks], ("ok", None, "out", True, True, 1),
        ),
        "its first worker died": (
            [ask, ack, give, taken, give_2, done_2, told], ("ok", None, "out", True, True, 2),
        ),
        "failed": (
            [ask, ack, give, taken, failed("function_failed", way="in"), failed("function_failed")],
            ("error", "function_failed", "out", True, True, 1),
        ),
        "failed, no code recorded": (
            [ask, ack, give, failed(None)], ("error", "function_failed", "out", True, True, 1),
        ),
        "nobody offers it": ([ask, ack, nobody], ("error", "unknown_function", "out", True, True, 0)),
        "cancelled": (
            [ask, ack, give, cancel, stop, failed("cancelled", way="in"), failed("cancelled")],
            ("aborted", None, "in", True, False, 1),
        ),
        "cancelled, but the result was faster": (
            [ask, ack, give, done, told, cancel], ("ok", None, "out", True, True, 1),
        ),
        "cancelled by the proxy": (
            [ask, ack, give, failed("cancelled")], ("aborted", None, "out", True, True, 1),
        ),
        "ran too long": ([ask, ack, give, failed("timeout")], ("timeout", None, "out", True, True, 1)),
        "busy": ([ask, busy], ("error", "busy", "out", False, True, 0)),
        "busy, then done": (
            [ask, busy, ask, busy, ask, ack, give, done, told], ("ok", None, "out", True, True, 1),
        ),
        "busy, asked again": ([ask, busy, ask, ack, give], ("open", None, None, True, False, 1)),
        "not answered yet": ([ask, ack, give, taken], ("open", None, None, True, False, 1)),
        "beginning lost": ([give, taken, done, told], ("ok", None, "out", False, True, 1)),
    }  # fmt: skip


def made(journal: DataFrame) -> list[Row]:
    return check("exchanges", exchanges(journal)).orderBy("first_seq").collect()


def test_every_query_has_its_outcome(journal_of: JournalOf, rpc: Rpc) -> None:
    rows: list[dict[str, Any]] = []
    known = stories(rpc)
    for number, (story, _) in enumerate(known.values(), start=1):
        rows += [row | {"exchange": number.to_bytes(16, "big")} for row in story]
    names, told = list(known), {}
    for row in made(journal_of(rows)):
        answered = row["first_answer"] is not None
        of_it = (
            row["outcome"], row["code"], row["ended_by"], row["acked"], answered, row["dispatches"],
        )  # fmt: skip
        told[names[int(row["exchange"], 16) - 1]] = of_it
        assert (row["kind"], row["protocol"], row["endpoint"]) == ("query", "rpc", "add")
    assert told == {name: want for name, (_, want) in known.items()}


def test_each_hop_of_a_query_has_its_time(journal_of: JournalOf, rpc: Rpc) -> None:
    story, _ = stories(rpc)["its first worker died"]
    story[0] |= {"parent": PARENT, "user": 3, "mono_ns": 1_000_000}
    story[-1] |= {"mono_ns": 9_000_999}
    journal = journal_of(story)
    assert shape(queries(journal).schema) == shape(EXCHANGES)
    (row,) = made(journal)
    assert (row["exchange"], row["parent"], row["user"]) == (WID.hex(), PARENT.hex(), 3)
    assert (row["direction"], row["link"]) == ("in", RpcRows().link_of("client", b"client").hex())
    opened = row["opened"]
    took = [(row[name] - opened).microseconds for name in ("given", "worker_answered", "first_answer")]
    assert took == [4000, 5000, 6000]
    assert (row["wait_us"], row["closed"]) == (8000, row["first_answer"])
    assert (row["given_to"], row["id"]) == (RpcRows().link_of("worker", b"worker 2").hex(), None)
    sizes = [(part["direction"], part["bytes"]) for part in story]
    assert (row["frames_in"], row["frames_out"]) == (3, 4)
    assert row["bytes_in"] == sum(size for way, size in sizes if way == "in")
    assert row["bytes_out"] == sum(size for way, size in sizes if way == "out")
    assert (row["first_seq"], row["last_seq"], row["date"]) == (1, 7, opened.date())


def test_a_request_and_the_query_it_caused_are_two_exchanges(journal_of: JournalOf, rpc: Rpc) -> None:
    link = b"browser1"
    request = {"kind": "request", "id": 1, "head": 0x61, "exchange": PARENT, "endpoint": "add", "link": link}
    answer = {"kind": "response", "id": 1, "ref": 1, "head": 0xA1, "exchange": PARENT, "link": link}
    story, _ = stories(rpc)["answered"]
    journal = journal_of(
        [request, story[0] | {"parent": PARENT, "link": link}, *story[1:], answer | {"direction": "out"}]
    )
    asked, called = made(journal)
    assert (asked["kind"], asked["outcome"], asked["parent"]) == ("request", "ok", None)
    assert (asked["given"], asked["worker_answered"], asked["dispatches"]) == (None, None, None)
    assert (called["kind"], called["outcome"], called["parent"]) == ("query", "ok", PARENT.hex())
    assert called["link"] == asked["link"] == link.hex()


def test_what_is_about_no_query_is_a_frame_and_no_exchange(journal_of: JournalOf, rpc: Rpc) -> None:
    journal = journal_of(
        [
            rpc("in", "WORKER_REGISTER", b"\0\0\0\1", "add", "json", "json", peer="worker 1"),
            rpc("in", "HEART_BEAT", peer="worker 1"),
            rpc("in", "CODER_IDENTITY_QUERY", "9", "add"),
            rpc("out", "CODER_IDENTITY_FOUND", "9", "json", "json", function="add"),
            rpc("in", "QUERY", "9", "1", "add", coder="json"),
        ]
    )
    assert made(journal) == []
    rows = check("frames", frames(journal)).orderBy("seq").collect()
    assert [row["kind"] for row in rows] == [
        "register", "heart_beat", "coders_query", "coders_found", "query",
    ]  # fmt: skip
    assert (rows[0]["query"], rows[4]["query"], rows[4]["coder"]) == (None, "39", "json")
    assert (rows[3]["endpoint"], rows[4]["endpoint"]) == ("add", "add")
