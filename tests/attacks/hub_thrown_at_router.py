"""Attacks on the ROUTER of a hub. Each takes an arena and a count, and says what it saw."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack

from framehub.runtime.watchdog import CUT_OFF
from tests.attacks import thrown_at_routers
from tests.attacks.arena import MIB, Seen
from tests.attacks.attacker import Attacker, crowd
from tests.attacks.hub_arena import OURS, HubArena, HubAttack
from tests.attacks.hub_attacker import (
    BAD_FRAME,
    BUSY,
    BY,
    CLOSE,
    COMMAND,
    LAST,
    LIMIT,
    MESSAGE,
    PONG,
    SERVICE_DISCONNECT,
    SERVICE_ERROR,
    STREAM_ERROR,
    STREAM_NOT_FOUND,
    RawService,
    Told,
    Visitor,
    answer_once,
    configuration,
    echo,
    first,
    frame,
    visiting,
)
from tests.attacks.hub_service import ECHO, NEW
from tests.attacks.hub_thrown import SOME, WINDOW
from tests.attacks.rpc_attacker import bare
from tests.attacks.rpc_attacker import frame as zmtp
from tests.attacks.thrown_at_routers import LARGE_PART, LAST_PART, PART

THEIRS = 67
"""The number of a rogue service."""
ENDED = ((MESSAGE, 0), (LAST, 0), (SERVICE_ERROR, 9), (COMMAND, CLOSE))
"""What a service may say on a stream."""
STRANGERS = 20
REFUSED = "bad_frame to services"
FLOODED = 1_000
"""Bytes of a frame of a flood."""
UNREAD_STREAMS = 2
LARGE = 8 * MIB
PINGS_A_SECOND = 30
"""What the two honest services may be asked for signs of life, and room."""


async def use_others_streams(arena: HubArena, count: int) -> Seen:
    """T36: a service that answers on the streams of others, by all numbers that the hub may have given."""
    seen: Seen = Counter()
    with RawService(arena.services) as service, RawService(arena.services) as rogue:
        await service.joins(OURS)
        await rogue.joins(THEIRS)
        async with visiting(arena.port) as victim:
            await victim.says(*(first(2, stream, OURS) for stream in range(1, SOME + 1)))
            opened = [told.stream for told in await service.is_told(SOME)]
            for version, ids in ((2, opened), (2, range(2**20, 2**20 + count)), (1, range(1, count // 4))):
                with RawService(arena.services, version) as thief:
                    await thief.joins(THEIRS)
                    for told in await _say_all(thief, ids):
                        seen[told.state, told.parameter] += 1
            await victim.still_heard()  # nothing reached it
            for stream, hub_id in enumerate(opened, 1):
                service.says_on(hub_id, LAST, 0, b"right")
                seen["answered by the right one"] += await victim.hears() == (stream, LAST, 0, b"right")
    return seen


async def _say_all(thief: RawService, ids: Iterable[int]) -> list[Told]:
    """One frame on each of these streams; what was answered, for each once."""
    ids, heard = list(ids), []
    for start in range(0, len(ids), BY):
        some = ids[start : start + BY]
        for id_ in some:
            state, parameter = ENDED[id_ % 4]
            thief.says_on(id_, state, parameter, b"stolen")
        told = await thief.is_told(len(some))
        assert [one.stream for one in told] == some
        heard += told
    return heard


async def flood_one_client(arena: HubArena, count: int) -> Seen:
    """T42: so many frames to a client that reads a few of them; it has another stream."""
    seen: Seen = Counter()
    body = bytes(FLOODED)
    with RawService(arena.services) as service, RawService(arena.services, answer=echo) as other:
        await service.joins(OURS)
        await other.joins(THEIRS)
        async with visiting(arena.port, window=WINDOW) as slow:
            await slow.opens(1, OURS)
            [opened] = await service.is_told()
            await slow.opens(2, THEIRS)
            assert (await slow.hears())[:2] == (2, MESSAGE)
            for start in range(0, count, BY):
                for n in range(start, start + BY):
                    service.says_on(opened.stream, MESSAGE, 0, n.to_bytes(4, "big") + body)
                await asyncio.sleep(0)
                if service.told:
                    break
            [cut] = await service.is_told()
            seen["the service is told", cut.stream == opened.stream, *cut[1:3]] += 1
            expected = 0
            while (told := await slow.hears())[:2] == (1, MESSAGE):
                assert told.body[:4] == expected.to_bytes(4, "big"), "a frame is missing"
                expected += 1
            seen["the client is told", *told[:3]] += 1
            await slow.says_on(2, MESSAGE, 0, b"and here")
            seen["the other stream"] += await slow.hears() == (2, MESSAGE, 0, b"and here")
            service.told.clear()
    return seen


async def take_a_living_identity(arena: HubArena, count: int) -> Seen:
    """T45: come under the identity of a service that is there, and wait for its streams."""
    seen: Seen = Counter()
    own, rogue = (arena.curve("service"), arena.curve("rogue")) if arena.keys else (None, None)
    with RawService(arena.services, answer=answer_once, identity=b"victim", curve=own) as victim:
        await victim.joins(OURS)
        for version in (2, 1):
            with RawService(arena.services, version, identity=b"victim", curve=rogue) as thief:
                await thief.is_connected()
                thief.offers(OURS)
                thief.offers(THEIRS)
                async with visiting(arena.port) as visitor:
                    for id_ in range(1, count + 1):
                        await visitor.opens(id_, OURS, 1, b"%d" % id_)
                        seen["right"] += await visitor.hears() == (id_, LAST, 1, b"%d" % id_)
                seen["stolen"] += len(thief.told) + thief.pings
    return seen


async def flood_unregistered(arena: HubArena, count: int) -> Seen:
    """Peers that never configure themselves and say everything else."""
    seen: Seen = Counter()
    began, before = time.monotonic(), arena.counts()[REFUSED]
    with ExitStack() as stack:
        strangers = [stack.enter_context(RawService(arena.services)) for _ in range(STRANGERS)]
        for n in range(count // STRANGERS):
            for stranger in strangers:
                state, parameter = ENDED[n % 4]
                stranger.says_on(2**20 + n, state, parameter, b"hello")
            if not n % BY:
                await asyncio.sleep(0)
        await arena.until(lambda stand: stand["counts"].get(REFUSED, 0) - before >= count)
        seconds = math.ceil(time.monotonic() - began) + 1
        for stranger in strangers:
            seen.update(told[:3] for told in stranger.told)
    seen["told too often"] = max(0, seen[0, STREAM_ERROR, BAD_FRAME] - STRANGERS * seconds)
    return seen


async def come_and_go(arena: HubArena, count: int) -> Seen:
    """Services that register and leave at once."""
    seen: Seen = Counter()

    async def one() -> None:
        with RawService(arena.services) as service:
            await service.joins(THEIRS)
            seen["joined"] += 1

    before, began = arena.of_services()["pings"], time.monotonic()
    await crowd([one] * count, at_once=20)
    pings = arena.of_services()["pings"] - before
    seen["asked too often"] = max(0, pings - math.ceil(PINGS_A_SECOND * (time.monotonic() - began + 1)))
    return seen


async def never_read(arena: HubArena, count: int, *, size: int = 4_000) -> Seen:
    """A service that registers, shows that it lives and reads nothing; so many messages go to it."""
    seen: Seen = Counter()
    still = await bare(arena.services, window=WINDOW)
    await still.throw(zmtp(0, configuration(2, 0, OURS)))
    living = asyncio.create_task(_live(still))
    try:
        await arena.until(lambda stand: OURS in stand["services"])
        async with visiting(arena.port) as visitor:
            streams = range(1, UNREAD_STREAMS + 1)
            await visitor.says(*(first(2, stream, OURS) for stream in streams))
            frames = [frame(2, 1 + n % UNREAD_STREAMS, MESSAGE, 0, bytes(size)) for n in range(count)]
            throwing = asyncio.create_task(visitor.says(*frames))
            dead: set[int] = set()
            while len(dead) < len(streams):
                told = await visitor.hears()
                seen[told.state, told.parameter] += 1
                if told.parameter == BUSY:
                    dead.add(told.stream)
            assert await throwing  # what is left was read, and answered below
            if size <= 4_000:
                await visitor.opens(8, OURS)
                seen["new streams", *(await _after(visitor, 8))[1:3]] += 1
            await visitor.opens(9, NEW, ECHO, b"and here")
            seen["another service"] += await _after(visitor, 9) == (9, LAST, 0, b"and here")
    finally:
        living.cancel()
        await asyncio.wait([living])
        still.leave()
    return seen


async def _after(visitor: Visitor, stream: int) -> Told:
    """What comes on this stream, after the answers to frames on streams that are dead."""
    while (told := await visitor.hears()).stream != stream:
        assert told[1:3] == (STREAM_ERROR, STREAM_NOT_FOUND), told
    return told


async def _live(still: Attacker) -> None:
    while await still.throw(zmtp(0, frame(2, 0, COMMAND, PONG))):  # noqa: ASYNC110
        await asyncio.sleep(0.25)


async def never_read_large(arena: HubArena, count: int) -> Seen:
    """The same with messages as large as clients may send."""
    return await never_read(arena, count, size=MIB - 100)


async def say_much(arena: HubArena, count: int) -> Seen:
    """A service that says as much as fits into a message, again and again, to one that does not read."""
    seen: Seen = Counter()
    with RawService(arena.services) as service:
        await service.joins(OURS)
        async with visiting(arena.port, window=WINDOW) as slow:
            await slow.opens(1, OURS)
            [opened] = await service.is_told()
            for _ in range(count):
                service.says_on(opened.stream, MESSAGE, 0, bytes(LARGE))
                await asyncio.sleep(0)
            await service.until(lambda: not service.waiting)
            while (told := await slow.hears()).state == MESSAGE:
                seen["came"] += 1
            seen["the client is told", *told[:2], told.parameter in {LIMIT, SERVICE_DISCONNECT}] += 1
    return seen


async def declare_sizes(arena: HubArena, count: int) -> Seen:
    """T51."""
    return await thrown_at_routers.declare_sizes((arena.services,), count)


async def never_end(arena: HubArena, count: int) -> Seen:
    """T52."""
    return await thrown_at_routers.never_end((arena.services,), count)


async def never_end_largely(arena: HubArena, count: int) -> Seen:
    """T52: the same with large parts."""
    return await thrown_at_routers.never_end((arena.services,), 20 * count, part=LARGE_PART)


async def end_late(arena: HubArena, count: int) -> Seen:
    """T52: a message that has far too many parts, and an end."""
    seen: Seen = Counter()
    refused, before = arena.counts()[REFUSED], arena.counts()[CUT_OFF]
    attacker = await bare(arena.services)
    await attacker.throw(PART * (count - 1) + LAST_PART)
    stand = await arena.until(
        lambda stand: stand["counts"].get(REFUSED, 0) > refused or stand["counts"].get(CUT_OFF, 0) > before
    )
    seen["heard to the end" if stand["counts"].get(REFUSED, 0) > refused else "cut off"] += 1
    attacker.leave()
    return seen


async def say_nothing(arena: HubArena, count: int) -> Seen:
    """T59."""
    return await thrown_at_routers.say_nothing(arena.services, count)


T36 = HubAttack("T36 streams of other services", use_others_streams, 4_000, 65_536)
T42 = HubAttack("T42 a flood for one slow client", flood_one_client, 40_000, 1_000_000, 320 * MIB)
"""What may wait in ZeroMQ, and what makes the watchdog look."""
T45 = HubAttack("T45 identity of a living service", take_a_living_identity, 100, 400)
T51 = HubAttack("T51 frames of 4 GiB and more, at the hub", declare_sizes, 10, 500)
T52 = HubAttack("T52 parts without end, at the hub", never_end, 30_000_000, 300_000_000, 256 * MIB)
T52_LARGE = HubAttack(
    "T52 large parts without end, at the hub", never_end_largely, 30_000_000, 100_000_000, 384 * MIB
)
T52_ENDS = HubAttack("T52 a million parts, at the hub", end_late, 500_000, 1_000_000, 256 * MIB)
T59 = HubAttack("T59 connections that say nothing, at the hub", say_nothing, 500, 500)
UNREGISTERED = HubAttack("peers that never register", flood_unregistered, 20_000, 200_000)
COMING = HubAttack("services that come and go", come_and_go, 200, 5_000)
UNREAD = HubAttack("a service that does not read", never_read, 5_000, 10_000)
UNREAD_LARGE = HubAttack("a service that does not read large ones", never_read_large, 40, 200)
MUCH = HubAttack("a service that says much", say_much, 12, 12, 256 * MIB)
AT_ROUTER = (
    T36, T42, T45, T51, T52, T52_LARGE, T52_ENDS, T59, UNREGISTERED, COMING, UNREAD, UNREAD_LARGE, MUCH,
)  # fmt: skip
