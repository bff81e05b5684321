"""What the stories put on the tape is what a hub may do."""

from collections import defaultdict
from itertools import pairwise
from typing import Any, TypeAlias

import pytest

from framehub.codes import HubCommand, HubError
from framehub.errors import MalformedFrame
from framehub.hub import headers
from framehub.hub.headers import Way
from framehub.journal import hub_stories
from framehub.journal.columns import to_batch
from framehub.journal.traffic import SECOND, World

Rows: TypeAlias = list[dict[str, Any]]
DATA = ("first", "message", "last", "service_error")
KILLING = {1, 2, 3, 9, 11, 12}
WAYS = {
    ("in", True): Way.CLIENT_TO_HUB,
    ("out", True): Way.HUB_TO_CLIENT,
    ("in", False): Way.SERVICE_TO_HUB,
    ("out", False): Way.HUB_TO_SERVICE,
}


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Traffic that has come to its end."""
    world = World(4)
    hub_stories.begin(world)
    while len(world.tape) < 20_000:
        world.step()
    world.ending = True
    while not world.quiet:
        world.step()
    assert (world.visitors, world.services) == (0, [])
    found: Rows = to_batch(world.tape).to_pylist()
    for seq, row in enumerate(found, 1):
        row["seq"] = seq
    return found


@pytest.fixture(scope="module")
def streams(rows: Rows) -> dict[bytes, Rows]:
    """Rows of each stream; pings have exchanges too, their numbers begin with a one."""
    found: dict[bytes, Rows] = defaultdict(list)
    for row in rows:
        if row["exchange"] is not None and row["exchange"][8] < 128:
            found[row["exchange"]].append(row)
    return found


def at_client(row: dict[str, Any]) -> bool:
    return row["ref"] is None


def body(row: dict[str, Any]) -> bytes:
    at = row["payload_at"]
    return b"" if at is None else bytes(row["raw"][at : at + row["payload_bytes"]])


def test_columns_say_what_the_bytes_say(rows: Rows) -> None:
    for row in rows:
        assert row["protocol"] == "hub"
        if row["kind"] in ("link_opened", "link_closed"):
            continue
        way = WAYS[row["direction"], at_client(row)]
        if row["kind"] == "refused":
            with pytest.raises(MalformedFrame) as caught:
                headers.decode(row["raw"], row["version"], way)
            assert row["refused"] == f"bad_frame: {caught.value}"
            continue
        frame = headers.decode(row["raw"], row["version"], way)
        assert (frame.state.name.lower(), frame.state) == (row["kind"], row["head"])
        assert (frame.stream, frame.parameter) == (row["id"], row["key"])
        assert body(row) == frame.body
        if way is Way.CLIENT_TO_HUB and row["kind"] == "first" and frame.stream:
            assert (frame.service, frame.parameter) == (row["service"], row["function"])
        if way is Way.HUB_TO_SERVICE and row["kind"] == "first":
            assert frame.number == row["user"]


def test_nothing_is_on_a_link_before_it_opens_or_after_it_closes(rows: Rows) -> None:
    state: dict[bytes, str] = {}
    for row in rows:
        assert state.get(row["link"]) == (None if row["kind"] == "link_opened" else "open")
        state[row["link"]] = "closed" if row["kind"] == "link_closed" else "open"
    assert set(state.values()) == {"closed"}


def test_a_service_registers_before_it_gets_a_stream(rows: Rows) -> None:
    ready: set[bytes] = set()
    for row in rows:
        if row["kind"] == "command" and row["code"] == HubCommand.READY:
            ready.add(row["link"])
        elif row["id"]:
            assert at_client(row) or row["link"] in ready


def test_a_stream_has_one_opening_one_user_and_one_number_on_each_side(streams: dict[bytes, Rows]) -> None:
    numbers: dict[bytes, list[int]] = defaultdict(list)
    for exchange, found in streams.items():
        opening = found[0]
        assert (opening["kind"], opening["direction"], at_client(opening)) == ("first", "in", True)
        assert exchange == opening["link"] + opening["id"].to_bytes(8, "big")
        assert opening["code"] in (5, 10, 30)
        assert sum(row["kind"] == "first" and at_client(row) for row in found) == 1
        assert {row["user"] for row in found} == {opening["user"]}
        assert {row["id"] if at_client(row) else row["ref"] for row in found} == {opening["id"]}
        for there in (True, False):
            assert len({(row["link"], row["id"]) for row in found if at_client(row) is there}) <= 1
        numbers[opening["link"]].append(opening["id"])
    assert all(found == sorted(set(found)) for found in numbers.values())


def test_what_one_side_says_reaches_the_other_as_it_was(streams: dict[bytes, Rows]) -> None:
    for found in streams.values():
        told = {True: [], False: []}  # type: ignore[var-annotated]
        for row in found:
            if row["kind"] in DATA and row["refused"] is None:
                told[at_client(row)].append((row["direction"], row["kind"], body(row)))
        if not told[False]:
            continue  # function 0, answered by the hub
        assert [said[1:] for said in told[True] if said[0] == "in"] == [
            said[1:] for said in told[False] if said[0] == "out"
        ]
        assert [said[1:] for said in told[True] if said[0] == "out"] == [
            said[1:] for said in told[False] if said[0] == "in"
        ]


def test_function_0_is_answered_by_the_hub(streams: dict[bytes, Rows]) -> None:
    asked = [found for found in streams.values() if found[0]["function"] == 0]
    assert asked
    for found in asked:
        assert [(row["kind"], row["direction"], at_client(row)) for row in found] == [
            ("first", "in", True),
            ("last", "out", True),
        ]


def end_of(found: Rows) -> int:
    for place, row in enumerate(found):
        out = row["direction"] == "out"
        if row["kind"] in ("last", "service_error") and out and at_client(row):
            return place
        if row["kind"] == "stream_error" and out and row["code"] in KILLING:
            return place
        if row["kind"] == "command" and row["code"] == HubCommand.CLOSE and not out:
            return place
    raise AssertionError(f"no end: {found}")


def test_every_stream_ends_and_nothing_follows(streams: dict[bytes, Rows]) -> None:
    for found in streams.values():
        after = found[end_of(found) + 1 :]
        assert not [row for row in after if row["kind"] in DATA and row["direction"] == "out"]
        assert len(after) <= 2


def test_both_ends_learn_of_a_kill_once(streams: dict[bytes, Rows]) -> None:
    seen = set()
    for found in streams.values():
        kills = [row for row in found if row["kind"] == "stream_error" and row["code"] in KILLING]
        if kills:
            code = kills[0]["code"]
            seen.add(code)
            sides = sorted(at_client(row) for row in kills)
            assert {row["code"] for row in kills} == {code}
            one = {HubError.CLIENT_DISCONNECT: [False], HubError.SERVICE_DISCONNECT: [True]}
            assert sides == one.get(code, [False, True])
    assert seen == KILLING


def test_a_timeout_comes_when_the_time_is_over(streams: dict[bytes, Rows]) -> None:
    for found in streams.values():
        for place, row in enumerate(found):
            if row["kind"] == "stream_error" and row["code"] == HubError.TIMEOUT and at_client(row):
                before = [r for r in found[:place] if at_client(r) and r["direction"] == "out"] or found[:1]
                waited = row["mono_ns"] - before[-1]["mono_ns"]
                assert waited >= found[0]["code"] * SECOND


def test_who_goes_is_missed(rows: Rows, streams: dict[bytes, Rows]) -> None:
    """Streams that were open when a link closed: the other end is told right after."""
    closed = {row["link"]: row["seq"] for row in rows if row["kind"] == "link_closed"}
    cut = defaultdict(int)  # type: ignore[var-annotated]
    for found in streams.values():
        end = found[end_of(found)]
        for side, code in ((True, HubError.CLIENT_DISCONNECT), (False, HubError.SERVICE_DISCONNECT)):
            links = {row["link"] for row in found if at_client(row) is side}
            if any(found[0]["seq"] < closed[link] < end["seq"] for link in links):
                assert (end["kind"], end["code"]) == ("stream_error", code)
                cut[code] += 1
    assert set(cut) == {HubError.CLIENT_DISCONNECT, HubError.SERVICE_DISCONNECT}


def test_close_reaches_the_other_side_and_comes_back(streams: dict[bytes, Rows]) -> None:
    seen = set()
    for found in streams.values():
        closes = [
            (row["direction"], at_client(row))
            for row in found
            if row["kind"] == "command" and row["code"] == HubCommand.CLOSE
        ]
        if closes:
            seen.add(closes[0])
            assert sorted(closes[1:]) == [("out", False), ("out", True)]
    assert seen == {("in", True), ("in", False)}


def test_a_ping_is_answered_once_with_what_it_said(rows: Rows) -> None:
    pings: dict[bytes, Rows] = defaultdict(list)
    for row in rows:
        if row["exchange"] is not None and row["exchange"][8] >= 128:
            pings[row["exchange"]].append(row)
    for exchange, (ping, pong) in pings.items():
        assert (ping["code"], pong["code"]) == (HubCommand.PING, HubCommand.PONG)
        assert {ping["direction"], pong["direction"]} == {"in", "out"}
        assert exchange[:8] == ping["link"] == pong["link"]
        assert body(ping) == body(pong)
    seen = {(found[0]["direction"], at_client(found[0])) for found in pings.values()}
    assert seen == {(way, side) for way in ("in", "out") for side in (True, False)}


def test_what_is_not_taken_is_answered_with_the_error(rows: Rows) -> None:
    seen = set()
    for row, answer in pairwise(rows):
        if row["refused"] is None:
            continue
        error = row["refused"].partition(":")[0]
        seen.add((error, at_client(row)))
        assert (row["exchange"], row["direction"]) == (None, "in")
        assert (answer["kind"], answer["error"], answer["link"]) == ("stream_error", error, row["link"])
        assert row["id"] in (None, answer["id"])
    assert seen == {
        ("endpoint_not_found", True),
        ("bad_frame", True),
        ("stream_not_found", True),
        ("ws_stream_collision", True),
        ("stream_not_found", False),
        ("zmq_stream_collision", False),
    }


def test_both_versions_talk_to_each_other(streams: dict[bytes, Rows]) -> None:
    pairs = {
        (found[0]["version"], next(row["version"] for row in found if not at_client(row)))
        for found in streams.values()
        if not all(map(at_client, found))
    }
    assert pairs == {(1, 1), (1, 2), (2, 1), (2, 2)}
