"""An MFP client at the hub, seen from inside."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from framehub.codes import HubState
from framehub.errors import ConnectionClosed, EndpointError
from framehub.gateway.guest import Guest
from framehub.hub.headers import HubFrame, Way, encode
from framehub.journal.record import NO_ID
from framehub.runtime.connect import connect
from framehub.runtime.hub import Hub
from framehub.runtime.link import SOFT_BYTES
from framehub.runtime.listen import Listener
from framehub.runtime.peer import Peer
from tests.unit.runtime.hub_parts import FIRST, LAST, NUMBER, RawService, hub_at_work, until


@pytest.fixture
async def parts() -> AsyncIterator[tuple[Hub, Listener]]:
    async with hub_at_work() as made:
        yield made


@pytest.fixture
async def peer(parts: tuple[Hub, Listener]) -> AsyncIterator[Peer]:
    """The listener's end of a connection."""
    _, listener = parts
    async with connect(listener.url):
        await until(lambda: listener.peers)
        (made,) = listener.peers
        yield made


async def test_streams_are_counted_and_end_with_the_numbers(parts: tuple[Hub, Listener], peer: Peer) -> None:
    hub, _ = parts
    service = await RawService(hub).registers()
    guest = Guest(hub, peer)
    for number in (1, 2):
        guest.open(NUMBER, 1, b"x", parent=NO_ID)
        (client,) = hub.switch.clients
        assert list(client.streams)[-1] == number
    guest._next = 2**32 - 1
    guest.open(NUMBER, 1, b"x", parent=NO_ID)
    with pytest.raises(EndpointError, match="limit: this connection has opened too many streams"):
        guest.open(NUMBER, 1, b"x", parent=NO_ID)
    assert [frame.state for frame in await service.hears(3)] == [FIRST] * 3
    service.close()


async def test_what_nobody_reads_makes_it_full(parts: tuple[Hub, Listener], peer: Peer) -> None:
    hub, _ = parts
    service = await RawService(hub).registers()
    guest = Guest(hub, peer)
    conversation = guest.open(NUMBER, 1, b"", parent=NO_ID)
    (first,) = await service.hears()
    (client,) = hub.switch.clients
    for _ in range(10):
        service.answers(first, bytes(SOFT_BYTES // 4))
    await until(lambda: client.held)
    assert client.is_full
    service.answers(first, b"", LAST)
    assert [len((await conversation.hear()).body) for _ in range(11)] == [SOFT_BYTES // 4] * 10 + [0]
    assert (client.is_full, client.held, guest._waiting_bytes) == (False, {}, 0)
    service.close()


async def test_what_is_closed_is_not_heard_any_more(parts: tuple[Hub, Listener], peer: Peer) -> None:
    hub, _ = parts
    service = await RawService(hub).registers()
    guest = Guest(hub, peer)
    conversation = guest.open(NUMBER, 1, b"", parent=NO_ID)
    (first,) = await service.hears()
    service.answers(first, b"one")
    await until(lambda: guest._waiting_bytes)
    conversation.close()
    conversation.close()
    guest.send(encode(HubFrame(1, HubState.MESSAGE, 0, b"late"), 2, Way.HUB_TO_CLIENT))
    await conversation.say(b"late")
    assert (guest._waiting_bytes, hub.pending) == (0, 0)
    service.close()


async def test_one_who_has_gone_opens_nothing(parts: tuple[Hub, Listener], peer: Peer) -> None:
    hub, _ = parts
    guest = Guest(hub, peer)
    conversation = guest.open(NUMBER, 1, b"", parent=NO_ID)
    await peer.close()
    await asyncio.sleep(0)
    with pytest.raises(ConnectionClosed):
        guest.open(NUMBER, 1, b"", parent=NO_ID)
    assert (await conversation.hear()).state is HubState.STREAM_ERROR  # nobody offered it
    assert not hub.switch.clients
