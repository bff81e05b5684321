"""What services say: who they are, and answers on streams of their own."""

import pytest

from framehub.hub import from_services
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
    configuration,
    frame,
)


@pytest.fixture(params=[1, 2], ids=["V1", "V2"])
def version(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- who they are ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "in_force"), [(0, 30_000), (1, 1_000), (5_000, 5_000), (2**32 - 1, 3_600_000)]
)
def test_a_configuration_registers_a_service(desk: Desk, version: int, asked: int, in_force: int) -> None:
    assert desk.configure("s", number=300, version=version, timeout_ms=asked) is None
    record = bytes([version]) + in_force.to_bytes(4, "big") + (300).to_bytes(2, "big")
    assert desk.to_services() == [("s", 0, "READY", record)]
    instance = desk.switch.instances[b"s"]
    assert desk.switch.changes == [(True, instance)]
    assert desk.switch.offered == {300: [instance]}
    assert (instance.number, instance.version, instance.name) == (300, version, "")


def test_a_service_with_a_name_is_found_by_it(desk: Desk) -> None:
    body = b'{"name": "weather", "functions": [{"number": 3, "name": "rain"}]}'
    first, second = desk.service("a", interface=body), desk.service("b", interface=body)
    assert desk.switch.service_named("weather") is second
    assert (second.functions, second.interface) == ({"rain": 3}, body)
    desk.answers("b", 0, COMMAND, CLOSE)
    assert desk.switch.service_named("weather") is first
    desk.switch.service_gone(first, desk.now)
    desk.switch.service_gone(second, desk.now)
    assert desk.switch.service_named("weather") is None
    assert (desk.switch.offered, desk.switch.instances, desk.switch._board.named) == ({}, {}, {})


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0\0", frame(2, 0, COMMAND, PING), frame(2, FIRST_ID, MESSAGE, 0) + b"x", frame(1, 5, LAST, 0)],
    ids=range(5),
)
def test_before_its_configuration_nothing_is_taken_from_a_service(desk: Desk, data: bytes) -> None:
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    assert desk.service_sends("x", data) == "bad_frame: a service sends its configuration first"
    assert desk.take() == ([], [("x", 0, "BAD_FRAME")])
    assert desk.switch.counts["not configured"] == 1


def test_somebody_who_is_not_registered_is_told_once_a_second(desk: Desk) -> None:
    for _ in range(3):
        desk.service_sends("x", b"?")
    desk.service_sends("y", b"?", b"?")
    assert desk.to_services() == [("x", 0, "BAD_FRAME"), ("y", 0, "BAD_FRAME")]
    desk.wait(0.99)
    desk.service_sends("x", b"?")
    assert desk.to_services() == []
    desk.wait(0.01)
    desk.service_sends("x", b"?")
    assert desk.to_services() == [("x", 0, "BAD_FRAME")]
    assert desk.switch.counts["not configured"] == 6


def test_those_who_are_not_registered_are_forgotten(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many are remembered; beyond that each is told each time."""
    monkeypatch.setattr(from_services, "MOST_STRANGERS", 2)
    for name in ("x", "y", "z", "z", "x"):
        desk.service_sends(name, b"?")
    assert [told[0] for told in desk.to_services()] == ["x", "y", "z", "z"]
    desk.now += 1.0
    desk.service_sends("x", b"?")
    desk.service_sends("x", b"?")
    assert [told[0] for told in desk.to_services()] == ["x"]
    desk.wait(1.25)
    assert desk.switch._services._strangers == {}


def test_somebody_who_configures_itself_is_no_stranger(desk: Desk) -> None:
    desk.service_sends("x", b"?")
    desk.configure("x")
    assert [told[2] for told in desk.to_services()] == ["BAD_FRAME", "READY"]
    assert desk.switch._services._strangers == {}


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (configuration()[:-1], "bad_frame: cut short inside the settings at byte 12"),
        (configuration(version=1)[:-1], "bad_frame: cut short inside the settings at byte 10"),
        (frame(2, 0, FIRST, 0) + b"\3" + bytes(6), "bad_frame: version 3 is none of 1, 2 at byte 6"),
        (
            frame(2, 0, FIRST, 0) + b"\1" + bytes(6),
            "bad_frame: a header of version 2, settings of version 1",
        ),
        (configuration(interface=b"["), "bad_frame: the interface is no JSON: Input data was truncated"),
    ],
)
def test_a_bad_configuration_registers_nobody(desk: Desk, data: bytes, answer: str) -> None:
    """Each is answered: whoever wrote that service wants to know."""
    for _ in range(2):
        assert desk.service_sends("s", data) == answer
        assert desk.to_services() == [("s", 0, "BAD_FRAME")]
    assert (desk.switch.instances, desk.switch.offered, desk.switch.changes) == ({}, {}, [])


def test_so_many_services_and_no_more() -> None:
    desk = Desk(max_services=2)
    desk.service("a")
    desk.service("b")
    assert desk.configure("c") == "limit: over 2 services"
    assert desk.to_services() == [("c", 0, "LIMIT")]
    assert desk.configure("b", number=8) is None, "those who are there may change"
    desk.switch.service_gone(desk.switch.instances[b"a"], desk.now)
    desk.service("c")


def test_an_interface_has_so_many_bytes_at_most() -> None:
    desk = Desk(max_interface_bytes=10)
    desk.service(interface=b'{"doc":""}')
    assert desk.configure("s", interface=b'{"doc":" "}') == "limit: an interface over 10 bytes"
    assert desk.switch.instances[b"s"].interface == b'{"doc":""}', "the earlier one stays"


def test_a_later_configuration_replaces_the_registration_and_keeps_the_streams(desk: Desk) -> None:
    client = desk.client()
    instance = desk.service(interface=b'{"name":"old"}', timeout_ms=5_000)
    stream = desk.opens(client, 1)
    desk.answers("s", 0, COMMAND, CLOSE)
    assert desk.configure("s", number=8, interface=b'{"name":"new"}') is None
    assert desk.switch.instances == {b"s": instance}
    assert (desk.switch.offered, instance.name, instance.timeout) == ({8: [instance]}, "new", 0.0)
    assert desk.switch.service_named("old") is None
    assert len(desk.switch.changes) == 1
    assert not stream.is_over
    desk.take()
    desk.opens(client, 2, service=8)
    desk.agree()


def test_a_service_may_have_the_number_0(desk: Desk) -> None:
    client, instance = desk.client(), desk.service(number=0)
    stream = desk.opens(client, 1, service=0)
    desk.configure("s", number=0)
    assert (desk.switch.offered, len(desk.switch.changes)) == ({0: [instance]}, 1)
    assert not stream.is_over


def test_a_service_that_cannot_be_reached_is_gone(desk: Desk) -> None:
    client, instance = desk.client(), desk.service(interface=b'{"name":"x"}')
    desk.opens(client, 1)
    desk.opens(client, 2)
    for _ in range(2):
        desk.switch.service_gone(instance, desk.now)
    told = [("c", 1, "SERVICE_DISCONNECT"), ("c", 2, "SERVICE_DISCONNECT")]
    assert desk.take() == (told, [])
    assert [joined for joined, _ in desk.switch.changes] == [True, False]
    assert desk.first(client, 3) == "endpoint_not_found: nobody offers service 7"
    desk.agree()


# --- heartbeats -----------------------------------------------------------------------------------------


def test_a_silent_service_is_asked_every_second_and_dead_after_five(desk: Desk) -> None:
    client, instance = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.wait(0.75)
    assert desk.to_services() == []
    desk.wait(4.0)
    assert [told[2] for told in desk.to_services()] == 4 * ["PING"]
    assert desk.switch.instances == {b"s": instance}
    desk.wait(0.25)
    assert (desk.switch.instances, instance.is_gone) == ({}, True)
    assert desk.take() == ([("c", 1, "SERVICE_DISCONNECT")], [])
    desk.agree()


def test_any_word_is_a_sign_of_life(desk: Desk, version: int) -> None:
    desk.service(version=version)
    for _ in range(12):
        desk.wait(0.75)
        desk.answers("s", 0, COMMAND, PONG, b"")
    assert desk.to_services() == []
    desk.wait(4.75)
    desk.service_sends("s", b"")
    desk.wait(4.75)
    assert b"s" in desk.switch.instances


# --- answers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client_version", [1, 2])
@pytest.mark.parametrize("state", [LAST, SERVICE_ERROR])
def test_answers_reach_the_client_and_the_last_ends_the_stream(
    desk: Desk, version: int, client_version: int, state: int
) -> None:
    client, _ = desk.client(version=client_version), desk.service(version=version)
    stream = desk.opens(client, 5)
    assert desk.answers("s", stream.hub_id, MESSAGE, 3, b"a") is stream
    assert (stream.answered, stream.is_over) == (True, False)
    assert desk.answers("s", stream.hub_id, state, 4, b"b") is stream
    words = [("c", 5, "MESSAGE", 3, b"a"), ("c", 5, state.name, 4, b"b")]  # type: ignore[attr-defined]
    assert desk.take() == (words, [])
    assert stream.is_over
    assert client.streams == {}
    desk.agree()


def test_a_service_may_close_a_stream(desk: Desk, version: int) -> None:
    client, _ = desk.client(), desk.service(version=version)
    stream = desk.opens(client, 5)
    assert desk.answers("s", stream.hub_id, COMMAND, CLOSE, b"x") is stream
    assert desk.take() == ([("c", 5, "CLOSE", b"")], [("s", stream.hub_id, "CLOSE", b"")])
    desk.agree()


def test_a_service_reaches_only_streams_of_its_own(desk: Desk, version: int) -> None:
    """[HUB-7.9]"""
    client, _, _ = desk.client(), desk.service(version=version), desk.service("thief", version=version)
    stream = desk.opens(client, 1)
    number = stream.hub_id
    for state, parameter in ((MESSAGE, 0), (LAST, 0), (SERVICE_ERROR, 0), (COMMAND, CLOSE)):
        told = desk.answers("thief", number, state, parameter)
        assert told == f"zmq_stream_collision: stream {number} is another service's"
    assert desk.take() == ([], 4 * [("thief", number, "ZMQ_STREAM_COLLISION")])
    assert desk.switch.counts["zmq_stream_collision to services"] == 4
    assert not stream.is_over


def test_a_service_is_told_of_a_dead_stream_once_in_five_seconds(desk: Desk, version: int) -> None:
    client, _ = desk.client(), desk.service(version=version)
    stream = desk.opens(client, 1)
    desk.answers("s", stream.hub_id, LAST)
    desk.take()
    number = stream.hub_id
    for _ in range(3):
        assert desk.answers("s", number, MESSAGE) == f"stream_not_found: no stream {number} is open here"
    desk.answers("s", number + 1, MESSAGE)
    words = [("s", number, "STREAM_NOT_FOUND"), ("s", number + 1, "STREAM_NOT_FOUND")]
    assert desk.take() == ([], words)
    desk.now += 4.99
    desk.answers("s", number, MESSAGE)
    assert desk.to_services() == []
    desk.now += 0.01
    desk.answers("s", number, MESSAGE)
    assert desk.to_services() == words[:1]


def test_no_more_than_so_many_dead_streams_are_remembered(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_services, "MOST_TOLD", 2)
    desk.service()
    for number in (1, 2, 3, 1, 3):
        desk.answers("s", number, MESSAGE)
    assert [told[1] for told in desk.to_services()] == [1, 2, 3, 1]
    assert list(desk.switch.instances[b"s"].told) == [3, 1]


# --- what is not lawful ---------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [*range(1, 11), FIRST, STREAM_ERROR, 16, 255])
def test_other_states_are_answered_on_their_stream(desk: Desk, version: int, state: int) -> None:
    client, _ = desk.client(), desk.service(version=version)
    stream = desk.opens(client, 1)
    if version == 1 and state > 15:
        return
    told = desk.answers("s", stream.hub_id, state, 1)
    assert isinstance(told, str)
    assert told.startswith("bad_frame: ")
    assert desk.take() == ([], [("s", stream.hub_id, "BAD_FRAME")])
    assert not stream.is_over


@pytest.mark.parametrize("command", [PING, PONG, READY])
def test_commands_of_the_link_do_not_belong_on_a_stream(desk: Desk, version: int, command: int) -> None:
    client, _ = desk.client(), desk.service(version=version)
    stream = desk.opens(client, 1)
    word = command.name  # type: ignore[attr-defined]
    told = desk.answers("s", stream.hub_id, COMMAND, command)
    assert told == f"bad_frame: a service does not send {word} on a stream"


def test_what_is_about_no_stream_is_answered_on_stream_0_once_a_second(desk: Desk, version: int) -> None:
    desk.service(version=version)
    assert desk.service_sends("s", bytes(3)) == "bad_frame: a frame of 3 bytes"
    assert desk.service_sends("s", b"a", b"b") == "bad_frame: a message of 2 parts"
    assert desk.service_sends("s") == "bad_frame: a message of 0 parts"
    for state, parameter, word in ((MESSAGE, 1, "MESSAGE"), (LAST, 0, "LAST"), (COMMAND, READY, "READY")):
        assert desk.answers("s", 0, state, parameter) == f"bad_frame: no {word} on stream 0"
    assert desk.to_services() == [("s", 0, "BAD_FRAME")]
    assert desk.switch.counts["bad_frame to services"] == 6
    desk.now += 1.0
    desk.service_sends("s", b"a", b"b")
    assert desk.to_services() == [("s", 0, "BAD_FRAME")]


def test_a_ping_is_answered_with_what_it_said(desk: Desk, version: int) -> None:
    desk.service(version=version)
    assert desk.answers("s", 0, COMMAND, PING, b"hello") is None
    assert desk.to_services() == [("s", 0, "PONG", b"hello")]


def test_a_service_that_says_goodbye_finishes_what_it_has(desk: Desk, version: int) -> None:
    client, instance = desk.client(), desk.service(version=version)
    stream = desk.opens(client, 1)
    assert desk.answers("s", 0, COMMAND, CLOSE) is None
    assert instance.is_leaving
    assert isinstance(desk.says(client, 1, MESSAGE), Stream)
    assert desk.answers("s", stream.hub_id, LAST) is stream
