"""Clients, services and streams, as they are at first."""

from framehub.hub.parties import NEVER, Client, Instance, Stream


def client(version: int = 2) -> Client:
    return Client(b"c", version, 42, "owner", 5.0)


def test_a_client_is_known_by_what_it_came_with() -> None:
    one = client()
    assert (one.link, one.version, one.user, one.owner, one.heard) == (b"c", 2, 42, "owner", 5.0)
    assert (one.streams, one.held, one.conduct, len(one.used)) == ({}, {}, None, 0)
    assert not any((one.is_full, one.is_paused, one.is_leaving, one.is_gone))


def test_a_service_that_nothing_waits_for_is_not_stuck() -> None:
    instance = Instance(b"s", 2, 5.0)
    assert (instance.number, instance.stuck_since, instance.is_stuck) == (-1, NEVER, False)
    instance.stuck_since = 6.0
    assert instance.is_stuck


def test_a_stream_is_named_after_its_service() -> None:
    instance = Instance(b"s", 2, 5.0)
    instance.name = "weather"
    assert Stream(client(), instance, 1, 2, 7, 3, 30.0, 5.0).name == "weather"
    assert Stream(client(), None, 1, 2, 7, 3, 30.0, 5.0).name == ""


def test_only_between_links_of_version_2_the_number_alone_changes() -> None:
    def ways(client_version: int, version: int | None) -> tuple[bytes, bytes]:
        instance = None if version is None else Instance(b"s", version, 5.0)
        stream = Stream(client(client_version), instance, 1, 0x100000, 7, 3, 30.0, 5.0)
        return stream.to_service, stream.to_client

    assert ways(2, 2) == (bytes.fromhex("00100000"), bytes.fromhex("00000001"))
    assert ways(1, 2) == ways(2, 1) == ways(1, 1) == ways(2, None) == (b"", b"")


def test_a_stream_is_silent_since_the_oldest_frame_without_an_answer_or_else_the_last() -> None:
    stream = Stream(client(), None, 1, 2, 7, 3, 30.0, 5.0)
    stream.last = 9.0
    assert stream.deadline == 35.0
    stream.unanswered = None
    assert stream.deadline == 39.0


def test_a_function_is_called_as_its_service_says() -> None:
    instance = Instance(b"s", 2, 5.0)
    instance.number = 7
    assert instance.label(1) == "7"
    instance.name, instance.functions = "weather", {"now": 1}
    assert [instance.label(number) for number in (1, 2)] == ["weather.now", "weather"]
