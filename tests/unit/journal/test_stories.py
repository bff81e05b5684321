from collections import defaultdict
from itertools import chain, islice
from typing import Any

import pytest

from framehub.errors import MalformedFrame
from framehub.journal.record import to_batch
from framehub.journal.stories import conversations
from framehub.mfp import codec, envelope
from framehub.mfp.frames import MessageFrame, RequestFrame, ResponseFrame

KINDS = {"MessageFrame": "message", "RequestFrame": "request", "ResponseFrame": "response",
         "BinaryFrame": "binary", "ServiceFrame": "service"}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    made = list(islice(chain.from_iterable(conversations(11)), 6000))
    found: list[dict[str, Any]] = to_batch(made).to_pylist()
    return found


def test_every_frame_is_lawful_and_its_columns_say_what_it_holds(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["kind"] in ("link_opened", "link_closed"):
            assert row["raw"] is None
            continue
        if row["kind"] == "refused":
            with pytest.raises(MalformedFrame) as caught:
                codec.decode(row["raw"])
            assert str(caught.value) == row["refused"]
            continue
        frame = codec.decode(row["raw"])
        assert KINDS[type(frame).__name__] == row["kind"]
        assert (frame.id, len(row["raw"]), row["raw"][0]) == (row["id"], row["bytes"], row["head"])
        assert getattr(frame, "ref", None) == row["ref"]
        assert getattr(frame, "key", None) == row["key"]
        if isinstance(frame, MessageFrame | RequestFrame | ResponseFrame):
            at = row["payload_at"]
            assert row["raw"][at : at + row["payload_bytes"]] == frame.payload
            expected = getattr(frame, "expected", ())
            files = frame.files or tuple((key, b"") for key in expected)
            assert envelope.decode(frame.payload, files).endpoint == row["endpoint"]
            assert row["files"] == len(files)


def test_times_never_go_back_and_ids_count_up_on_each_side(rows: list[dict[str, Any]]) -> None:
    times = [row["time_ns"] for row in rows]
    assert times == sorted(times)
    last: dict[tuple[bytes, str], int] = defaultdict(int)
    for row in rows:
        if row["id"] is not None:
            assert row["id"] == last[row["link"], row["direction"]] + 1
            last[row["link"], row["direction"]] = row["id"]


def test_an_exchange_begins_with_what_opens_it(rows: list[dict[str, Any]]) -> None:
    opened: set[bytes] = set()
    for row in rows:
        if row["exchange"] is None:
            assert row["kind"] in ("refused", "link_opened", "link_closed")
        elif row["exchange"] not in opened:
            assert row["kind"] in ("message", "request") or row["code"] == 7
            assert row["exchange"][:8] == row["link"]
            opened.add(row["exchange"])


def test_every_kind_of_trouble_is_there(rows: list[dict[str, Any]]) -> None:
    assert {row["code"] for row in rows if row["kind"] == "service"} == {1, 2, 3, 4, 7}
    assert {"application", "busy"} <= {row["error"] for row in rows if row["kind"] == "response"}
    assert "refused" in {row["kind"] for row in rows}


def test_nothing_is_on_a_link_before_it_opens_or_after_it_closes(rows: list[dict[str, Any]]) -> None:
    state: dict[bytes, str] = {}
    for row in rows:
        if row["kind"] == "link_opened":
            assert row["link"] not in state
            state[row["link"]] = "open"
        else:
            assert state[row["link"]] == "open"
        if row["kind"] == "link_closed":
            state[row["link"]] = "closed"
