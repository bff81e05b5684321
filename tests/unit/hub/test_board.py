"""Streams come into all tables and go from all; both sides are told, once."""

import pytest

from framehub.codes import CloseCode, HubError
from framehub.hub.board import cost
from tests.unit.hub.desk import CLOSE, COMMAND, FIRST_ID, LAST, MESSAGE, SERVICE_ERROR, Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_killed_stream_tells_both_sides_once(desk: Desk) -> None:
    """[HUB-10.1]"""
    client, instance = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    desk.agree()
    desk.switch._board.kill(stream, HubError.TIMEOUT, "late", desk.now)
    assert desk.take() == ([("c", 1, "TIMEOUT")], [("s", FIRST_ID, "TIMEOUT")])
    assert (client.streams, instance.streams, desk.switch.streams, desk.switch.timers) == ({}, {}, {}, 0)
    assert desk.switch.counts["killed: timeout"] == 1
    assert stream.is_over


@pytest.mark.parametrize("side", ["client", "service"])
def test_a_side_that_is_not_there_is_not_told(desk: Desk, side: str) -> None:
    desk.service()
    stream = desk.opens(desk.client(), 1)
    desk.switch._board.kill(stream, HubError.INTERNAL, "", desk.now, **{side: False})
    told = {"client": [("c", 1, "INTERNAL")], "service": [("s", FIRST_ID, "INTERNAL")]}
    told[side] = []
    assert desk.take() == (told["client"], told["service"])


def test_a_closed_stream_is_closed_on_both_sides(desk: Desk) -> None:
    desk.service()
    stream = desk.opens(desk.client(), 1)
    desk.switch._board.close(stream, desk.now)
    assert desk.take() == ([("c", 1, "CLOSE", b"")], [("s", FIRST_ID, "CLOSE", b"")])
    desk.agree()


def test_a_client_is_sent_away_once_and_its_streams_end_at_once(desk: Desk) -> None:
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.opens(client, 2)
    for why in ("first", "second"):
        desk.switch._board.send_away(client, CloseCode.POLICY, why, desk.now)
    assert desk.switch.to_close == [(client, 1008, "first")]
    told = [("s", FIRST_ID, "CLIENT_DISCONNECT"), ("s", FIRST_ID + 1, "CLIENT_DISCONNECT")]
    assert desk.take() == ([], told)
    desk.leaves(client)
    assert desk.take() == ([], []), "they were told already"
    desk.agree()


def test_no_two_pings_are_the_same(desk: Desk) -> None:
    board = desk.switch._board
    assert [board.ping().body for _ in range(2)] == [bytes(7) + b"\1", bytes(7) + b"\2"]


def test_a_service_that_does_not_read_is_not_told_of_its_faults(desk: Desk) -> None:
    client, instance = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.says(client, 1, MESSAGE)
    desk.deliver(instance)
    assert desk.answers("s", 99, MESSAGE) == "stream_not_found: no stream 99 is open here"
    assert desk.to_services() == []
    assert desk.switch.counts["stream_not_found to services"] == 1


def test_what_waits_costs_its_bytes_and_something_for_being_there() -> None:
    assert cost(b"") == 64
    assert cost(b"12345") == 69


def test_frames_of_ended_streams_never_come_first(desk: Desk) -> None:
    """Whatever is first may be sent: it is of a live stream, or says that one is over."""
    client, instance = desk.client(), desk.service()
    for number in (1, 2, 3):
        desk.opens(client, number)
    for number in (1, 2, 1, 3, 2):
        desk.says(client, number, MESSAGE, body=b"%d" % number)
    desk.deliver(instance)
    assert [body for _, _, _, body in desk.waits_for(instance)] == [b"1", b"2", b"1", b"3", b"2"]
    desk.answers("s", FIRST_ID, LAST)
    assert [body for _, _, _, body in desk.waits_for(instance)] == [b"2", b"1", b"3", b"2"]
    desk.answers("s", FIRST_ID + 1, LAST)
    assert [body for _, _, _, body in desk.waits_for(instance)] == [b"3", b"2"]
    assert client.waiting_bytes == cost(b"123456" + b"3")
    desk.wait(0.25)
    assert [body for _, _, _, body in desk.waits_for(instance)] == [b"3"], "the others go at the next look"
    desk.agree()
    desk.answers("s", FIRST_ID + 2, LAST)
    assert (desk.waits_for(instance), desk.switch.stuck, instance.is_stuck) == ([], {}, False)
    desk.agree()


def test_that_a_stream_is_over_is_no_frame_of_an_ended_stream(desk: Desk) -> None:
    client, instance = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.opens(client, 2)
    desk.says(client, 1, MESSAGE)
    desk.says(client, 2, MESSAGE)
    desk.says(client, 1, COMMAND, CLOSE)
    desk.deliver(instance)
    assert desk.waits_for(instance) == [
        (FIRST_ID + 1, "MESSAGE", 0, b""),
        (FIRST_ID, "CLOSE", b""),
    ]
    desk.says(client, 2, COMMAND, CLOSE)
    assert desk.waits_for(instance) == [(FIRST_ID, "CLOSE", b"")]
    desk.agree()


def test_who_counts_is_told_how_each_stream_ended_and_after_how_long(desk: Desk) -> None:
    client, _ = (
        desk.client(),
        desk.service(interface=b'{"name": "w", "functions": [{"number": 1, "name": "f"}]}'),
    )
    desk.opens(client, 9)
    desk.answers("s", FIRST_ID, LAST)
    ended = desk.switch.endings()
    assert desk.switch.endings() is ended == [], "nobody counted before"
    for stream in range(1, 5):
        desk.opens(client, stream)
    desk.now += 2.0
    desk.answers("s", FIRST_ID + 1, LAST)
    desk.answers("s", FIRST_ID + 2, SERVICE_ERROR)
    desk.says(client, 3, COMMAND, CLOSE)
    desk.leaves(client)
    how = ("LAST", "SERVICE_ERROR", "COMMAND", "CLIENT_DISCONNECT")
    assert ended == [("w.f", one, 2.0) for one in how]


def test_a_stream_that_finds_no_room_counts_too() -> None:
    desk = Desk(max_service_streams=1)
    desk.service()
    client, ended = desk.client(), desk.switch.endings()
    desk.opens(client, 1)
    assert desk.first(client, 2) == "busy: service 7 is full or takes nothing"
    assert ended == [("7", "BUSY", 0.0)]
