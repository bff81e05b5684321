"""Attacks of clients on a hub. Each takes an arena and a count, and says what it saw."""

import asyncio
import time
from collections import Counter
from functools import partial
from itertools import chain
from itertools import count as counting
from random import Random

from tests.attacks.arena import MIB, Seen
from tests.attacks.attacker import crowd
from tests.attacks.hub_arena import COARSE, OURS, HubArena, HubAttack
from tests.attacks.hub_attacker import (
    BY,
    CLOSE,
    COMMAND,
    FIRST,
    LAST,
    LIMIT,
    MESSAGE,
    STREAM_ERROR,
    RawService,
    Visitor,
    answer_once,
    echo,
    first,
    frame,
    visiting,
)
from tests.attacks.hub_service import ECHO, NEW, OLD, TALK

BURST, RATE = 400, 200
"""Streams that a client may open at once, and in each second after that."""
STRIKES = 16
SOME = 32
RACE = 1_000
"""Guesses on one connection that had a stream closed just before."""
PAIRS = 2_000
WINDOW = 4_096
"""Bytes that an attacker's kernel takes for it, where it is to be behind."""
UNANSWERED = 400
"""Frames of 16 KB that are on their way to a service: less than may wait for it."""
BLOCKED_SECONDS = 0.5
"""Who cannot send for so long is not read."""
BEHIND_SECONDS = 1.0
STATES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, *range(16, 256))
"""Not in use; in version 1 there is room for the first ten."""
COMMANDS = (0, *range(4, 15), *range(16, 256))


async def guess_streams(arena: HubArena, count: int) -> Seen:
    """T35: frames into streams of others: by their clients' numbers, by the hub's, by any."""
    seen: Seen = Counter()
    random = Random(35)
    with RawService(arena.services, answer=echo) as service:
        await service.joins(OURS, timeout=3_600_000)
        async with visiting(arena.port) as victim:
            await victim.says(*(first(2, stream, OURS) for stream in range(1, SOME + 1)))
            for stream in range(1, SOME + 1):
                assert await victim.hears() == (stream, MESSAGE, 1, b"")
            before = service.seen.copy()
            for turn in counting():
                guessed = seen[STREAM_ERROR, 4]
                if guessed >= count:
                    break
                async with visiting(arena.port) as thief:
                    await _guess(thief, seen, random, count - guessed, free=turn % 2 == 1)
                await victim.still_heard()  # nothing else came
            seen["reached the service"] = (service.seen - before).total()
            for stream in range(1, SOME + 1):
                await victim.says_on(stream, MESSAGE, 0, b"mine")
                seen["still its own"] += await victim.hears() == (stream, MESSAGE, 0, b"mine")
    return seen


async def _guess(thief: Visitor, seen: Seen, random: Random, most: int, *, free: bool) -> None:
    """On one connection; ``free``: a stream of its was just closed, and for seconds no guess is a fault."""
    if free:
        await thief.opens(2**31, NEW, ECHO)
        assert (await thief.hears()).state == LAST
    most = min(most, RACE if free else STRIKES + 1)
    try:
        for done in range(0, most, BY):
            ids = [_guessed(random) for _ in range(min(BY, most - done))]
            await thief.says(*(_anything(random, id_) for id_ in ids))
            for id_ in ids:
                told = await thief.hears()
                assert told.stream == id_
                seen[told.state, told.parameter] += 1
        if not free and most > STRIKES:
            await thief.hears()
    except EOFError as end:
        seen["ended with", *end.args] += 1


def _guessed(random: Random) -> int:
    return random.choice(
        (random.randint(1, SOME), 2**20 + random.getrandbits(14), random.randrange(1, 2**31))
    )


def _anything(random: Random, stream: int) -> bytes:
    state = random.choice((MESSAGE, LAST, COMMAND))
    return frame(2, stream, state, CLOSE if state == COMMAND else 0, b"stolen")


async def open_and_last(arena: HubArena, count: int) -> Seen:
    """T39: first and last frames in pairs, as fast as they go, on one connection after another."""
    return await _pairs(arena, count, LAST, 0)


async def open_and_close(arena: HubArena, count: int) -> Seen:
    """T39: the same with CLOSE."""
    return await _pairs(arena, count, COMMAND, CLOSE)


async def _pairs(arena: HubArena, count: int, state: int, parameter: int) -> Seen:
    seen: Seen = Counter()
    ids = range(1, PAIRS + 1)
    with RawService(arena.services, answer=answer_once) as service:
        await service.joins(OURS)
        for _ in range(count):
            opened, began = service.seen[FIRST], time.monotonic()
            async with visiting(arena.port) as attacker:
                pairs = ((first(2, id_, OURS), frame(2, id_, state, parameter)) for id_ in ids)
                throwing = asyncio.create_task(attacker.says(*chain.from_iterable(pairs)))
                heard, code = await attacker.hears_to_the_end()
                await throwing
            await service.still_heard()  # whatever was on its way is there
            most = BURST + RATE * (time.monotonic() - began)
            opened = service.seen[FIRST] - opened
            seen["ended with", code] += 1
            seen["told LIMIT"] += heard[STREAM_ERROR, LIMIT]
            seen["opened"] += opened
            seen["opened too many"] += opened > most
    return seen


async def never_read(arena: HubArena, count: int) -> Seen:
    """T41: so many clients at once that send messages and read no answer."""
    message = frame(2, 1, MESSAGE, 0, bytes(16_000))
    with RawService(arena.services, answer=echo) as service:
        await service.joins(OURS)
        return await _unread(arena, count, [first(2, 1, OURS), *[message] * 2_000], service)


async def never_read_interfaces(arena: HubArena, count: int) -> Seen:
    """T41: the same, asking for interfaces: a few bytes that have a long answer."""
    with RawService(arena.services) as service:
        await service.joins(OURS, interface=b'{"doc":"%s"}' % (b"x" * 250_000))
        return await _unread(arena, count, [first(2, id_, OURS, 0) for id_ in range(1, BURST + 1)])


async def _unread(
    arena: HubArena, count: int, frames: list[bytes], service: RawService | None = None
) -> Seen:
    """All are there until none of them is heard any more, or has something left to say, and then a while.

    A service that answers is given the time for it, or its streams are refused before there is an answer that
    anybody could leave unread.
    """
    seen: Seen = Counter()
    visitors = [await Visitor.come(arena.port, window=WINDOW) for _ in range(count)]
    said = 0

    async def has_answered() -> None:
        for _ in range(20):  # not for ever: some frames are in the sockets of those who are heard no more
            if service is None or said - service.seen.total() <= UNANSWERED:
                return
            await asyncio.sleep(0.005)

    async def one(visitor: Visitor) -> None:
        nonlocal said
        for at in range(0, len(frames), 8):
            await has_answered()
            said += 8
            throwing = asyncio.create_task(visitor.says(*frames[at : at + 8]))
            done, _ = await asyncio.wait([throwing], timeout=BLOCKED_SECONDS)
            if not done:
                throwing.cancel()
                await asyncio.wait([throwing])
            if not done or not throwing.result():
                seen["not heard to the end"] += 1
                return
        seen["heard to the end"] += 1

    try:
        await asyncio.gather(*(one(visitor) for visitor in visitors))
        await asyncio.sleep(BEHIND_SECONDS)
    finally:
        for visitor in visitors:
            visitor.leave()
    return seen


async def every_state(arena: HubArena, count: int) -> Seen:
    """T43: each state and each command that is not in use, on streams of all kinds, in both versions."""
    seen: Seen = Counter()

    async def one(version: int) -> None:
        states = [(state, 0) for state in STATES if version == 2 or state < 16]
        wrong = [*states, *((COMMAND, command) for command in COMMANDS), (STREAM_ERROR, 1), (11, 0)]
        for at in range(0, len(wrong), STRIKES // 2):
            async with visiting(arena.port, version) as visitor:
                await visitor.opens(1, (NEW, OLD)[at % 2], TALK)
                assert (await visitor.hears())[:2] == (1, MESSAGE)
                for state, parameter in wrong[at : at + STRIKES // 2]:
                    for stream in (1, 0):
                        await visitor.says_on(stream, state, parameter, bytes(16))
                        told = await visitor.hears()
                        assert told.stream == stream
                        seen[told.state, told.parameter] += 1
                await visitor.says_on(1, LAST, 0, b"still here")
                last = await visitor.hears()
                seen["still open"] += last == (1, LAST, 0, b"still here")
                await visitor.still_heard()

    await crowd([partial(one, version) for version in (1, 2)] * count, at_once=4)
    return seen


T35 = HubAttack("T35 streams of other clients", guess_streams, 3_000, 1_000_000)
T39 = HubAttack("T39 streams opened and ended", open_and_last, 5, 500)
T39_CLOSE = HubAttack("T39 streams opened and closed", open_and_close, 5, 500)
T41 = HubAttack("T41 answers that nobody reads", never_read, 100, 100, 200 * MIB + COARSE)
T41_LONG = HubAttack("T41 long answers that nobody reads", never_read_interfaces, 30, 100, 384 * MIB)
T43 = HubAttack("T43 states and commands not in use", every_state, 1, 20)
BY_CLIENTS = (T35, T39, T39_CLOSE, T41, T41_LONG, T43)
