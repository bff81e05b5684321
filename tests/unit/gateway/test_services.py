"""MFP clients and services of the hub."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import EndpointError, RequestTimeout
from framehub.gateway.gateway import Gateway
from framehub.gateway.services import ServiceCalls
from framehub.hub.headers import HubFrame
from framehub.journal.reader import read
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.files import File
from framehub.runtime.hub import Hub
from framehub.runtime.peer import Peer
from tests.unit.runtime.hub_parts import COMMAND, FIRST, LAST, MESSAGE, STREAM_ERROR, RawService, until


async def asked(service: RawService) -> HubFrame:
    """A request's two frames; the first."""
    first, last = await service.hears(2)
    assert (first.state, last.state, last.body, last.stream) == (FIRST, LAST, b"", first.stream)
    return first


async def test_a_request_is_a_stream_of_one_question(peer: Peer, service: RawService, tmp_path: Path) -> None:
    """[HUB-15.2] [HUB-15.3]"""
    asking = asyncio.ensure_future(peer.request("far.calc.add", {"a": 1}))
    first = await asked(service)
    assert (first.parameter, first.body, first.number) == (1, b'{"a":1}', 0)
    service.answers(first, b"3", LAST)
    assert (await asking).data == 3


async def test_several_bodies_are_a_list_and_bytes_are_a_file(peer: Peer, service: RawService) -> None:
    """[HUB-15.2] [HUB-15.3]"""
    asking = asyncio.ensure_future(peer.request("far.calc.sub.tract"))
    first = await asked(service)
    assert (first.parameter, first.body) == (2, b"null")
    service.answers(first, b"1")
    service.answers(first, b"2")
    service.answers(first, b"", LAST)
    assert (await asking).data == [1, 2]
    asking = asyncio.ensure_future(peer.request("far.calc.3", files={0: File(b"\xff")}))
    first = await asked(service)
    assert (first.parameter, first.body) == (3, b"\xff")
    service.answers(first, b"\xfe", LAST)
    reply = await asking
    assert (reply.data, reply.files[0].data) == (None, b"\xfe")


async def test_function_0_is_the_interface(peer: Peer, service: RawService) -> None:
    assert (await peer.request("far.calc.0")).data["name"] == "far.calc"
    assert service.frames == []


@pytest.mark.parametrize(
    "endpoint",
    [
        *("far.calc", "far.calc.", "calc.add", "far.calc.nothing", "far.calc.256", "far.calc.01", ".add"),
        *("far.calc.1.", "far.calc.\u0663", "far.calc.1234", "." * 600, "x" * 600 + ".add"),
    ],
)
async def test_what_no_service_offers_is_unknown(peer: Peer, endpoint: str) -> None:
    """[HUB-15.1]"""
    with pytest.raises(EndpointError, match="unknown_endpoint"):
        await peer.request(endpoint)


async def test_only_services_that_say_their_name_can_be_found(hub: Hub, service: RawService) -> None:
    """[HUB-15.1]"""
    unnamed = await RawService(hub).registers(8)
    calls = ServiceCalls(hub)
    assert calls.names == ["far.calc.add", "far.calc.sub.tract"]
    assert calls.find("far.calc.add") == (7, 1)
    assert calls.find("8.1") is calls.find(".1") is None
    unnamed.close()


@pytest.mark.parametrize(
    ("state", "parameter", "code"),
    [(HubState.SERVICE_ERROR, 0, "service_error"), (COMMAND, HubCommand.CLOSE, "stream_error")],
)
async def test_a_service_that_fails_is_an_error(
    peer: Peer, service: RawService, state: HubState, parameter: int, code: str
) -> None:
    """[HUB-15.4]"""
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    first = await asked(service)
    service.says(HubFrame(first.stream, state, parameter, b"" if parameter else b"no"))
    with pytest.raises(EndpointError, match=code):
        await asking


async def test_a_service_that_goes_is_an_error(peer: Peer, service: RawService) -> None:
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    await asked(service)
    service.close()
    with pytest.raises(EndpointError, match="stream_error: SERVICE_DISCONNECT"):
        await asking


async def test_what_is_refused_costs_no_more_than_that(hub: Hub, peer: Peer, service: RawService) -> None:
    """The frame that follows a refused first one is not sent: it would count against the client."""
    hub.drain()
    for _ in range(40):
        with pytest.raises(EndpointError, match="busy: BUSY: the hub is stopping"):
            await peer.request("far.calc.add")
    assert (hub.switch.counts["stream_not_found to clients"], peer.state) == (0, "open")


async def test_too_much_for_one_frame_is_refused(peer: Peer, service: RawService) -> None:
    """[HUB-15.4]"""
    with pytest.raises(EndpointError, match=r"limit: 100002 bytes .* the limit is 99992: send them as a"):
        await peer.request("far.calc.add", "x" * 100_000)
    assert service.frames == []


async def test_an_answer_without_end_is_given_up(
    peer: Peer, service: RawService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framehub.gateway.services.LARGEST_ANSWER", 1_000)
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    first = await asked(service)
    for _ in range(11):
        service.answers(first, bytes(100))
    with pytest.raises(EndpointError, match=r"limit: .* more than 1000 bytes: ask with a stream"):
        await asking
    (closed,) = await service.hears()
    assert (closed.stream, closed.parameter) == (first.stream, HubCommand.CLOSE)


async def test_a_caller_that_gives_up_is_told_to_the_service(peer: Peer, service: RawService) -> None:
    """[HUB-15.5]"""
    with pytest.raises(RequestTimeout):
        await peer.request("far.calc.add", timeout=0.1)
    first, _, closed = await service.hears(3)
    assert (closed.stream, closed.state, closed.parameter) == (first.stream, COMMAND, HubCommand.CLOSE)
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    first = await asked(service)
    asking.cancel()
    (closed,) = await service.hears()
    assert (closed.stream, closed.state, closed.parameter) == (first.stream, COMMAND, HubCommand.CLOSE)


async def test_a_caller_that_goes_is_told_to_the_service(
    gateway: Gateway, hub: Hub, service: RawService
) -> None:
    """[HUB-15.5]"""
    async with connect(gateway.url) as peer:
        asking = asyncio.ensure_future(peer.request("far.calc.add"))
        first = await asked(service)
    (told,) = await service.hears()
    assert (told.stream, told.state, told.parameter) == (
        first.stream,
        STREAM_ERROR,
        HubError.CLIENT_DISCONNECT,
    )
    await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: not hub.switch.clients)


async def test_a_message_is_passed_on_and_its_answer_dropped(peer: Peer, service: RawService) -> None:
    """[HUB-15.2]"""
    await peer.send("far.calc.add", [1, 2])
    first = await asked(service)
    assert first.body == b"[1,2]"
    service.answers(first, b"3", LAST)


async def test_a_client_inside_answers_pings_and_is_known_by_its_user(
    hub: Hub, peer: Peer, service: RawService
) -> None:
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    first = await asked(service)
    (client,) = hub.switch.clients
    heard = client.heard
    hub.switch.to_clients.append((client, b"\0\0\0\0\x0e\x01?", None))
    hub._flush()
    await until(lambda: client.heard > heard)
    hub.switch.to_clients.append((client, b"\0\0\0\0\x0e\x02?", None))
    hub.switch.to_clients.append((client, b"\0\0\0\x63\x00\x00late", None))
    hub._flush()
    service.answers(first, b"1", LAST)
    assert ((await asking).data, client.user) == (1, 0)


async def test_a_client_the_hub_sends_away_is_sent_away_altogether(
    hub: Hub, peer: Peer, service: RawService
) -> None:
    """[HUB-15.8]"""
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    await asked(service)
    (client,) = hub.switch.clients
    client.owner.close(1008, "too much")  # type: ignore[attr-defined]
    client.owner.close(1008, "too much")  # type: ignore[attr-defined]
    assert (await peer.closed).code == 1008
    await asyncio.gather(asking, return_exceptions=True)


async def test_a_client_inside_that_is_paused_waits(hub: Hub, peer: Peer, service: RawService) -> None:
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    first = await asked(service)
    service.answers(first, b"1", LAST)
    await asking
    (client,) = hub.switch.clients
    for why in ("journal", "services"):
        client.owner.pause(why)  # type: ignore[attr-defined]
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    await asyncio.sleep(0.1)
    client.owner.resume("journal")  # type: ignore[attr-defined]
    await asyncio.sleep(0.1)
    assert service.frames == []
    client.owner.resume("services")  # type: ignore[attr-defined]
    service.answers(await asked(service), b"2", LAST)
    assert (await asking).data == 2


async def test_the_story_is_one_by_its_parent(
    gateway: Gateway, peer: Peer, service: RawService, tmp_path: Path
) -> None:
    """[HUB-15.9]"""
    asking = asyncio.ensure_future(peer.request("far.calc.add"))
    service.answers(await asked(service), b"1", LAST)
    await asking
    assert gateway._writer is not None
    await asyncio.to_thread(gateway._writer.flush)
    rows = [row for batch in read(tmp_path / "j") for row in batch.to_pylist()]
    request = next(row for row in rows if row["kind"] == "request")
    first = next(row for row in rows if row["kind"] == "first" and row["parent"])
    assert (first["parent"], first["endpoint"], first["function"]) == (request["exchange"], "far.calc", 1)
    assert first["link"] != request["link"]
    story = [(row["kind"], row["direction"]) for row in rows if row["exchange"] == first["exchange"]]
    assert sorted(story) == sorted(
        [
            *(("first", "in"), ("first", "out"), ("last", "in"), ("last", "out")),
            ("last", "in"),
            ("last", "out"),
        ]
    )


async def test_answers_for_one_who_has_gone_are_not_kept(
    gateway: Gateway, hub: Hub, service: RawService
) -> None:
    async with connect(gateway.url) as peer:
        asking = asyncio.ensure_future(peer.request("far.calc.add"))
        await asked(service)
        (client,) = hub.switch.clients
    await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: client.is_gone)
    guest: Any = client.owner
    assert guest.say(HubFrame(1, MESSAGE)) is None
    assert isinstance(Call("x", peer), Call)
