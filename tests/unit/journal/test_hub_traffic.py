from typing import Any

import msgspec

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame
from framehub.journal.columns import to_batch
from framehub.journal.hub_rows import ping_exchange, stream_exchange
from framehub.journal.hub_traffic import HubClient, HubService, Stream, command, error_out, ping, refusal
from framehub.journal.traffic import IN, OUT, World

LINK = b"linklink"


def setting(version: int = 2) -> tuple[World, HubClient, HubService]:
    service = HubService(b"weather-1", version=version, number=3, name="weather", timeout_s=7)
    return World(1), HubClient(LINK, version=version, user=42), service


def shown(world: World, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in to_batch(world.tape).to_pylist()]


def test_a_service_comes_with_its_interface() -> None:
    world, _, service = setting()
    assert service.come(world) == 2
    assert shown(world, "kind", "direction", "service", "endpoint", "user", "ref") == [
        ("link_opened", "in", None, None, 0, 0),
        ("first", "in", 3, "weather", 0, 0),
        ("command", "out", 3, "weather", 0, 0),
    ]
    assert [functions["number"] for functions in msgspec.json.decode(service.interface)["functions"]] == [
        1, 2, 3, 4,
    ]  # fmt: skip
    ready = to_batch(world.tape).to_pylist()[-1]["raw"]
    assert ready.hex() == "000000000e03" + "02" + "00001b58" + "0003"


def test_every_row_of_a_stream() -> None:
    for version, first_id in ((1, 1), (2, 2**20)):
        world, client, service = setting(version)
        stream = Stream(world, client, service, function=2, timeout_s=9)
        seqs = [
            stream.opened(b"a", parent=b"p" * 16),
            stream.given(b"a"),
            stream.came(HubState.MESSAGE, b"b"),
            stream.passed(HubState.MESSAGE, b"b"),
            stream.said(HubState.MESSAGE, b"c"),
            stream.told(HubState.MESSAGE, b"c"),
            stream.killed_at_client(HubError.TIMEOUT, b"late"),
            stream.killed_at_service(HubError.TIMEOUT),
        ]
        assert seqs == list(range(1, 9))
        assert shown(world, "kind", "direction", "id", "ref", "key", "code", "payload_bytes") == [
            ("first", "in", 1, None, 2, 9, 1),
            ("first", "out", first_id, 1, 2, None, 1),
            ("message", "in", 1, None, 2, None, 1),
            ("message", "out", first_id, 1, 2, None, 1),
            ("message", "in", first_id, 1, 0, None, 1),
            ("message", "out", 1, None, 0, None, 1),
            ("stream_error", "out", 1, None, 1, 1, 4),
            ("stream_error", "out", first_id, 1, 1, 1, None),
        ]
        assert set(shown(world, "exchange", "user", "service", "function", "endpoint")) == {
            (stream_exchange(LINK, 1), 42, 3, 2, "weather")
        }
        assert [parent for (parent,) in shown(world, "parent")] == [b"p" * 16] + [None] * 7


def test_streams_take_the_next_numbers_or_those_given() -> None:
    world, client, service = setting()
    first, second = Stream(world, client, service), Stream(world, client, service, 77, number=9)
    assert (first.number, first.id, second.number, second.id) == (1, 2**20, 9, 77)
    assert Stream(world, client, service).number == 2


def test_a_ping_has_an_exchange_of_its_own() -> None:
    world, client, service = setting()
    assert ping(world, client, IN, b"?") == (1, ping_exchange(LINK, 1))
    seq, exchange = ping(world, client, OUT)
    assert (seq, exchange) == (2, ping_exchange(LINK, 2))
    command(world, service, OUT, HubCommand.PONG, b"", exchange)
    assert shown(world, "id", "code", "service", "endpoint")[1:] == [(0, 1, None, None), (0, 2, 3, "weather")]


def test_what_is_not_taken_and_its_answer() -> None:
    world, client, _ = setting()
    frame = HubFrame(5, HubState.MESSAGE, 1, b"x")
    assert refusal(world, client, frame, HubError.STREAM_NOT_FOUND, b"none", service=3) == (1, 2)
    assert error_out(world, client, 6, HubError.LIMIT) == 3
    assert shown(world, "kind", "id", "refused", "error", "service", "exchange") == [
        ("message", 5, "stream_not_found", None, 3, None),
        ("stream_error", 5, None, "stream_not_found", 3, None),
        ("stream_error", 6, None, "limit", None, None),
    ]
