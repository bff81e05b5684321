"""Attacks on the hub's ROUTER, while twenty honest clients work with two honest services (spec/hub.md)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from framehub.runtime.watchdog import CUT_OFF

from . import hub_thrown_at_router as thrown
from .arena import MIB
from .busy import throw
from .conftest import HubArenas
from .hub_arena import COARSE, OURS, HubArena, HubAttack
from .hub_attacker import (
    BAD_FRAME,
    BUSY,
    CLIENT_DISCONNECT,
    CLOSE,
    COMMAND,
    LAST,
    LIMIT,
    MESSAGE,
    SERVICE_ERROR,
    STREAM_ERROR,
    STREAM_NOT_FOUND,
    TIMEOUT,
    ZMQ_STREAM_COLLISION,
    RawService,
    Visitor,
    answer_once,
    configuration,
    first,
    visiting,
)
from .hub_service import NEW, OLD
from .hub_thrown import SOME
from .hub_thrown_at_router import ENDED, THEIRS
from .rpc_attacker import MORE, bare
from .rpc_attacker import frame as zmtp
from .rpc_relay import Relay

LATE = 40
"""Streams of each kind that are answered too late."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(hub_arenas: HubArenas) -> AsyncIterator[HubArena]:
    """A gateway without keys, whose clients work during all tests of this module."""
    arena = hub_arenas()
    async with arena.with_honest():
        yield arena


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secured(hub_arenas: HubArenas) -> AsyncIterator[HubArena]:
    """The same with keys."""
    arena = hub_arenas(curve=True)
    async with arena.with_honest():
        yield arena


# --- whose stream it is ------------------------------------------------------------------------------------


async def test_attack_T36_streams_of_other_services(arena: HubArena) -> None:
    """[HUB-7.9] In full: the first 2^16 numbers that the hub gives, and as many of version 1."""
    siege = await throw(arena, thrown.T36)
    collisions = siege.seen[STREAM_ERROR, ZMQ_STREAM_COLLISION]
    absent = siege.seen[STREAM_ERROR, STREAM_NOT_FOUND]
    assert collisions >= SOME
    assert collisions + absent == SOME + thrown.T36.count + thrown.T36.count // 4 - 1
    assert siege.seen["answered by the right one"] == SOME
    assert siege.counts["zmq_stream_collision to services"] == collisions
    assert siege.counts["stream_not_found to services"] == absent


Ending = Callable[[Visitor, RawService, list[int]], Awaitable[object]]


async def last_frame(_visitor: Visitor, service: RawService, ids: list[int]) -> None:
    for id_ in ids:
        service.says_on(id_, LAST)


async def service_error(_visitor: Visitor, service: RawService, ids: list[int]) -> None:
    for id_ in ids:
        service.says_on(id_, SERVICE_ERROR)


async def close_of_the_service(_visitor: Visitor, service: RawService, ids: list[int]) -> None:
    for id_ in ids:
        service.says_on(id_, COMMAND, CLOSE)
    assert {told[1:3] for told in await service.is_told(LATE)} == {(COMMAND, CLOSE)}


async def close_of_the_client(visitor: Visitor, service: RawService, _ids: list[int]) -> None:
    for stream in range(1, LATE + 1):
        await visitor.says_on(stream, COMMAND, CLOSE)
    assert {told[1:3] for told in await service.is_told(LATE)} == {(COMMAND, CLOSE)}


async def timeout(_visitor: Visitor, service: RawService, _ids: list[int]) -> None:
    assert {told.error[1] for told in await service.is_told(LATE)} == {TIMEOUT}


async def client_gone(visitor: Visitor, service: RawService, _ids: list[int]) -> None:
    visitor.leave()
    assert {told.error[1] for told in await service.is_told(LATE)} == {CLIENT_DISCONNECT}


ENDINGS: dict[Ending, tuple[int, int] | None] = {
    last_frame: (LAST, 0),
    service_error: (SERVICE_ERROR, 0),
    close_of_the_service: (COMMAND, CLOSE),
    close_of_the_client: (COMMAND, CLOSE),
    timeout: (STREAM_ERROR, TIMEOUT),
    client_gone: None,
}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.__name__)
async def test_attack_T37_late_answers(arena: HubArena, ending: Ending, version: int) -> None:
    """[HUB-7.9] [HUB-10.1] Whatever ended a stream: the service is told once, the client hears nothing."""
    async with arena.attacked() as siege, visiting(arena.port) as visitor:
        with RawService(arena.services, version) as service:
            await service.joins(OURS, timeout=1_000)
            await visitor.says(*(first(2, stream, OURS) for stream in range(1, LATE + 1)))
            ids = [told.stream for told in await service.is_told(LATE)]
            for id_ in ids:
                service.says_on(id_, MESSAGE, 0, b"in time")
            assert {(await visitor.hears())[1:3] for _ in ids} == {(MESSAGE, 0)}
            await ending(visitor, service, ids)
            if (told := ENDINGS[ending]) is not None:
                assert {(await visitor.hears())[1:3] for _ in ids} == {told}
            for id_ in ids:
                for state, parameter in ENDED:
                    service.says_on(id_, state, parameter, b"late")
            answers = await service.is_told(LATE)
            assert [one.error for one in answers] == [(id_, STREAM_NOT_FOUND) for id_ in ids]
            await service.still_heard()
            if told is not None:
                await visitor.still_heard()
    siege.check(COARSE)
    assert siege.counts["stream_not_found to services"] == LATE * len(ENDED)


# --- too much, too slow ------------------------------------------------------------------------------------


async def test_attack_T42_a_flood_for_one_slow_client(arena: HubArena) -> None:
    """[HUB-12.2] In full: up to a million frames. That stream dies, as both sides learn; the other lives."""
    siege = await throw(arena, thrown.T42)
    assert siege.seen == {
        ("the service is told", True, STREAM_ERROR, LIMIT): 1,
        ("the client is told", 1, STREAM_ERROR, LIMIT): 1,
        "the other stream": 1,
    }
    assert siege.counts["killed: limit"] == 1


async def test_attack_a_service_that_says_much(arena: HubArena) -> None:
    """8 MiB a message: more than anybody may have waiting. Its stream ends, or its connection does."""
    siege = await throw(arena, thrown.MUCH)
    assert siege.seen.pop("came") <= 3
    assert siege.seen == {("the client is told", 1, STREAM_ERROR, True): 1}


async def test_attack_a_service_that_does_not_read(arena: HubArena) -> None:
    """[HUB-12.3] Its streams die with BUSY, new ones are told BUSY at once; other services live."""
    siege = await throw(arena, thrown.UNREAD)
    assert siege.seen == {
        (STREAM_ERROR, BUSY): thrown.UNREAD_STREAMS,
        ("new streams", STREAM_ERROR, BUSY): 1,
        "another service": 1,
    }


async def test_attack_a_service_that_does_not_read_large_messages(arena: HubArena) -> None:
    """As large as clients may send: what waits for it at the hub is bounded by bytes as well."""
    siege = await throw(arena, thrown.UNREAD_LARGE)
    assert siege.seen == {(STREAM_ERROR, BUSY): thrown.UNREAD_STREAMS, "another service": 1}


async def test_attack_peers_that_never_register(arena: HubArena) -> None:
    """[HUB-8.1] In full: 200,000 frames. Each peer is told once a second, and nothing goes anywhere."""
    siege = await throw(arena, thrown.UNREGISTERED)
    told = siege.seen.pop((0, STREAM_ERROR, BAD_FRAME))
    assert told >= thrown.STRANGERS
    assert siege.seen == {"told too often": 0}
    assert siege.counts[thrown.REFUSED] == thrown.UNREGISTERED.count


async def test_attack_services_that_come_and_go(arena: HubArena) -> None:
    """In full: 5,000. The log has a few lines, and nobody else is asked for signs of life all the time."""
    siege = await throw(arena, thrown.COMING)
    assert siege.seen == {"joined": thrown.COMING.count, "asked too often": 0}


# --- who is who --------------------------------------------------------------------------------------------


async def test_attack_T45_the_identity_of_a_living_service(arena: HubArena) -> None:
    """The newcomer is ignored: it hears nothing, not even that, and offers nothing."""
    siege = await throw(arena, thrown.T45)
    assert siege.seen == {"right": 2 * thrown.T45.count, "stolen": 0}
    assert siege.counts == {}


async def test_attack_T45_the_identity_of_a_living_service_with_another_key(secured: HubArena) -> None:
    siege = await throw(secured, thrown.T45)
    assert siege.seen == {"right": 2 * thrown.T45.count, "stolen": 0}


async def test_attack_T45_the_identity_of_a_service_that_just_left(secured: HubArena) -> None:
    """Another key is not heard under it."""
    name = "under another service's identity"
    async with secured.attacked() as siege:
        with RawService(secured.services, identity=b"victim", curve=secured.curve("service")) as victim:
            await victim.joins(OURS)
        await secured.until(lambda stand: OURS not in stand["services"])
        with RawService(secured.services, identity=b"victim", curve=secured.curve("rogue")) as thief:
            await thief.is_connected()
            thief.offers(OURS)
            await secured.until(lambda stand: stand["counts"].get(name))
            assert thief.told == []
    siege.check(COARSE)
    assert siege.counts[name] == 1


async def test_attack_T46_a_service_whose_line_is_dead_while_others_take_its_place(arena: HubArena) -> None:
    """[HUB-9.5] [HUB-10.3] Its streams end; it comes back on a new line and is served beside the squatter."""
    async with arena.attacked() as siege, Relay(arena.services) as relay, visiting(arena.port) as visitor:
        with RawService(relay.port) as victim:
            await victim.joins(OURS)
            await visitor.opens(1, OURS)
            await victim.is_told()
            relay.freeze()
            with RawService(arena.services) as squatter:
                await squatter.joins(THEIRS)
                assert (await visitor.hears()).error == (1, 3)
                await victim.until(lambda: victim.connections == 2)
                await victim.joins(OURS)
                await visitor.opens(2, OURS, 1, b"served")
                [told] = await victim.is_told()
                assert told.body == b"served"
                assert squatter.told == []
    siege.check(COARSE)


async def test_attack_a_wrong_key_and_no_key_at_all(secured: HubArena) -> None:
    """Nothing of theirs reaches the hub: not a word, not a part, and no memory."""
    async with secured.attacked() as siege:
        before = secured.stand()
        with RawService(secured.services, curve=secured.curve("stranger")) as stranger:
            stranger.offers(OURS)
            await stranger.until(lambda: stranger.refusals)
            assert (stranger.connections, stranger.told) == (0, [])
        for mechanism in (b"NULL", b"PLAIN", b"CURVE", b"NONE"):
            attacker = await bare(secured.services, mechanism=mechanism)
            while await attacker.throw(zmtp(0, configuration(2, 0, OURS)) + 10_000 * zmtp(MORE, b"A")):
                pass
            await asyncio.wait_for(attacker.rest(), 30)
            attacker.leave()
        after = secured.stand()
        assert after["refused"] > before["refused"]
        assert after["services"] == [NEW, OLD]
    siege.check(COARSE)
    assert siege.counts == {}


async def test_attack_the_key_of_one_service_opens_no_others_streams(secured: HubArena) -> None:
    """[HUB-7.9] Whoever has a right key may offer a service; what others have stays theirs."""
    own, rogue = secured.curve("service"), secured.curve("rogue")
    async with secured.attacked() as siege, visiting(secured.port) as visitor:
        with (
            RawService(secured.services, curve=own, answer=answer_once) as service,
            RawService(secured.services, curve=rogue) as thief,
        ):
            await service.joins(OURS)
            await thief.joins(THEIRS)
            await visitor.opens(1, OURS, 1, b"mine")
            assert await visitor.hears() == (1, LAST, 1, b"mine")
            thief.says_on(2**20, MESSAGE, 0, b"stolen")
            assert (await thief.is_told())[0].error[1] in {STREAM_NOT_FOUND, ZMQ_STREAM_COLLISION}
            await visitor.still_heard()
    siege.check(COARSE)


# --- memory ------------------------------------------------------------------------------------------------


async def test_attack_T51_frames_that_declare_gigabytes(arena: HubArena) -> None:
    """Disconnected before memory is taken."""
    siege = await throw(arena, thrown.T51)
    assert siege.seen == {"disconnected": 6 * thrown.T51.count}
    assert siege.virtual < 256 * MIB


@pytest.mark.parametrize("attack", [thrown.T52, thrown.T52_LARGE], ids=["small", "large"])
async def test_attack_T52_parts_without_end(arena: HubArena, attack: HubAttack) -> None:
    """ZeroMQ would keep them all; who sends them is cut off, and what he sent is given back."""
    siege = await throw(arena, attack)
    assert siege.seen == {"cut off": 1}
    assert siege.counts[CUT_OFF] == 1


async def test_attack_T52_a_message_of_a_million_parts(arena: HubArena) -> None:
    """It is dropped in bounded steps, and counted as a bad frame, if its sender was not cut off before."""
    siege = await throw(arena, thrown.T52_ENDS)
    assert siege.seen.total() == 1


async def test_attack_T59_connections_that_say_nothing(arena: HubArena) -> None:
    """Each is disconnected when its handshake is overdue."""
    files = arena._files()
    siege = await throw(arena, thrown.T59)
    assert siege.seen == {"disconnected": thrown.T59.count}
    assert await arena._more_files_than(files) == 0
