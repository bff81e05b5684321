"""The switch as a whole: who comes and goes, and the clock."""

import pytest

from framehub.hub.parties import Stream
from tests.unit.hub.desk import CLOSE, COMMAND, FIRST_ID, LAST, MESSAGE, PING, PONG, Desk, frame


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- clients --------------------------------------------------------------------------------------------


def test_a_client_that_leaves_takes_its_streams_with_it(desk: Desk) -> None:
    """[HUB-10.2]"""
    client, other, _ = desk.client(), desk.client("other"), desk.service()
    desk.opens(client, 1)
    desk.opens(client, 2)
    kept = desk.opens(other, 1)
    for _ in range(2):
        desk.leaves(client)
    told = [("s", FIRST_ID, "CLIENT_DISCONNECT"), ("s", FIRST_ID + 1, "CLIENT_DISCONNECT")]
    assert desk.take() == ([], told)
    assert desk.switch.clients == {other}
    assert (client.is_gone, other.is_gone) == (True, False)
    assert list(desk.switch.streams.values()) == [kept]
    desk.agree()


def test_what_a_client_sent_before_it_left_is_not_taken_after(desk: Desk) -> None:
    client, _ = desk.client(), desk.service()
    desk.leaves(client)
    assert desk.first(client, 1) == "bad_frame: the connection is being closed"
    assert desk.take() == ([], [])


@pytest.mark.parametrize("version", [1, 2])
def test_the_stream_of_a_frame_is_found(desk: Desk, version: int) -> None:
    client, _ = desk.client(version=version), desk.service()
    stream = desk.opens(client, 1)
    assert desk.switch.stream_of(client, frame(version, 1, MESSAGE, 0)) is stream
    assert desk.switch.stream_of(client, memoryview(frame(version, 1, 99 & 15, 0))) is stream
    assert desk.switch.stream_of(client, frame(version, 2, MESSAGE, 0)) is None
    assert desk.switch.stream_of(client, b"\0\0\0") is None


@pytest.mark.parametrize("version", [1, 2])
def test_what_comes_behind_a_gap_is_late(desk: Desk, version: int) -> None:
    """[HUB-7.6] What waited is dropped when the stream ends; what was said after it is not sent either."""
    client, instance = desk.client(), desk.service(version=version)
    desk.opens(client, 1)
    desk.says(client, 1, MESSAGE, body=b"waits")
    desk.deliver(instance)
    desk.says(client, 1, MESSAGE, body=b"is put out")
    assert not desk.switch.is_late(*desk.switch.to_services[0])
    desk.says(client, 1, COMMAND, CLOSE)
    desk.answers("s", 0, COMMAND, PING)
    assert not instance.held
    assert [desk.switch.is_late(*entry) for entry in desk.switch.to_services] == [True, False, False]
    assert [told[2] for told in desk.to_services()] == ["MESSAGE", "CLOSE", "PONG"]


def test_what_was_said_just_before_the_end_is_sent_if_nothing_is_missing(desk: Desk) -> None:
    client, _ = desk.client(), desk.service()
    assert isinstance(desk.first(client, 1), Stream)
    desk.says(client, 1, MESSAGE)
    desk.says(client, 1, COMMAND, CLOSE)
    assert [desk.switch.is_late(*entry) for entry in desk.switch.to_services] == [False, False, False]


def test_what_was_for_a_service_that_has_gone_is_late(desk: Desk) -> None:
    """It may be back, and knows nothing of that stream."""
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.says(client, 1, MESSAGE)
    desk.switch.service_disconnected(desk.now)
    desk.configure("s")
    assert [desk.switch.is_late(*entry) for entry in desk.switch.to_services] == [True, False, False]


def test_a_failure_of_ours_ends_one_stream(desk: Desk) -> None:
    """[HUB-10.7]"""
    client, _ = desk.client(), desk.service()
    stream, other = desk.opens(client, 1), desk.opens(client, 2)
    for _ in range(2):
        desk.switch.fail(stream, desk.now)
    assert desk.take() == ([("c", 1, "INTERNAL")], [("s", FIRST_ID, "INTERNAL")])
    assert not other.is_over
    desk.agree()


def test_a_silent_client_is_asked_and_then_let_go(desk: Desk) -> None:
    client, _ = desk.client(), desk.service(interface=b"")
    desk.wait(19.75)
    assert desk.to_clients() == []
    desk.wait(0.25)
    assert [told[:3] for told in desk.to_clients()] == [("c", 0, "PING")]
    desk.wait(19.75)
    assert desk.to_clients() == []
    assert desk.to_close() == []
    desk.wait(3.0)
    assert desk.to_close() == [("c", 1001)], "once"
    assert desk.to_clients() == []
    desk.leaves(client)


def test_silent_clients_are_asked_in_the_order_of_their_links(desk: Desk) -> None:
    """So that the same story is always told in the same way."""
    names = [f"{number:03}" for number in range(50)]
    for name in reversed(names):
        desk.client(name)
    desk.wait(20.0)
    assert [told[0] for told in desk.to_clients()] == names


def test_a_client_that_answers_stays(desk: Desk) -> None:
    client = desk.client()
    for _ in range(4):
        desk.wait(30.0)
        desk.says(client, 0, COMMAND, PONG)
    assert desk.to_close() == []
    assert len(desk.to_clients()) == 4


@pytest.mark.parametrize("flag", ["is_paused", "is_full"])
def test_a_client_that_is_not_read_is_not_dead(desk: Desk, flag: str) -> None:
    """[HUB-9.6]"""
    client = desk.client()
    setattr(client, flag, True)
    desk.wait(100.0)
    assert desk.to_close() == []
    setattr(client, flag, False)
    desk.wait(41.0)
    assert desk.to_close() == [("c", 1001)]


def test_after_a_sleep_of_ours_a_client_has_time_to_answer(desk: Desk) -> None:
    client = desk.client()
    desk.sleep(50.0)
    assert [told[:3] for told in desk.to_clients()] == [("c", 0, "PING")]
    assert desk.to_close() == []
    desk.says(client, 0, COMMAND, PONG)
    desk.wait(5.0)
    assert desk.to_close() == []


# --- services -------------------------------------------------------------------------------------------


def test_when_a_connection_ended_everybody_is_asked(desk: Desk) -> None:
    desk.service("a")
    desk.service("b")
    desk.switch.service_disconnected(desk.now)
    assert [told[:3] for told in desk.to_services()] == [("a", 0, "PING"), ("b", 0, "PING")]


def test_when_many_connections_end_everybody_is_asked_twice_at_most(desk: Desk) -> None:
    desk.service("a")
    for _ in range(100):
        desk.switch.service_disconnected(desk.now)
    assert len(desk.to_services()) == 1
    desk.wait(0.25)
    assert len(desk.to_services()) == 1
    desk.wait(0.25)
    assert desk.to_services() == []


def test_nobody_has_a_name_that_was_not_told(desk: Desk) -> None:
    desk.service()
    assert desk.switch.service_named("") is None
    assert desk.switch.service_named("weather") is None


# --- time -----------------------------------------------------------------------------------------------


def alive(desk: Desk, seconds: float) -> None:
    """Time goes on, and the service shows that it lives."""
    for _ in range(round(4 * seconds)):
        desk.wait(0.25)
        desk.answers("s", 0, COMMAND, PONG)


def test_a_stream_without_an_answer_times_out(desk: Desk) -> None:
    """[HUB-9.3] Since the oldest frame without one, whatever the client says meanwhile."""
    client, _ = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    alive(desk, 29.0)
    desk.says(client, 1, MESSAGE)
    desk.take()
    alive(desk, 0.75)
    assert not stream.is_over
    alive(desk, 0.25)
    assert desk.take() == ([("c", 1, "TIMEOUT")], [("s", FIRST_ID, "TIMEOUT")])
    assert desk.says(client, 1, MESSAGE) == "stream_not_found: no stream 1 is open here"
    desk.agree()


def test_a_stream_where_nothing_is_said_times_out(desk: Desk) -> None:
    client, _ = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    alive(desk, 10.0)
    desk.answers("s", FIRST_ID, MESSAGE)
    alive(desk, 29.75)
    assert not stream.is_over
    alive(desk, 0.25)
    assert stream.is_over
    ((_, data, _),) = [item for item in desk.switch.to_clients if item[1][4] == 13]
    assert data[6:] == b"nothing said for 30 s"


def test_a_stream_in_use_does_not_time_out(desk: Desk) -> None:
    client, _ = desk.client(), desk.service()
    stream = desk.opens(client, 1)
    for _ in range(4):
        alive(desk, 20.0)
        desk.says(client, 1, MESSAGE)
        desk.answers("s", FIRST_ID, MESSAGE)
    assert not stream.is_over
    assert desk.switch.timers == 1


@pytest.mark.parametrize("timeout", [1_000, 1_001, 1_249, 1_300])
def test_a_stream_times_out_within_a_second_after_its_time(desk: Desk, timeout: int) -> None:
    client, _ = desk.client(version=1), desk.service()
    desk.now += 0.1
    stream = desk.opens(client, 1, timeout_ms=timeout)
    opened = desk.now
    while not stream.is_over:
        desk.wait(0.25)
    assert timeout / 1000 <= desk.now - opened < timeout / 1000 + 1


def test_the_time_that_we_slept_is_not_counted_against_anybody(desk: Desk) -> None:
    """[HUB-9.7] First what came meanwhile is read; then what is late is late."""
    client, _ = desk.client(), desk.service()
    stream, other = desk.opens(client, 1), desk.opens(client, 2)
    desk.sleep(100.0)
    assert not stream.is_over
    desk.answers("s", FIRST_ID, LAST)
    assert not other.is_over
    alive(desk, 0.75)
    assert not other.is_over
    alive(desk, 0.5)
    assert [told[2] for told in desk.to_clients() if told[1] == 2] == ["TIMEOUT"]
    assert stream.is_over
    desk.agree()


def test_when_all_have_gone_nothing_is_left() -> None:
    desk = Desk()
    clients = [desk.client(str(number), version=1 + number % 2) for number in range(4)]
    for name in ("a", "b"):
        desk.service(name, version=1 + (name == "a"), interface=b'{"name":"x"}')
    for client in clients:
        for number in range(1, 6):
            assert isinstance(desk.first(client, number), Stream)
            desk.says(client, number, MESSAGE)
        desk.says(client, 1, COMMAND, CLOSE)
    desk.agree()
    for client in clients[:2]:
        desk.leaves(client)
    desk.wait(6.0)
    for client in clients[2:]:
        desk.leaves(client)
    switch = desk.switch
    assert (switch.clients, switch.instances, switch.streams, switch.offered) == (set(), {}, {}, {})
    assert (switch.timers, switch.held_bytes, switch.stuck, switch._board.named) == (0, 0, {}, {})
