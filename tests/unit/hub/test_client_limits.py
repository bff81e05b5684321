"""What a client may not do in crowds: each limit is kept, and one more is one too many."""

import pytest

from framehub.hub.parties import Stream
from tests.unit.hub.desk import (
    CLOSE,
    COMMAND,
    FIRST,
    FIRST_ID,
    LAST,
    MESSAGE,
    PING,
    STREAM_ERROR,
    Desk,
)


def test_streams_at_a_time() -> None:
    desk = Desk(max_streams=2)
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.opens(client, 2)
    assert desk.first(client, 3) == "limit: over 2 streams at a time"
    assert desk.to_clients() == [("c", 3, "LIMIT")]
    desk.answers("s", FIRST_ID, LAST)
    desk.opens(client, 4)
    desk.agree()


def test_streams_in_a_second() -> None:
    desk = Desk(max_opens=10, opens_burst=2)
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.opens(client, 2)
    assert desk.first(client, 3) == "limit: over 10 streams in a second"
    desk.now += 0.1
    desk.opens(client, 4)


def test_ranges_of_numbers() -> None:
    desk = Desk(max_used=2)
    client, _ = desk.client(), desk.service()
    desk.opens(client, 10)
    desk.opens(client, 20)
    assert desk.first(client, 30) == "limit: over 2 ranges of numbers: count instead"
    desk.opens(client, 21)


def test_whoever_is_too_far_behind_opens_nothing() -> None:
    desk = Desk(held_bytes_client=400)
    client, _ = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    client.is_full = True
    desk.answers("s", stream.hub_id, MESSAGE, body=bytes(329))
    desk.deliver()
    desk.opens(client, 2)
    desk.answers("s", FIRST_ID + 1, LAST, body=b"")
    desk.deliver()
    assert client.held_bytes >= 400
    assert desk.first(client, 3) == "limit: too much waits for this client"


@pytest.mark.parametrize(("size", "answer"), [(329, None), (330, "limit: too much waits at the hub")])
def test_when_too_much_waits_at_the_hub_nobody_opens_anything(size: int, answer: str | None) -> None:
    desk = Desk(held_bytes_in_all=400)
    slow, client, _ = desk.client("slow"), desk.client(), desk.service()
    stream = desk.opens(slow, 1)
    slow.is_full = True
    desk.answers("s", stream.hub_id, MESSAGE, body=bytes(size))
    desk.deliver()
    assert desk.switch.held_bytes == size + 70
    told = desk.first(client, 1)
    assert told == answer or isinstance(told, Stream)
    assert desk.to_close() == []


def test_opening_beyond_a_limit_again_and_again_ends_the_connection() -> None:
    desk = Desk(max_streams=1, max_cancels=3)
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    for number in (2, 3, 4):
        desk.first(client, number)
    assert desk.to_close() == []
    desk.first(client, 5)
    assert desk.to_close() == [("c", 1008)]
    assert desk.switch.counts["clients that were sent away"] == 1


def test_closing_unanswered_streams_again_and_again_ends_the_connection() -> None:
    desk = Desk(max_cancels=2)
    client, _ = desk.client(), desk.service()
    for number in (1, 2, 3):
        stream = desk.opens(client, number)
        desk.answers("s", stream.hub_id, MESSAGE)
        desk.says(client, number, COMMAND, CLOSE)
    for number in (4, 5):
        desk.opens(client, number)
        desk.says(client, number, COMMAND, CLOSE)
    assert desk.to_close() == []
    stream = desk.opens(client, 6)
    assert desk.says(client, 6, COMMAND, CLOSE) is stream
    assert desk.to_close() == [("c", 1008)]


def test_small_faults_in_crowds_end_the_connection() -> None:
    desk = Desk(max_strikes=3)
    client = desk.client()
    for _ in range(3):
        desk.says(client, 1, STREAM_ERROR, 1)
    assert desk.to_close() == []
    desk.now += 10
    for _ in range(3):
        desk.says(client, 1, STREAM_ERROR, 1)
    assert desk.to_close() == []
    desk.says(client, 1, STREAM_ERROR, 1)
    assert desk.to_close() == [("c", 1008)]
    assert len(desk.to_clients()) == 7, "each was answered"
    assert desk.says(client, 1, STREAM_ERROR, 1) == "bad_frame: the connection is being closed"
    assert (desk.take(), desk.to_close()) == (([], []), [])


def test_frames_to_a_stream_that_has_just_ended_are_no_fault() -> None:
    desk = Desk(max_strikes=1)
    client, _ = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    desk.answers("s", stream.hub_id, LAST)
    desk.to_clients()
    desk.now += 4.99
    for _ in range(3):
        assert desk.says(client, 1, MESSAGE) == "stream_not_found: no stream 1 is open here"
    assert desk.to_clients() == 3 * [("c", 1, "STREAM_NOT_FOUND")]
    desk.now += 0.01
    desk.says(client, 1, MESSAGE)
    assert desk.to_close() == []
    desk.says(client, 1, MESSAGE)
    assert desk.to_close() == [("c", 1008)]


@pytest.mark.parametrize("service", [7, 8])
def test_frames_that_follow_a_refused_first_frame_are_no_fault(service: int) -> None:
    desk = Desk(max_strikes=1, max_streams=1)
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    if service == 8:
        desk.answers("s", FIRST_ID, LAST)
        desk.now += 100
    desk.first(client, 2, service=service)
    for _ in range(5):
        desk.says(client, 2, MESSAGE)
    assert desk.to_close() == []


STRIKES = {
    "a state that is not a client's": (9, STREAM_ERROR, 1, b""),
    "a state that is not in use": (9, 5, 0, b""),
    "a first frame cut short": (9, FIRST, 1, b"\0"),
    "a configuration cut short": (0, FIRST, 0, b"\2"),
    "a configuration of the other version": (0, FIRST, 0, b"\1" + bytes(6)),
    "a message on stream 0": (0, MESSAGE, 0, b""),
    "a PING on a stream": (1, COMMAND, PING, b""),
    "a used number": (1, FIRST, 1, b"\0\7"),
    "a frame after the last": (2, MESSAGE, 0, b""),
    "a stream that is not there": (9, MESSAGE, 0, b""),
}


@pytest.mark.parametrize("what", STRIKES)
def test_a_small_fault_is_counted(what: str) -> None:
    """[HUB-13.2] [HUB-14.1]"""
    desk = Desk(max_strikes=1)
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.opens(client, 2)
    desk.says(client, 2, LAST)
    for closed in ([], [("c", 1008)]):
        desk.says(client, *STRIKES[what])
        assert desk.to_close() == closed
    refused = sum(count for what, count in desk.switch.counts.items() if what.endswith("to clients"))
    assert refused == 2


@pytest.mark.parametrize(
    ("service", "settings"),
    [(8, {}), (7, {"max_service_streams": 1}), (7, {"held_bytes_in_all": 70})],
    ids=["not found", "busy", "too much waits"],
)
def test_what_is_no_fault_of_the_clients_is_not_counted(service: int, settings: dict[str, int]) -> None:
    """[HUB-14.1]"""
    desk = Desk(max_strikes=1, max_cancels=1, **settings)
    client, slow, _ = desk.client(), desk.client("slow"), desk.service()
    stream = desk.opens(slow, 1)
    slow.is_full = True
    desk.answers("s", stream.hub_id, MESSAGE)
    desk.deliver()
    for number in range(1, 20):
        assert isinstance(desk.first(client, number, service=service), str)
    assert desk.to_close() == []


def test_a_users_own_limit_is_asked_before_a_stream_is_opened() -> None:
    """One account may have many clients; the hub only asks."""
    desk = Desk()
    client = desk.client()
    desk.service()
    client.refusal = lambda _now: ""
    assert isinstance(desk.first(client, 1), Stream)
    client.refusal = lambda _now: "over 5 requests a second for user 7"
    assert desk.first(client, 2) == "limit: over 5 requests a second for user 7"
