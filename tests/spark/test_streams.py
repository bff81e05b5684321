"""Streams and pings of the hub as exchanges."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from framehub.pipeline import exchanges
from framehub.pipeline.schemas import EXCHANGES, check, shape
from framehub.pipeline.stages.streams import streams

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
CLIENT, SERVICE = b"client 1", b"service1"
EXCHANGE = CLIENT + (5).to_bytes(8, "big")
PING, PONG, CLOSE = 1, 2, 15
ERRORS = {
    1: "timeout", 2: "client_disconnect", 3: "service_disconnect", 8: "bad_frame", 9: "limit", 11: "busy",
    12: "internal",
}  # fmt: skip


def hub(kind: str, direction: str, **more: Any) -> dict[str, Any]:
    return {
        "protocol": "hub", "kind": kind, "direction": direction, "link": CLIENT, "id": 5, "service": 3,
        "function": 9, "endpoint": "chat", "bytes": 10, "exchange": EXCHANGE, "user": 4,
    } | more  # fmt: skip


def at_service(kind: str, direction: str, **more: Any) -> dict[str, Any]:
    return hub(kind, direction, link=SERVICE, id=2**20, ref=5, **more)


def error(code: int, *, service: bool = False) -> dict[str, Any]:
    made = at_service if service else hub
    return made("stream_error", "out", code=code, error=ERRORS[code])


def command(code: int, direction: str, *, service: bool = False) -> dict[str, Any]:
    return (at_service if service else hub)("command", direction, code=code)


OPEN, GIVEN = hub("first", "in", code=30), at_service("first", "out")
ASKED = [OPEN, GIVEN]
SAID, TOLD = at_service("message", "in"), hub("message", "out")
DONE = [at_service("last", "in"), hub("last", "out")]
FAILED = [
    at_service("service_error", "in", error="service_error"),
    hub("service_error", "out", error="service_error"),
]

# What happened -> kind, outcome, code, ended_by, whether it was answered.
Told = tuple[str | None, str, str | None, str | None, bool]
STORIES: dict[str, tuple[list[dict[str, Any]], Told]] = {
    "answered": ([*ASKED, SAID, TOLD, *DONE], ("stream", "ok", None, "out", True)),
    "answered at once": ([*ASKED, *DONE], ("stream", "ok", None, "out", True)),
    "service failed": ([*ASKED, *FAILED], ("stream", "error", "service_error", "out", True)),
    "data after the end": ([*ASKED, *DONE, *FAILED], ("stream", "ok", None, "out", True)),
    "timed out": ([*ASKED, error(1), error(1, service=True)], ("stream", "timeout", None, "out", True)),
    "the service was told first": (
        [*ASKED, error(1, service=True), error(1)], ("stream", "timeout", None, "out", True),
    ),
    "client gone": (
        [*ASKED, error(2, service=True)], ("stream", "disconnected", "client_disconnect", "out", False),
    ),
    "service gone": ([*ASKED, error(3)], ("stream", "error", "service_disconnect", "out", True)),
    "over a limit": ([*ASKED, error(9)], ("stream", "error", "limit", "out", True)),
    "service too slow": ([*ASKED, error(11)], ("stream", "error", "busy", "out", True)),
    "hub failed": ([*ASKED, error(12)], ("stream", "error", "internal", "out", True)),
    "a bad frame in between": ([*ASKED, error(8), TOLD], ("stream", "open", None, None, True)),
    "only a bad frame": ([*ASKED, error(8)], ("stream", "open", None, None, False)),
    "closed by its client": (
        [*ASKED, command(CLOSE, "in"), command(CLOSE, "out", service=True), command(CLOSE, "out")],
        ("stream", "aborted", None, "in", False),
    ),
    "closed by its service": (
        [*ASKED, SAID, TOLD, command(CLOSE, "in", service=True), command(CLOSE, "out")],
        ("stream", "aborted", None, "in", True),
    ),
    "the client's last frame is no end": (
        [*ASKED, hub("last", "in"), at_service("last", "out")], ("stream", "open", None, None, False),
    ),
    "not answered yet": (ASKED, ("stream", "open", None, None, False)),
    "beginning lost": ([TOLD, *DONE], (None, "ok", None, "out", True)),
    "ponged": ([command(PING, "in"), command(PONG, "out")], ("ping", "ok", None, "out", True)),
    "ping not answered yet": ([command(PING, "in")], ("ping", "open", None, None, False)),
    "a service's ping": (
        [command(PING, "in", service=True), command(PONG, "out", service=True)],
        ("ping", "ok", None, "out", True),
    ),
    "the hub's own ping": (
        [command(PING, "out", service=True), command(PONG, "in", service=True)],
        ("ping", "ok", None, "in", True),
    ),
    "a pong the wrong way": (
        [command(PING, "in"), command(PONG, "in")], ("ping", "open", None, None, False),
    ),
}  # fmt: skip


def made(journal: DataFrame) -> list[Row]:
    return check("exchanges", exchanges(journal)).orderBy("first_seq").collect()


def test_every_stream_has_its_outcome(journal_of: JournalOf) -> None:
    rows: list[dict[str, Any]] = []
    for number, (story, _) in enumerate(STORIES.values()):
        rows += [row | {"exchange": number.to_bytes(16, "big")} for row in story]
    names, told = list(STORIES), {}
    for row in made(journal_of(rows)):
        answered = row["first_answer"] is not None
        of_it = (row["kind"], row["outcome"], row["code"], row["ended_by"], answered)
        told[names[int(row["exchange"], 16)]] = of_it
        assert (row["acked"], row["protocol"], row["dispatches"]) == (False, "hub", None)
    assert told == {name: want for name, (_, want) in STORIES.items()}


def test_everything_about_one_stream(journal_of: JournalOf) -> None:
    parent = bytes([8] * 16)
    story = [OPEN | {"parent": parent, "mono_ns": 1_000_000}, *ASKED[1:], SAID, TOLD | {"mono_ns": 4_000_999}]
    journal = journal_of([*story, hub("message", "in"), *DONE])
    assert shape(streams(journal).schema) == shape(EXCHANGES)
    (row,) = made(journal)
    assert (row["exchange"], row["parent"], row["link"]) == (EXCHANGE.hex(), parent.hex(), CLIENT.hex())
    assert (row["user"], row["direction"], row["id"], row["endpoint"]) == (4, "in", 5, "chat")
    assert (row["service"], row["function"], row["timeout_s"]) == (3, 9, 30)
    assert (row["given_to"], row["wait_us"]) == (SERVICE.hex(), 3000)
    took = [
        (row[name] - row["opened"]).microseconds
        for name in ("given", "worker_answered", "first_answer", "closed", "last")
    ]
    assert took == [1000, 2000, 3000, 6000, 6000]
    assert (row["frames_in"], row["frames_out"], row["bytes_in"], row["bytes_out"]) == (4, 3, 40, 30)
    assert (row["first_seq"], row["last_seq"], row["date"]) == (1, 7, row["opened"].date())


def test_a_ping_has_no_number_and_no_service(journal_of: JournalOf) -> None:
    link = {"id": 0, "service": None, "function": None, "endpoint": None}
    pings = [command(PING, "in") | link, command(PONG, "out") | link]
    (row,) = made(journal_of([row | {"exchange": CLIENT + b"\x80" + bytes(6) + b"\1"} for row in pings]))
    assert (row["kind"], row["id"], row["service"], row["timeout_s"]) == ("ping", None, None, None)
    assert (row["link"], row["wait_us"], row["given_to"]) == (CLIENT.hex(), 1000, None)


def test_what_is_about_no_stream_is_no_exchange(journal_of: JournalOf) -> None:
    gone = {"protocol": "hub", "kind": "link_closed", "link": CLIENT}
    assert made(journal_of([OPEN | {"exchange": None}, gone])) == []
