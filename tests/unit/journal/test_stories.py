from collections import Counter, defaultdict
from itertools import chain, islice
from typing import Any

import pytest

from framehub.errors import MalformedFrame
from framehub.journal import stories
from framehub.journal.columns import to_batch
from framehub.journal.stories import conversations
from framehub.journal.traffic import START_NS, World
from framehub.mfp import codec, envelope
from framehub.mfp.frames import MessageFrame, RequestFrame, ResponseFrame

KINDS = {"MessageFrame": "message", "RequestFrame": "request", "ResponseFrame": "response",
         "BinaryFrame": "binary", "ServiceFrame": "service"}  # fmt: skip


@pytest.fixture(scope="module")
def every() -> list[dict[str, Any]]:
    made = list(islice(chain.from_iterable(conversations(11)), 12_000))
    found: list[dict[str, Any]] = to_batch(made).to_pylist()
    return found


@pytest.fixture(scope="module")
def rows(every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in every if row["protocol"] == "mfp"]


def test_all_protocols_have_their_share(every: list[dict[str, Any]]) -> None:
    count = Counter(row["protocol"] for row in every)
    assert 0.16 < count["rpc"] / len(every) < 0.27
    assert 0.10 < count["hub"] / len(every) < 0.20


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
            if isinstance(frame, MessageFrame) and (frame.expected or frame.streaming):
                assert envelope.decode_ahead(frame.payload).endpoint == row["endpoint"]
                assert row["files"] == len(frame.expected)
            else:
                assert envelope.decode(frame.payload, frame.files).endpoint == row["endpoint"]
                assert row["files"] == len(frame.files)


def test_a_link_has_checksums_on_all_its_frames_or_on_none(rows: list[dict[str, Any]]) -> None:
    bits = defaultdict(set)
    for row in rows:
        if row["id"] is not None:
            bits[row["link"]].add(row["head"] & 0b1_0000 != 0)
    assert {frozenset(found) for found in bits.values()} == {frozenset({True}), frozenset({False})}


def test_times_never_go_back_and_ids_count_up_on_each_side(every: list[dict[str, Any]]) -> None:
    times = [row["time_ns"] for row in every]
    assert times == sorted(times)
    last: dict[tuple[bytes, str], int] = defaultdict(int)
    for row in every:
        if row["protocol"] == "mfp" and row["id"] is not None:
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


def test_a_request_to_a_function_is_answered_with_what_the_worker_said(every: list[dict[str, Any]]) -> None:
    parents = {row["parent"]: row["exchange"] for row in every if row["parent"] is not None}
    answers = {
        row["exchange"]: row for row in every if (row["protocol"], row["direction"]) == ("rpc", "out")
        and row["kind"] in ("result", "exception")
    }  # fmt: skip
    responses = [row for row in every if row["kind"] == "response" and row["exchange"] in parents]
    assert len(responses) > 20
    for row in responses:
        answer = answers[parents[row["exchange"]]]
        assert (answer["endpoint"], answer["error"]) == (row["endpoint"], row["error"])


def test_the_same_seed_tells_the_same(every: list[dict[str, Any]]) -> None:
    again = to_batch(list(islice(chain.from_iterable(conversations(11)), 3000))).to_pylist()
    assert again == every[:3000]


def test_traffic_comes_to_its_end_and_begins_again() -> None:
    world = World(2)
    for _ in range(2):
        stories.begin(world)
        while world.seq < 3000:
            world.step()
        world.ending = True
        while not world.quiet:
            world.step()
        assert (world.visitors, world.workers, world.services) == (0, [], [])
        open_links = Counter()  # type: ignore[var-annotated]
        for row in to_batch(world.tape).to_pylist():
            open_links[row["link"]] += {"link_opened": 1, "link_closed": -1}.get(row["kind"], 0)
        assert set(open_links.values()) == {0}
        world.ending, world.seq = False, 0
    assert world.now > START_NS
