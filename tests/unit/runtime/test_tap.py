"""What a frame looks like as a row."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from framehub.codes import BinaryKind, Service
from framehub.journal.append import SegmentAppender
from framehub.journal.reader import read
from framehub.journal.writer import JournalWriter, WriterSettings
from framehub.mfp import codec
from framehub.mfp.frames import (
    BinaryFrame,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.tap import IN, OUT, Tap


def rows(path: Path) -> list[dict[str, Any]]:
    return [row for batch in read(path) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("frame", "want"),
    [
        (
            ServiceFrame(id=1, code=Service.ABORT, ref=2, own=True),
            {"kind": "service", "code": 3, "ref": 2, "head": 0x2B, "files": None, "payload_at": None},
        ),
        (
            RequestFrame(id=7, payload=b"abc"),
            {"kind": "request", "payload_at": 9, "payload_bytes": 3, "files": 0, "ref": None, "id": 7},
        ),
        (
            ResponseFrame(id=7, ref=9, payload=b"abc", files=((1, b"f"), (2, b""))),
            {"kind": "response", "payload_at": 17, "payload_bytes": 3, "files": 2, "ref": 9},
        ),
        (
            MessageFrame(id=7, payload=b"ab", expected=(4, 5, 6)),
            {"kind": "message", "payload_at": 13, "payload_bytes": 2, "files": 3},
        ),
        (MessageFrame(id=7), {"kind": "message", "payload_at": None, "payload_bytes": None, "files": 0}),
        (
            BinaryFrame(id=7, ref=3, kind=BinaryKind.EXPECTED, key=0, data=b"x"),
            {"kind": "binary", "ref": 3, "key": 0, "payload_at": None},
        ),
        (BinaryFrame(id=7, ref=3), {"kind": "binary", "ref": 3, "key": None}),
    ],
)
def test_every_kind_of_frame_has_its_columns(tmp_path: Path, frame: Frame, want: dict[str, Any]) -> None:
    raw = codec.encode(frame)
    with JournalWriter(tmp_path, node="n") as writer:
        Tap(writer).link(b"linklink", user=5).frame(
            OUT, frame, raw, 3, endpoint="e", error="busy", parent=b"p" * 16
        )
    (row,) = rows(tmp_path)
    assert {name: row[name] for name in want} == want
    assert row["raw"] == raw
    if row["payload_at"] is not None:
        at = row["payload_at"]
        assert raw[at : at + row["payload_bytes"]] == frame.payload  # type: ignore[union-attr]
    assert row["exchange"] == b"linklink" + (3).to_bytes(8, "big")
    assert (row["user"], row["direction"]) == (5, "out")
    # Labels belong to frames that can have a payload.
    labelled = not isinstance(frame, ServiceFrame | BinaryFrame)
    labels = (row["endpoint"], row["error"], row["parent"])
    assert labels == (("e", "busy", b"p" * 16) if labelled else (None, None, None))
    assert row["bytes"] == len(raw)
    assert (row["protocol"], row["version"], row["recorded"]) == ("mfp", 1, "full")


def test_what_belongs_to_no_exchange_says_so(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, node="n") as writer:
        link = Tap(writer).link(b"linklink")
        link.opened()
        link.frame(IN, ServiceFrame(id=1, code=Service.ACK, ref=2), bytes.fromhex("210000000100000002"), 0)
        link.refused(b"", "no bytes")
        link.refused(b"\xff\x01", "nonsense")
        link.closed(1002, "nonsense")
    opened, ack, empty, refused, closed = rows(tmp_path)
    assert (opened["kind"], opened["recorded"], opened["exchange"]) == ("link_opened", "off", None)
    assert ack["exchange"] is None
    assert (empty["kind"], empty["refused"], empty["head"]) == ("refused", "no bytes", None)
    assert (refused["raw"], refused["head"], refused["bytes"]) == (b"\xff\x01", 255, 2)
    assert (closed["kind"], closed["code"], closed["error"]) == ("link_closed", 1002, "nonsense")


async def test_one_request_is_one_exchange_with_its_question_as_child(tmp_path: Path) -> None:
    app, me = Endpoints(), Endpoints()
    me.on("who")(lambda call: "me")

    @app.on("ask")
    async def ask(call: Call) -> object:
        return (await call.peer.request("who")).data

    with JournalWriter(tmp_path, node="n") as writer:
        client, _ = pair(me, app, tap=Tap(writer))
        assert (await client.request("ask", {"a": 1}, ack=True)).data == "me"
        await client.close()
        await asyncio.sleep(0.01)
    found = rows(tmp_path)
    story = [(row["direction"], row["kind"], row["endpoint"]) for row in found]
    assert story == [
        ("in", "link_opened", None),
        ("in", "request", "ask"),
        ("out", "service", None),
        ("out", "request", "who"),
        ("in", "response", "who"),
        ("out", "response", "ask"),
        ("in", "link_closed", None),
    ]
    asked, acked, question, answer, answered = found[1:6]
    assert asked["exchange"] == acked["exchange"] == answered["exchange"]
    assert question["exchange"] == answer["exchange"] != asked["exchange"]
    assert question["parent"] == asked["exchange"]
    assert [row["seq"] for row in found] == list(range(1, 8))


def test_a_writer_that_cannot_keep_up_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    go = threading.Event()
    sync = SegmentAppender.sync

    def stuck(appender: SegmentAppender) -> None:
        assert go.wait(10)
        sync(appender)

    monkeypatch.setattr(SegmentAppender, "sync", stuck)
    with JournalWriter(tmp_path, settings=WriterSettings(backlog_bytes=2_000)) as writer:
        link = Tap(writer, on_full=lambda: told.append("full")).link(b"linklink")
        while not told:
            link.opened()
            assert writer.backlog < 5_000
        go.set()
