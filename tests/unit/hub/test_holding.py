"""Those who are behind with reading: what waits is bounded, and one stream does not hold up others."""

import pytest

from framehub.hub.holding import MOST_NOTICES
from framehub.hub.parties import Client, Instance, Stream
from tests.unit.hub.desk import CLOSE, COMMAND, FIRST_ID, LAST, MESSAGE, PING, Desk

COST = 64 + 6


def full_client(desk: Desk, *numbers: int, version: int = 2) -> Client:
    """A client with these streams, whose link takes nothing more."""
    client = desk.client(version=version)
    for number in numbers:
        desk.opens(client, number)
    client.is_full = True
    return client


# --- clients --------------------------------------------------------------------------------------------


def test_streams_take_turns() -> None:
    """[HUB-12.1]"""
    desk = Desk()
    desk.service()
    client = full_client(desk, 1, 2)
    for body in (b"a", b"b", b"c"):
        desk.answers("s", FIRST_ID, MESSAGE, body=body)
    desk.answers("s", FIRST_ID + 1, LAST, body=b"x")
    desk.deliver()
    assert client.held_bytes == 4 * (COST + 1)
    desk.agree()
    assert [(told[0], told[3]) for told in desk.held_for(client)] == [
        (1, b"a"),
        (2, b"x"),
        (1, b"b"),
        (1, b"c"),
    ]
    assert (client.held_bytes, desk.switch.held_bytes) == (0, 0)
    assert desk.switch.next_held(client) is None


def test_so_much_waits_on_a_stream_and_no_more() -> None:
    """[HUB-12.2] At the limit, and with one byte more: the stream is killed, and both sides are told once."""
    desk = Desk(held_bytes=3 * (COST + 10))
    desk.service()
    client = full_client(desk, 1, 2)
    for _ in range(3):
        desk.answers("s", FIRST_ID, MESSAGE, body=bytes(10))
    desk.deliver()
    desk.agree()
    assert client.streams[1].held_bytes == 3 * (COST + 10)
    desk.answers("s", FIRST_ID, MESSAGE, body=b"")
    desk.answers("s", FIRST_ID, MESSAGE, body=b"")
    desk.answers("s", FIRST_ID + 1, MESSAGE, body=b"other")
    desk.deliver()
    assert set(client.streams) == {2}
    assert sorted(desk.held_for(client)) == [(1, "LIMIT"), (2, "MESSAGE", 0, b"other")]
    desk.agree()


def test_a_service_learns_at_once_that_its_stream_was_killed() -> None:
    desk = Desk(held_bytes=COST + 10)
    desk.service()
    client = full_client(desk, 1)
    stream = client.streams[1]
    desk.switch.hold(client, bytes(10), stream, desk.now)
    desk.switch.hold(client, bytes(10), stream, desk.now)
    assert desk.to_services() == [("s", FIRST_ID, "LIMIT")]


def test_the_first_frame_that_waits_may_be_of_any_size() -> None:
    desk = Desk(held_bytes=100, held_bytes_client=200)
    desk.service()
    client = full_client(desk, 1, 2)
    desk.answers("s", FIRST_ID, LAST, body=bytes(1_000))
    desk.deliver()
    assert [told[:2] for told in desk.held_for(client)] == [(1, "LAST")]


def test_so_much_waits_for_a_client_and_no_more() -> None:
    desk = Desk(held_bytes_client=2 * (COST + 10))
    desk.service()
    client = full_client(desk, 1, 2, 3)
    for at in range(3):
        desk.answers("s", FIRST_ID + at, MESSAGE, body=bytes(10))
    desk.deliver()
    assert [told[:2] for told in desk.held_for(client)] == [(1, "MESSAGE"), (2, "MESSAGE"), (3, "LIMIT")]
    assert set(client.streams) == {1, 2}


def test_so_much_waits_for_all_and_no_more() -> None:
    desk = Desk(held_bytes_in_all=2 * (COST + 10))
    desk.service()
    one, other = full_client(desk, 1), full_client(desk, 1, 2)
    for at in range(3):
        desk.answers("s", FIRST_ID + at, MESSAGE, body=bytes(10))
    desk.deliver()
    assert [told[:2] for told in desk.held_for(one)] == [(1, "MESSAGE")]
    assert [told[:2] for told in desk.held_for(other)] == [(1, "MESSAGE"), (2, "LIMIT")]


def test_whoever_is_furthest_behind_makes_room_for_others() -> None:
    """Open streams and those that had their last frame; of what is cut already only the error waits on."""
    desk = Desk(held_bytes_in_all=5 * (COST + 10))
    desk.service()
    far, near = full_client(desk, 1, 2, 3), full_client(desk, 1)
    for at, state in enumerate((MESSAGE, LAST, MESSAGE, MESSAGE)):
        desk.answers("s", FIRST_ID + at, state, body=bytes(10))
    desk.deliver()
    desk.answers("s", FIRST_ID, MESSAGE, body=bytes(10))
    desk.says(far, 3, COMMAND, CLOSE)
    desk.deliver()
    assert desk.switch.held_bytes > 4 * (COST + 10)
    desk.answers("s", FIRST_ID + 3, MESSAGE, body=bytes(10))
    desk.deliver()
    assert [told[:2] for told in desk.held_for(near)] == [(1, "MESSAGE"), (1, "MESSAGE")]
    assert sorted(told[:2] for told in desk.held_for(far)) == [(1, "LIMIT"), (2, "LIMIT"), (3, "CLOSE")]
    assert (set(far.streams), set(near.streams)) == (set(), {1})
    desk.agree()


def test_a_stream_that_had_its_last_frame_can_still_be_too_much() -> None:
    """Then the client gets the error instead of what waited; the service is done, and hears nothing."""
    desk = Desk(held_bytes=2 * COST)
    desk.service()
    client = full_client(desk, 1)
    for state in (MESSAGE, MESSAGE, MESSAGE, LAST):
        desk.answers("s", FIRST_ID, state)
    desk.deliver()
    assert desk.held_for(client) == [(1, "LIMIT")]
    assert desk.to_services() == []
    desk.agree()


@pytest.mark.parametrize("version", [1, 2])
def test_what_waits_of_a_killed_stream_is_not_sent(version: int) -> None:
    desk = Desk()
    desk.service()
    client = full_client(desk, 1, version=version)
    stream = client.streams[1]
    desk.answers("s", FIRST_ID, MESSAGE, body=b"a")
    desk.deliver()
    desk.answers("s", FIRST_ID, MESSAGE, body=b"b")
    desk.switch.fail(stream, desk.now)
    desk.deliver()
    assert desk.held_for(client) == [(1, "INTERNAL")]
    desk.agree()


def test_what_waits_of_a_closed_stream_is_not_sent() -> None:
    desk = Desk()
    desk.service()
    client = full_client(desk, 1)
    desk.answers("s", FIRST_ID, MESSAGE, body=b"a")
    desk.deliver()
    desk.says(client, 1, COMMAND, CLOSE)
    desk.deliver()
    assert desk.held_for(client) == [(1, "CLOSE", b"")]


def test_that_a_stream_is_over_is_said_however_much_waits() -> None:
    desk = Desk(held_bytes_client=COST, held_bytes=COST, held_bytes_in_all=COST)
    desk.service()
    client = full_client(desk, 1, 2, 3)
    for number in (1, 2, 3):
        desk.switch.fail(client.streams[number], desk.now)
    desk.deliver()
    assert desk.held_for(client) == [(1, "INTERNAL"), (2, "INTERNAL"), (3, "INTERNAL")]


def test_nothing_waits_for_a_client_that_has_gone() -> None:
    desk = Desk()
    desk.service()
    client = full_client(desk, 1)
    stream = client.streams[1]
    desk.answers("s", FIRST_ID, MESSAGE, body=b"a")
    desk.deliver()
    desk.leaves(client)
    desk.switch.hold(client, bytes(10), stream, desk.now)
    assert (client.held, client.held_bytes, desk.switch.held_bytes) == ({}, 0, 0)


# --- services -------------------------------------------------------------------------------------------


def stuck(desk: Desk, *bodies: bytes, client: str = "c") -> tuple[Client, Instance, Stream]:
    """A stream whose service takes nothing: these messages wait."""
    instance = desk.switch.instances.get(b"s") or desk.service()
    asking = desk.client(client)
    stream = desk.opens(asking, 1)
    for body in bodies:
        desk.says(asking, 1, MESSAGE, body=body)
    desk.deliver(instance)
    return asking, instance, stream


def test_what_a_service_does_not_take_waits_in_order() -> None:
    desk = Desk()
    client, instance, stream = stuck(desk, b"a", b"b")
    desk.says(client, 1, LAST, body=b"c")
    desk.deliver()
    assert [told[3] for told in desk.waits_for(instance)] == [b"a", b"b", b"c"]
    assert (desk.switch.stuck, instance.stuck_since) == ({b"s": instance}, desk.now)
    assert client.waiting_bytes == stream.waiting_bytes == 3 * (COST + 1)
    desk.agree()
    for left in (2, 1, 0):
        desk.switch.sent(instance)
        assert stream.waiting_bytes == left * (COST + 1)
        desk.agree()
    assert not instance.is_stuck


def test_a_first_frame_does_not_wait() -> None:
    """A service that takes nothing now is busy."""
    desk = Desk()
    client, instance = desk.client(), desk.service()
    desk.first(client, 1)
    desk.says(client, 1, MESSAGE)
    desk.deliver(instance)
    assert (instance.held, instance.is_stuck, client.streams) == (instance.held.__class__(), False, {})
    assert desk.switch.counts["killed: busy"] == 1
    desk.agree()


def test_the_client_of_a_first_frame_that_was_not_taken_is_told() -> None:
    desk = Desk()
    client, instance = desk.client(), desk.service()
    desk.first(client, 1)
    ((_, data, stream),) = desk.switch.to_services
    desk.to_services()
    desk.switch.hold_for_service(instance, data, stream, desk.now)
    assert desk.take() == ([("c", 1, "BUSY")], [])


def test_so_much_waits_on_a_stream_for_a_service_and_no_more() -> None:
    desk = Desk(held_bytes=2 * (COST + 10))
    client, instance, stream = stuck(desk, bytes(10), bytes(10))
    desk.agree()
    assert not stream.is_over
    desk.says(client, 1, MESSAGE)
    desk.deliver(instance)
    assert stream.is_over
    assert desk.waits_for(instance) == [(FIRST_ID, "BUSY")]
    assert client.waiting_bytes == 0
    desk.agree()


def test_a_frame_larger_than_that_waits_if_nothing_does_before_it() -> None:
    desk = Desk(held_bytes=100)
    _, instance, stream = stuck(desk, bytes(1_000))
    assert not stream.is_over
    assert len(instance.held) == 1


def test_so_much_waits_for_all_services_and_no_more() -> None:
    desk = Desk(held_bytes_in_all=2 * (COST + 10))
    client, _, stream = stuck(desk, bytes(10), bytes(10))
    assert not stream.is_over
    desk.says(client, 1, MESSAGE)
    desk.deliver()
    assert stream.is_over


def test_a_client_for_which_much_waits_is_not_read_for_a_while() -> None:
    """[HUB-12.4] Who does not read is not read."""
    desk = Desk(pause_bytes=4 * (COST + 10))
    desk.service()
    client = full_client(desk, 1)
    for _ in range(4):
        desk.answers("s", FIRST_ID, MESSAGE, body=bytes(10))
    desk.deliver()
    assert desk.switch.to_pause == []
    for _ in range(2):
        desk.answers("s", FIRST_ID, MESSAGE, body=bytes(10))
    desk.deliver()
    assert (desk.switch.to_pause, client.is_paused) == ([client], True)
    for _ in range(3):
        desk.switch.next_held(client)
    assert desk.switch.to_resume == []
    desk.switch.next_held(client)
    assert (desk.switch.to_resume, client.is_paused) == ([client], False)


def test_a_client_whose_frames_wait_is_not_read_for_a_while() -> None:
    """[HUB-12.4] More than the mark, then half of it or less."""
    desk = Desk(pause_bytes=4 * (COST + 10))
    client, instance, _ = stuck(desk, *(4 * [bytes(10)]))
    assert desk.switch.to_pause == []
    for _ in range(2):
        desk.says(client, 1, MESSAGE, body=bytes(10))
        desk.deliver()
    assert desk.switch.to_pause == [client]
    assert client.is_paused
    for _ in range(3):
        desk.switch.sent(instance)
    assert desk.switch.to_resume == []
    desk.switch.sent(instance)
    assert (desk.switch.to_resume, client.is_paused) == ([client], False)


def test_a_client_that_goes_is_not_read_again() -> None:
    desk = Desk(pause_bytes=COST)
    client, _, _ = stuck(desk, bytes(10))
    assert client.is_paused
    desk.leaves(client)
    assert (desk.switch.to_resume, desk.switch.held_bytes, client.waiting_bytes) == ([], 0, 0)


def test_a_client_is_read_again_when_its_stream_ends() -> None:
    desk = Desk(pause_bytes=COST)
    client, _, stream = stuck(desk, bytes(10))
    desk.answers("s", stream.hub_id, LAST)
    assert desk.switch.to_resume == [client]


def test_frames_that_wait_too_long_kill_their_streams() -> None:
    """[HUB-12.3] At the time, and a look before; only those that have waited so long."""
    desk = Desk(max_service_streams=2)
    client, instance = desk.client(), desk.service()
    streams = [desk.opens(client, number) for number in (1, 2)]
    desk.says(client, 1, MESSAGE, body=b"a")
    desk.says(client, 1, MESSAGE, body=b"b")
    desk.deliver(instance)
    desk.answers("s", 0, COMMAND, PING)
    desk.deliver()
    desk.wait(0.25)
    desk.says(client, 2, MESSAGE)
    desk.wait(1.5)
    desk.deliver()
    assert [stream.is_over for stream in streams] == [False, False]
    desk.wait(0.25)
    assert [stream.is_over for stream in streams] == [True, False]
    assert ("c", 1, "BUSY") in desk.to_clients()
    assert [told[1] for told in desk.waits_for(instance)] == ["PONG", "MESSAGE", "PING"]
    desk.agree()


def test_after_a_sleep_of_ours_a_service_has_time_to_take_what_waits() -> None:
    desk = Desk()
    _, _, stream = stuck(desk, b"a")
    desk.sleep(3.0)
    assert not stream.is_over
    desk.wait(0.75)
    assert not stream.is_over
    desk.wait(0.25)
    assert stream.is_over


def test_what_is_about_the_link_waits_as_long_as_there_is_room() -> None:
    desk = Desk()
    instance = desk.service()
    for _ in range(MOST_NOTICES):
        desk.answers("s", 0, COMMAND, PING)
    desk.deliver(instance)
    assert len(instance.held) == MOST_NOTICES
    desk.answers("s", 0, COMMAND, PING)
    desk.deliver(instance)
    assert len(instance.held) == MOST_NOTICES
    assert desk.switch.counts["not said to services that do not read"] == 1
    desk.switch.sent(instance)
    desk.agree()


def test_nothing_waits_for_a_service_that_has_gone() -> None:
    desk = Desk(pause_bytes=COST)
    client, instance, stream = stuck(desk, b"a", b"bc")
    desk.answers("s", 0, COMMAND, PING)
    desk.deliver()
    desk.switch.service_gone(instance, desk.now)
    assert (instance.held.__len__(), desk.switch.held_bytes, desk.switch.stuck) == (0, 0, {})
    assert (client.waiting_bytes, stream.waiting_bytes) == (0, 0)
    assert desk.switch.to_resume == [client]
    desk.switch.hold_for_service(instance, bytes(10), None, desk.now)
    assert desk.switch.held_bytes == 0
    desk.agree()


def test_nothing_waits_for_somebody_who_is_not_registered() -> None:
    desk = Desk()
    desk.service_sends("x", b"?")
    ((stranger, data, _),) = desk.switch.to_services
    desk.switch.hold_for_service(stranger, data, None, desk.now)
    assert (desk.switch.held_bytes, desk.switch.stuck) == (0, {})
