"""Attacks of clients on the hub, while twenty honest ones work with two honest services (spec/hub.md)."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from . import hub_thrown as thrown
from .busy import throw
from .conftest import HubArenas
from .hub_arena import COARSE, OURS, HubArena
from .hub_attacker import (
    BAD_FRAME,
    CLIENT_DISCONNECT,
    COMMAND,
    MESSAGE,
    READY,
    STREAM_ERROR,
    STREAM_NOT_FOUND,
    RawService,
    configuration,
    first,
    settings,
    visiting,
)
from .hub_service import NEW, OLD, TALK
from .hub_thrown import BURST, COMMANDS, SOME, STATES, STRIKES

ALL_WRONG = 2 * (len(STATES) + 10 + 2 * len(COMMANDS) + 2 * 2)
"""On two streams each: states in version 2 and in version 1, commands and the states of others in both."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(hub_arenas: HubArenas) -> AsyncIterator[HubArena]:
    """A gateway without keys, whose clients work during all tests of this module."""
    arena = hub_arenas()
    async with arena.with_honest():
        yield arena


async def test_without_an_attack_nothing_grows(arena: HubArena) -> None:
    async with arena.attacked() as siege:
        pass
    siege.check(COARSE)
    assert siege.counts == {}
    assert len(siege.waits) >= 20


async def test_attack_T35_streams_of_other_clients(arena: HubArena) -> None:
    """[HUB-7.1] [HUB-7.2] [HUB-13.2] In full: a million numbers, the victim's own and the hub's among them.

    On some connections a stream has just ended, so that no guess is a fault; the others are sent away.
    """
    siege = await throw(arena, thrown.T35)
    count = thrown.T35.count
    ended = siege.seen.pop(("ended with", 1008))
    assert siege.seen == {
        (STREAM_ERROR, STREAM_NOT_FOUND): count,
        "still its own": SOME,
        "reached the service": 0,
    }
    assert siege.counts["clients that were sent away"] == ended > 0


async def test_attack_T35_one_clients_number_is_anothers(arena: HubArena) -> None:
    """[HUB-7.1] The same number on many connections: to each its own answers; one leaves, the others stay."""
    async with (
        arena.attacked() as siege,
        visiting(arena.port) as one,
        visiting(arena.port, 1) as other,
    ):
        for service in (NEW, OLD):
            for visitor in (one, other):
                await visitor.opens(service, service, TALK, b"v%d" % visitor.version)
                assert await visitor.hears() == (service, MESSAGE, 0, b"v%d" % visitor.version)
        one.leave()
        for service in (NEW, OLD):
            await other.says_on(service, MESSAGE, 0, b"still mine")
            assert await other.hears() == (service, MESSAGE, 0, b"still mine")
    siege.check(COARSE)
    assert siege.counts == {"killed: client_disconnect": 4}


async def test_attack_T39_streams_that_are_opened_and_ended(arena: HubArena) -> None:
    """[HUB-13.1] [HUB-13.3] In full: a million pairs of FIRST and LAST, on 500 connections.

    The service sees the burst and the rate, and no more.
    """
    siege = await throw(arena, thrown.T39)
    count = thrown.T39.count
    assert siege.seen["ended with", 1008] == count
    assert siege.seen["told LIMIT"] == 101 * count
    assert siege.seen["opened too many"] == 0
    assert 0 < siege.seen["opened"] <= BURST * count + 200 * siege.seconds


async def test_attack_T39_streams_that_are_opened_and_closed(arena: HubArena) -> None:
    """[HUB-13.3] The 101st that is closed unanswered ends the connection."""
    siege = await throw(arena, thrown.T39_CLOSE)
    count = thrown.T39_CLOSE.count
    assert siege.seen["ended with", 1008] == count
    assert siege.seen["opened too many"] == 0
    assert 101 * count <= siege.seen["opened"] <= BURST * count + 200 * siege.seconds


async def test_attack_T41_answers_that_nobody_reads(arena: HubArena) -> None:
    """[HUB-12.4] A hundred clients at once, 32 MB each: none is read to the end."""
    siege = await throw(arena, thrown.T41)
    assert siege.seen == {"not heard to the end": thrown.T41.count}


async def test_attack_T41_long_answers_that_nobody_reads(arena: HubArena) -> None:
    """[HUB-12.2] [HUB-12.5] Together they want more than may wait for all; nobody else is refused for it."""
    siege = await throw(arena, thrown.T41_LONG)
    assert siege.seen == {"heard to the end": thrown.T41_LONG.count}


async def test_attack_T43_states_and_commands_that_are_not_in_use(arena: HubArena) -> None:
    """[HUB-2.3] [HUB-4.1] [HUB-7.10] [HUB-14.1] On stream 0, and on one that is open and stays so."""
    siege = await throw(arena, thrown.T43)
    opened = siege.seen.pop("still open")
    assert siege.seen == {(STREAM_ERROR, BAD_FRAME): ALL_WRONG * thrown.T43.count}
    assert opened == ALL_WRONG // STRIKES * thrown.T43.count


CONFIGURED = {0: 30_000, 1: 1_000, 999: 1_000, 5_000: 5_000, 3_600_000: 3_600_000, 2**32 - 1: 3_600_000}


@pytest.mark.parametrize("version", [1, 2])
async def test_attack_T43_configured_twice_and_with_any_timeout(arena: HubArena, version: int) -> None:
    """[HUB-8.2] [HUB-8.4] [HUB-9.2] Clients and services; what is in force is told each time."""
    async with arena.attacked() as siege, visiting(arena.port, version) as visitor:
        with RawService(arena.services, version) as service:
            for asked, force in CONFIGURED.items():
                await visitor.says(configuration(version, asked))
                assert await visitor.hears() == (0, COMMAND, READY, settings(version, force))
                service.offers(OURS, asked)
                ready = (0, COMMAND, READY, settings(version, force, OURS))
                assert await service.is_told() == [ready]
            await visitor.opens(1, OURS)
            [opened] = await service.is_told()
            await visitor.says(configuration(version, 1))
            service.offers(OURS, 2**32 - 1)
            assert (await visitor.hears())[:3] == (0, COMMAND, READY)
            assert (await service.is_told())[0][:3] == (0, COMMAND, READY)
            service.says_on(opened.stream, MESSAGE, 0, b"it goes on")
            assert await visitor.hears() == (1, MESSAGE, 0, b"it goes on")
    siege.check(COARSE)


async def test_attack_clients_that_leave_in_crowds(arena: HubArena) -> None:
    """[HUB-10.2] Without a goodbye, with many streams: the service is told of each, once."""
    streams, clients = 100, 20
    async with arena.attacked() as siege:
        with RawService(arena.services) as service:
            await service.joins(OURS)
            ids = set()
            for _ in range(clients):
                async with visiting(arena.port) as visitor:
                    await visitor.says(*(first(2, stream, OURS) for stream in range(1, streams + 1)))
                    ids |= {told.stream for told in await service.is_told(streams)}
                    visitor.attacker.reset()
                told = await service.is_told(streams)
                assert {one.error[1] for one in told} == {CLIENT_DISCONNECT}
                assert {one.stream for one in told} <= ids
            await asyncio.sleep(0.3)
            assert service.told == []
        assert len(ids) == streams * clients
    siege.check(COARSE)
    assert siege.counts == {"killed: client_disconnect": streams * clients}
