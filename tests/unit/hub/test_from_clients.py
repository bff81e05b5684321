"""What clients say: each frame is passed on, or answered with an error that says why not."""

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
    PONG,
    READY,
    SERVICE_ERROR,
    STREAM_ERROR,
    Desk,
    frame,
)

BOTH = pytest.mark.parametrize(("version", "hub_id"), [(1, 1), (2, FIRST_ID)])


# --- messages -------------------------------------------------------------------------------------------


@BOTH
def test_a_stream_is_opened_and_carries_messages(client_version: int, version: int, hub_id: int) -> None:
    """The service sees the hub's number and the client's user, never the client's bytes for it."""
    desk = Desk()
    client = desk.client(version=client_version, user=513)
    desk.service(version=version)
    stream = desk.first(client, 5, function=3, body=b"hi")
    assert isinstance(stream, Stream)
    assert (stream.id, stream.hub_id, stream.service, stream.function) == (5, hub_id, 7, 3)
    assert desk.says(client, 5, MESSAGE, 9, b"more") is stream
    assert desk.says(client, 5, LAST, 8, b"done") is stream
    assert desk.take() == (
        [],
        [
            ("s", hub_id, "FIRST", 3, 513, b"hi"),
            ("s", hub_id, "MESSAGE", 9, b"more"),
            ("s", hub_id, "LAST", 8, b"done"),
        ],
    )
    desk.agree()


def test_a_message_may_be_seen_through_a_memoryview() -> None:
    desk = Desk()
    client, _ = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    assert desk.switch.client_says(client, memoryview(frame(2, 1, MESSAGE, 4) + b"x"), desk.now) is stream
    assert desk.switch.client_says(client, memoryview(frame(2, 1, LAST, 4) + b"y"), desk.now) is stream
    assert desk.to_services() == [("s", FIRST_ID, "MESSAGE", 4, b"x"), ("s", FIRST_ID, "LAST", 4, b"y")]


def test_after_its_last_frame_a_client_may_only_close(client_version: int) -> None:
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    stream = desk.opens(client, 1)
    desk.says(client, 1, LAST)
    desk.take()
    for state in (MESSAGE, LAST):
        assert desk.says(client, 1, state) == "bad_frame: stream 1 had its last frame"
    assert desk.take() == ([("c", 1, "BAD_FRAME"), ("c", 1, "BAD_FRAME")], [])
    assert not stream.is_over
    assert desk.says(client, 1, COMMAND, CLOSE) is stream
    assert desk.take() == ([("c", 1, "CLOSE", b"")], [("s", FIRST_ID, "CLOSE", b"")])


def test_the_oldest_frame_without_an_answer_counts(client_version: int) -> None:
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    stream = desk.opens(client, 1)
    desk.answers("s", stream.hub_id, MESSAGE)
    assert stream.deadline == desk.now + 30
    desk.now += 1
    desk.says(client, 1, MESSAGE)
    desk.now += 1
    desk.says(client, 1, MESSAGE)
    desk.says(client, 1, LAST)
    assert (stream.deadline, stream.last) == (desk.now + 29, desk.now)
    desk.answers("s", stream.hub_id, MESSAGE)
    assert stream.deadline == desk.now + 30, "one frame answers all"


# --- opening --------------------------------------------------------------------------------------------


def test_a_number_is_used_once_on_its_connection(client_version: int) -> None:
    """[HUB-7.3] Open or closed, taken or refused: it is not opened again, and the open one is as it was."""
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    stream = desk.opens(client, 1)
    assert desk.first(client, 1) == "ws_stream_collision: stream 1 was used before"
    assert not stream.is_over
    desk.answers("s", stream.hub_id, LAST)
    desk.first(client, 2, service=8)
    desk.take()
    for number in (1, 2):
        desk.first(client, number)
    assert desk.take() == ([("c", 1, "WS_STREAM_COLLISION"), ("c", 2, "WS_STREAM_COLLISION")], [])
    other = desk.client("other", version=client_version)
    assert isinstance(desk.first(other, 1), Stream), "another connection has numbers of its own"


def test_a_service_that_nobody_offers_is_not_found(client_version: int) -> None:
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    assert desk.first(client, 1, service=8) == "endpoint_not_found: nobody offers service 8"
    assert desk.take() == ([("c", 1, "ENDPOINT_NOT_FOUND")], [])
    desk.agree()


def test_a_service_that_said_goodbye_is_not_found() -> None:
    desk = Desk()
    client, _ = desk.client(), desk.service()
    desk.answers("s", 0, COMMAND, CLOSE)
    assert desk.first(client, 1) == "endpoint_not_found: nobody offers service 7"


def test_a_stream_goes_to_the_instance_with_the_fewest() -> None:
    desk = Desk()
    client = desk.client()
    for name in ("a", "b", "c"):
        desk.service(name)
    assert [desk.opens(client, number).instance.identity for number in range(1, 6)] == [  # type: ignore[union-attr]
        b"a", b"b", b"c", b"a", b"b",
    ]  # fmt: skip
    desk.answers("b", FIRST_ID + 1, LAST)
    desk.answers("b", FIRST_ID + 4, LAST)
    assert desk.opens(client, 6).instance is desk.switch.instances[b"b"]


def test_a_full_service_is_busy() -> None:
    """At its limit, and with one more."""
    desk = Desk(max_service_streams=2)
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.opens(client, 2)
    assert desk.first(client, 3) == "busy: service 7 is full or takes nothing"
    assert desk.to_clients() == [("c", 3, "BUSY")]
    desk.service("other")
    desk.opens(client, 4)


def test_a_service_that_takes_nothing_is_busy() -> None:
    desk = Desk()
    client, instance = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.says(client, 1, MESSAGE)
    desk.deliver(instance)
    assert desk.first(client, 2) == "busy: service 7 is full or takes nothing"


def test_a_v1_service_without_a_free_number_is_busy() -> None:
    desk = Desk()
    client, _ = desk.client(), desk.service(version=1)
    desk.switch._board.numbers._fresh = 2**20
    assert desk.first(client, 1) == "busy: service 7 is full or takes nothing"
    desk.agree()


def test_a_hub_that_stops_opens_nothing() -> None:
    desk = Desk()
    client, _ = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    desk.switch.drain()
    assert desk.first(client, 2) == "busy: the hub is stopping"
    assert desk.says(client, 1, MESSAGE) is stream, "what is open goes on"


@pytest.mark.parametrize(
    ("asked", "configured", "of_service", "timeout"),
    [
        (5_000, 6_000, 7_000, 5.0),
        (0, 6_000, 7_000, 6.0),
        (0, 0, 7_000, 7.0),
        (0, 0, 0, 30.0),
        (999, 0, 0, 1.0),
        (2**32 - 1, 0, 0, 3_600.0),
    ],
)
def test_whose_timeout_counts(asked: int, configured: int, of_service: int, timeout: float) -> None:
    """[HUB-9.2]"""
    desk = Desk()
    client, _ = desk.client(version=1), desk.service(timeout_ms=of_service)
    record = b"\1" + configured.to_bytes(4, "big") + b"\0\0"
    desk.says(client, 0, FIRST, 0, record)
    assert desk.opens(client, 1, timeout_ms=asked).timeout == timeout


def test_the_record_of_a_v1_stream_has_the_links_version() -> None:
    desk = Desk()
    client, _ = desk.client(version=1), desk.service()
    told = desk.says(client, 1, FIRST, 3, b"\2" + bytes(4) + b"\0\7")
    assert told == "bad_frame: this link speaks version 1, not 2"
    assert desk.take() == ([("c", 1, "BAD_FRAME")], [])
    desk.opens(client, 1)


# --- what is not lawful ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 3, 5])
def test_a_frame_shorter_than_its_header_ends_the_connection(client_version: int, size: int) -> None:
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    desk.opens(client, 1)
    size = min(size, 3) if client_version == 1 else size
    assert desk.sends(client, bytes(size)) == f"bad_frame: a frame of {size} bytes"
    assert desk.to_close() == [("c", 1002)]
    assert [told[2] for told in desk.to_services()] == ["CLIENT_DISCONNECT"]


@pytest.mark.parametrize("state", [*range(1, 11), 11, 13, 16, 255])
def test_other_states_are_answered_on_their_stream(client_version: int, state: int) -> None:
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    stream = desk.opens(client, 9)
    if client_version == 1 and state > 15:
        return
    told = desk.says(client, 9, state, 1)
    assert isinstance(told, str)
    assert told.startswith("bad_frame: ")
    assert desk.take() == ([("c", 9, "BAD_FRAME")], [])
    assert not stream.is_over


def test_a_state_of_services_or_of_the_hub_is_named() -> None:
    desk = Desk()
    client = desk.client()
    assert desk.says(client, 1, SERVICE_ERROR) == "bad_frame: a client does not send SERVICE_ERROR"
    assert desk.says(client, 1, STREAM_ERROR, 1) == "bad_frame: a client does not send STREAM_ERROR"


def test_a_first_frame_cut_short_opens_nothing_and_uses_no_number(client_version: int) -> None:
    """At the last byte that is missing, and with it."""
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    between = b"\0\7" if client_version == 2 else b"\1" + bytes(4) + b"\0\7"
    told = desk.says(client, 1, FIRST, 1, between[:-1])
    assert isinstance(told, str)
    assert told.startswith("bad_frame: cut short inside")
    assert desk.take() == ([("c", 1, "BAD_FRAME")], [])
    assert isinstance(desk.says(client, 1, FIRST, 1, between), Stream)


@pytest.mark.parametrize("command", [PING, PONG, READY])
def test_commands_of_the_link_do_not_belong_on_a_stream(client_version: int, command: int) -> None:
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    desk.opens(client, 1)
    for number in (1, 2):
        told = desk.says(client, number, COMMAND, command)
        assert told == f"bad_frame: no {command.name} on stream {number}"  # type: ignore[attr-defined]
    assert desk.take() == ([("c", 1, "BAD_FRAME"), ("c", 2, "BAD_FRAME")], [])


def test_a_client_reaches_only_streams_of_its_own(client_version: int) -> None:
    """[HUB-7.2] A stream of somebody else is as one that is not there."""
    desk = Desk()
    one, other, _ = desk.client("one"), desk.client("other", version=client_version), desk.service()
    stream = desk.opens(one, 1)
    for state, parameter in ((MESSAGE, 0), (LAST, 0), (COMMAND, CLOSE)):
        assert desk.says(other, 1, state, parameter) == "stream_not_found: no stream 1 is open here"
    assert desk.take() == (3 * [("other", 1, "STREAM_NOT_FOUND")], [])
    assert not stream.is_over


def test_closing_is_done_once(client_version: int) -> None:
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    stream = desk.opens(client, 1)
    desk.opens(client, 2)
    assert desk.says(client, 1, COMMAND, CLOSE, b"ignored") is stream
    assert desk.take() == ([("c", 1, "CLOSE", b"")], [("s", FIRST_ID, "CLOSE", b"")])
    assert desk.says(client, 1, COMMAND, CLOSE) == "stream_not_found: no stream 1 is open here"
    assert desk.take() == ([("c", 1, "STREAM_NOT_FOUND")], [])
    desk.agree()


# --- behind with reading --------------------------------------------------------------------------------


def test_an_error_comes_after_what_waits_on_its_stream() -> None:
    desk = Desk()
    client, _ = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    client.is_full = True
    desk.answers("s", stream.hub_id, MESSAGE, body=b"a")
    desk.answers("s", stream.hub_id, LAST, body=b"b")
    desk.deliver()
    desk.says(client, 1, MESSAGE)
    desk.says(client, 1, MESSAGE)
    desk.deliver()
    assert desk.held_for(client) == [
        (1, "MESSAGE", 0, b"a"),
        (1, "LAST", 0, b"b"),
        (1, "STREAM_NOT_FOUND"),
    ], "and one answers both"
    desk.agree()
