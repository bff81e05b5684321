"""What clients say of their link itself, and function 0, which the hub answers."""

import pytest

from framehub.hub.parties import Client, Stream
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
    Desk,
)


def test_a_ping_is_answered_with_what_it_said(client_version: int) -> None:
    desk = Desk()
    client = desk.client(version=client_version)
    assert desk.says(client, 0, COMMAND, PING, b"hello") is None
    assert desk.to_clients() == [("c", 0, "PONG", b"hello")]
    assert desk.says(client, 0, COMMAND, PONG, b"x") is None
    assert desk.to_clients() == []


def test_pings_in_crowds_end_the_connection() -> None:
    desk = Desk(max_pings=3)
    client = desk.client()
    for _ in range(3):
        desk.says(client, 0, COMMAND, PING)
    assert desk.to_close() == []
    assert desk.says(client, 0, COMMAND, PING) == "limit: over 3 PINGs in a second"
    assert desk.to_close() == [("c", 1008)]
    assert len(desk.to_clients()) == 3


def test_a_client_that_says_goodbye_is_let_go() -> None:
    desk = Desk()
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    assert desk.says(client, 0, COMMAND, CLOSE) is None
    assert desk.to_close() == [("c", 1000)]
    assert desk.take() == ([], [("s", FIRST_ID, "CLIENT_DISCONNECT")])
    assert desk.first(client, 2) == "bad_frame: the connection is being closed"


@pytest.mark.parametrize(
    ("state", "parameter", "word"), [(MESSAGE, 0, "MESSAGE"), (LAST, 0, "LAST"), (COMMAND, READY, "READY")]
)
def test_other_frames_do_not_belong_on_stream_0(
    client_version: int, state: int, parameter: int, word: str
) -> None:
    desk = Desk()
    client = desk.client(version=client_version)
    assert desk.says(client, 0, state, parameter) == f"bad_frame: no {word} on stream 0"
    assert desk.to_clients() == [("c", 0, "BAD_FRAME")]


def configured(desk: Desk, client: Client, timeout_ms: int) -> bytes:
    record = bytes([client.version]) + timeout_ms.to_bytes(4, "big") + b"\0\0"
    assert desk.says(client, 0, FIRST, 0, record) is None
    (told,) = desk.to_clients()
    assert told[:3] == ("c", 0, "READY")
    answer: bytes = told[3]
    return answer


@pytest.mark.parametrize(
    ("asked", "in_force"), [(0, 30_000), (1, 1_000), (5_000, 5_000), (2**32 - 1, 3_600_000)]
)
def test_a_configuration_is_answered_with_what_is_in_force(
    client_version: int, asked: int, in_force: int
) -> None:
    desk = Desk()
    client, _ = desk.client(version=client_version), desk.service()
    answer = configured(desk, client, asked)
    assert answer == bytes([client_version]) + in_force.to_bytes(4, "big") + b"\0\0"
    assert desk.opens(client, 1).timeout == in_force / 1000
    configured(desk, client, 0)
    assert desk.opens(client, 2).timeout == 30.0, "a later one replaces it"


def test_a_configuration_has_the_links_version(client_version: int) -> None:
    desk = Desk()
    client = desk.client(version=client_version)
    other = 3 - client_version
    told = desk.says(client, 0, FIRST, 0, bytes([other]) + bytes(6))
    assert told == f"bad_frame: this link speaks version {client_version}, not {other}"
    assert desk.to_clients() == [("c", 0, "BAD_FRAME")]


# --- function 0 -----------------------------------------------------------------------------------------


def test_function_0_is_answered_by_the_hub(client_version: int) -> None:
    desk = Desk()
    client = desk.client(version=client_version)
    desk.service(interface=b'{"name":"weather"}')
    stream = desk.first(client, 1, function=0)
    assert isinstance(stream, Stream)
    assert (stream.instance, stream.is_over, stream.answered, stream.name) == (None, True, True, "weather")
    assert desk.take() == ([("c", 1, "LAST", 0, b'{"name":"weather"}')], [])
    assert desk.first(client, 1, function=0) == "ws_stream_collision: stream 1 was used before"
    desk.agree()


def test_of_several_interfaces_the_latest_is_told() -> None:
    desk = Desk()
    client = desk.client()
    desk.service("a", interface=b'{"doc":"old"}')
    desk.service("b", interface=b'{"doc":"new"}')
    desk.service("none")
    desk.first(client, 1, function=0)
    assert desk.take() == ([("c", 1, "LAST", 0, b'{"doc":"new"}')], [])


def test_a_service_without_an_interface_is_asked_itself() -> None:
    desk = Desk()
    client, _ = desk.client(), desk.service()
    desk.first(client, 1, function=0)
    assert desk.to_services() == [("s", FIRST_ID, "FIRST", 0, 42, b"")]
