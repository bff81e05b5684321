"""Bad input of clients of the hub, row by row of spec/hub.md 14: the answer, and that nothing else changes.

All rows run against one gateway, in both versions, while twenty honest clients work beside them.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from .attacker import CUT_OFF, FIN, TEXT, Attacker, ws
from .conftest import HubArenas
from .hub_arena import HubArena
from .hub_attacker import (
    BAD_FRAME,
    CLIENT_DISCONNECT,
    CLOSE,
    COMMAND,
    ENDPOINT_NOT_FOUND,
    FIRST,
    HEADER,
    LAST,
    LIMIT,
    MESSAGE,
    PING,
    PONG,
    READY,
    SERVICE_ERROR,
    STREAM_ERROR,
    STREAM_NOT_FOUND,
    WS_STREAM_COLLISION,
    RawService,
    configuration,
    first,
    frame,
    settings,
    visiting,
)
from .hub_judge import NUMBERS, judged
from .hub_service import ECHO, MUTE, NEW, TALK
from .hub_thrown import COMMANDS, STATES

MIB = 2**20
BOTH = pytest.mark.parametrize("version", [1, 2])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(hub_arenas: HubArenas) -> AsyncIterator[HubArena]:
    async with judged(hub_arenas) as arena:
        yield arena


# --- what ends the connection ------------------------------------------------------------------------------

CLOSED: dict[str, tuple[Callable[[int], bytes], int]] = {
    "a text message": (lambda _: ws(FIN | TEXT, b"hello"), 1003),
    "a message over any limit, declared": (lambda _: ws(FIN | 2, declared=2**40), 1009),
    "a message over the limit": (lambda _: ws(FIN | 2, bytes(MIB + 1)), 1009),
    "a message over the limit, as far as it comes": (
        lambda _: ws(FIN | 2, bytes(MIB + 100), declared=2 * MIB),
        1009,
    ),
    "nothing at all": (lambda _: ws(FIN | 2), 1002),
    "one byte": (lambda _: ws(FIN | 2, b"\0"), 1002),
    "a byte less than the header": (lambda v: ws(FIN | 2, bytes(HEADER[v] - 1)), 1002),
    "a goodbye": (lambda v: ws(FIN | 2, frame(v, 0, COMMAND, CLOSE)), 1000),
}


@BOTH
@pytest.mark.parametrize("row", CLOSED)
async def test_what_ends_the_connection(arena: HubArena, row: str, version: int) -> None:
    """[HUB-6.4] [HUB-10.2] [HUB-10.5] Its streams end at once, and their service is told once for each."""
    sent, code = CLOSED[row]
    async with visiting(arena.port, version) as visitor:
        with RawService(arena.services) as service:
            number = next(NUMBERS)
            await service.joins(number)
            await visitor.says(first(version, 1, number), first(version, 2, number))
            opened = [told.stream for told in await service.is_told(2)]
            await visitor.attacker.throw(sent(version) + ws(FIN | 2, first(version, 3, number)))
            seen, closed = await visitor.hears_to_the_end()
            assert (dict(seen), closed) == ({}, code)
            told = await service.is_told(2)
            assert sorted(one.error for one in told) == [(id_, CLIENT_DISCONNECT) for id_ in opened]
            await service.still_heard()


@BOTH
async def test_the_largest_message_is_taken(arena: HubArena, version: int) -> None:
    async with visiting(arena.port, version) as visitor:
        head = len(first(version, 1, NEW, ECHO))
        await visitor.opens(1, NEW, ECHO, bytes(MIB - head))
        assert await visitor.hears() == (1, LAST, 0, bytes(MIB - head))


# --- what is answered, and the connection stays ------------------------------------------------------------

Rows = dict[str, tuple[list[bytes], list[tuple[int, int]]]]


def rows(version: int) -> Rows:
    """Frames, and the errors that answer them. Stream 1 is open, 2 had its end, 3 the client's last frame."""

    def cut(data: bytes) -> Rows:
        begins = range(HEADER[version], len(data))
        (stream, *_), name = struct.unpack(">I", data[:4]), "configuration" if not data[2] else "first frame"
        number = stream if version == 2 else stream >> 12
        return {f"a {name} of {end} bytes": ([data[:end]], [(number, BAD_FRAME)]) for end in begins}

    def said(stream: int, state: int, parameter: int = 0, rest: bytes = b"") -> list[bytes]:
        return [frame(version, stream, state, parameter, rest)]

    settled = len(settings(version))
    wrong = [state for state in STATES if version == 2 or state < 16]
    return {
        **cut(first(version, 0x7F, NEW)),
        **cut(configuration(version)),
        "settings of version 0": ([frame(version, 0, FIRST, 0, bytes(settled))], [(0, BAD_FRAME)]),
        "settings of version 3": (
            [frame(version, 0, FIRST, 0, b"\3" + bytes(settled - 1))],
            [(0, BAD_FRAME)],
        ),
        "settings of the other version": (
            [frame(version, 0, FIRST, 0, settings(3 - version))],
            [(0, BAD_FRAME)],
        ),
        "bytes after a configuration": ([configuration(version) + b"x"], [(0, BAD_FRAME)]),
        "states that are not in use": (
            [frame(version, 1, state, 0, bytes(20)) for state in wrong[:8]],
            8 * [(1, BAD_FRAME)],
        ),
        "commands that are not in use": (
            [frame(version, 1, COMMAND, command) for command in COMMANDS[:8]],
            8 * [(1, BAD_FRAME)],
        ),
        "an error of the hub's": (said(1, STREAM_ERROR, 1, b"forged"), [(1, BAD_FRAME)]),
        "a service's error": (said(1, SERVICE_ERROR, 0, b"forged"), [(1, BAD_FRAME)]),
        "PING on a stream": (said(1, COMMAND, PING, b"x"), [(1, BAD_FRAME)]),
        "PONG on a stream": (said(1, COMMAND, PONG, b"x"), [(1, BAD_FRAME)]),
        "READY on a stream": (said(1, COMMAND, READY, settings(version)), [(1, BAD_FRAME)]),
        "a message on stream 0": (said(0, MESSAGE, 0, b"x"), [(0, BAD_FRAME)]),
        "a last frame on stream 0": (said(0, LAST, 0, b"x"), [(0, BAD_FRAME)]),
        "READY on stream 0": (said(0, COMMAND, READY, settings(version)), [(0, BAD_FRAME)]),
        "a message after the last frame": (said(3, MESSAGE, 0, b"more"), [(3, BAD_FRAME)]),
        "a second last frame": (said(3, LAST), [(3, BAD_FRAME)]),
        "a first frame on an open stream": ([first(version, 1, NEW)], [(1, WS_STREAM_COLLISION)]),
        "a first frame on one that is over": ([first(version, 2, NEW)], [(2, WS_STREAM_COLLISION)]),
        "a first frame on one that was refused": (
            2 * [first(version, 9, 999)],
            [(9, ENDPOINT_NOT_FOUND), (9, WS_STREAM_COLLISION)],
        ),
        "a service that nobody offers": ([first(version, 9, 999)], [(9, ENDPOINT_NOT_FOUND)]),
        "a message to nothing": (said(9, MESSAGE, 0, b"x"), [(9, STREAM_NOT_FOUND)]),
        "a last frame to nothing": (said(9, LAST, 0, b"x"), [(9, STREAM_NOT_FOUND)]),
        "CLOSE of nothing": (said(9, COMMAND, CLOSE), [(9, STREAM_NOT_FOUND)]),
        "CLOSE of one that is over": (said(2, COMMAND, CLOSE), [(2, STREAM_NOT_FOUND)]),
        "the highest number": (said(2**20 - 1, MESSAGE), [(2**20 - 1, STREAM_NOT_FOUND)]),
    }


@pytest.mark.parametrize(("version", "row"), [(version, row) for version in (1, 2) for row in rows(version)])
async def test_what_is_answered_and_the_connection_stays(arena: HubArena, version: int, row: str) -> None:
    """[HUB-14.1] [HUB-10.6] The streams that are open stay as they were."""
    sent, wanted = rows(version)[row]
    async with visiting(arena.port, version) as visitor:
        await visitor.says(first(version, 1, NEW, TALK), first(version, 2, NEW, ECHO))
        assert sorted([(await visitor.hears())[:2] for _ in range(2)]) == [(1, MESSAGE), (2, LAST)]
        await visitor.says(first(version, 3, NEW, MUTE), frame(version, 3, LAST))
        await visitor.says(*sent)
        assert [(await visitor.hears()).error for _ in wanted] == wanted
        await visitor.still_heard()
        await visitor.says_on(1, MESSAGE, 0, b"as it was")
        assert await visitor.hears() == (1, MESSAGE, 0, b"as it was")


@BOTH
async def test_a_first_frame_that_is_none_uses_up_no_number(arena: HubArena, version: int) -> None:
    """[HUB-7.3] [HUB-8.3]"""
    async with visiting(arena.port, version) as visitor:
        whole = first(version, 1, NEW, ECHO, b"whole")
        await visitor.says(whole[: HEADER[version]], whole)
        assert (await visitor.hears()).error == (1, BAD_FRAME)
        assert await visitor.hears() == (1, LAST, 0, b"whole")


@BOTH
async def test_a_foreign_stream_looks_like_none(arena: HubArena, version: int) -> None:
    """[HUB-7.2] Byte for byte; and its owner goes on."""
    async with visiting(arena.port, version) as owner, visiting(arena.port, version) as other:
        await owner.opens(5, NEW, TALK)
        assert (await owner.hears())[:2] == (5, MESSAGE)
        answers = []
        for stream in (5, 6):
            await other.says_on(stream, MESSAGE, 0, b"x")
            answers.append(await other.hears())
        assert answers[0].body.replace(b"5", b"6") == answers[1].body
        assert [one.error for one in answers] == [(5, STREAM_NOT_FOUND), (6, STREAM_NOT_FOUND)]
        await owner.says_on(5, LAST, 0, b"mine")
        assert await owner.hears() == (5, LAST, 0, b"mine")


@BOTH
async def test_one_stream_too_many(arena: HubArena, version: int) -> None:
    """[HUB-13.1] 256 are open; the next is refused, and one that ends makes room."""
    async with visiting(arena.port, version) as visitor:
        await visitor.says(*(first(version, stream, NEW, MUTE) for stream in range(1, 258)))
        assert (await visitor.hears()).error == (257, LIMIT)
        await visitor.says_on(1, COMMAND, CLOSE)
        assert (await visitor.hears())[:3] == (1, COMMAND, CLOSE)
        await visitor.opens(258, NEW, ECHO, b"room")
        assert await visitor.hears() == (258, LAST, 0, b"room")


# --- what may be done, but not in crowds -------------------------------------------------------------------


def crowds(version: int) -> dict[str, tuple[list[bytes], int]]:
    """Frames of which the last is one too many, and how many of them are answered."""
    ids = range(1, 102)
    pairs = (
        [first(version, id_, NEW, MUTE) for id_ in ids],
        [frame(version, id_, COMMAND, CLOSE) for id_ in ids],
    )
    return {
        "faults": (17 * [frame(version, 0, MESSAGE)], 17),
        "guesses": ([frame(version, id_, MESSAGE) for id_ in range(1, 18)], 17),
        "PINGs": (101 * [frame(version, 0, COMMAND, PING)], 100),
        "CLOSE of what is not answered": (
            [data for pair in zip(*pairs, strict=True) for data in pair],
            101,
        ),
    }


@BOTH
@pytest.mark.parametrize("row", crowds(2))
async def test_what_may_be_done_but_not_in_crowds(arena: HubArena, row: str, version: int) -> None:
    """[HUB-13.2] [HUB-13.3] [HUB-13.4] So many, and not one more."""
    frames, answers = crowds(version)[row]
    async with visiting(arena.port, version) as visitor:
        await visitor.says(*frames)
        seen, code = await visitor.hears_to_the_end()
        assert (seen.total(), code) == (answers, 1008)
    async with visiting(arena.port, version) as visitor:
        await visitor.says(*frames[:-1], first(version, 2**20 - 1, NEW, ECHO))
        while (told := await visitor.hears()).state != LAST:
            assert told.stream < 2**20 - 1


@BOTH
async def test_what_may_have_crossed_is_no_fault(arena: HubArena, version: int) -> None:
    """[HUB-13.2] For five seconds after a stream has ended."""
    async with visiting(arena.port, version) as visitor:
        await visitor.opens(1, NEW, ECHO)
        assert (await visitor.hears()).state == LAST
        await visitor.says(*100 * [frame(version, 1, MESSAGE)])
        for _ in range(100):
            assert (await visitor.hears()).error == (1, STREAM_NOT_FOUND)
        await visitor.still_heard()


@BOTH
async def test_messages_that_nobody_ends_are_not_waited_for_at_once(arena: HubArena, version: int) -> None:
    """Two frames in one WebSocket message are one frame with a long body; half a message is none yet."""
    async with visiting(arena.port, version) as visitor:
        both = first(version, 1, NEW, ECHO, b"one") + first(version, 2, NEW, ECHO, b"two")
        await visitor.attacker.throw(ws(FIN | 2, both)[:-1])
        await asyncio.sleep(0.1)
        await visitor.attacker.throw(both[-1:])
        head = len(first(version, 1, NEW, ECHO))
        assert await visitor.hears() == (1, LAST, 0, both[head:])
        await visitor.still_heard()


# --- before there is a connection --------------------------------------------------------------------------

ASKED: dict[str, tuple[list[str], int]] = {
    "nothing": ([], 101),
    "version 1": (["X-Hub-Version: 1"], 101),
    "version 2": (["X-Hub-Version: 2"], 101),
    "version 3": (["X-Hub-Version: 3"], 400),
    "version 0": (["X-Hub-Version: 0"], 400),
    "no version": (["X-Hub-Version: "], 400),
    "a word": (["X-Hub-Version: two"], 400),
    "two versions": (["X-Hub-Version: 1", "X-Hub-Version: 2"], 400),
    "two in one": (["X-Hub-Version: 1, 2"], 400),
    "a sub-protocol": (["Sec-WebSocket-Protocol: hub.v1"], 101),
    "one of two that is known": (["Sec-WebSocket-Protocol: hub.v9, hub.v2"], 101),
    "none that is known": (["Sec-WebSocket-Protocol: hub.v9"], 400),
    "another path's": (["Sec-WebSocket-Protocol: mfp"], 400),
    "two things": (["X-Hub-Version: 1", "Sec-WebSocket-Protocol: hub.v2"], 400),
    "another origin": (["Origin: https://evil.example"], 403),
    "a friend's origin": (["Origin: https://friend.example"], 101),
}


@pytest.mark.parametrize("row", ASKED)
async def test_what_is_asked_for_before_there_is_a_connection(arena: HubArena, row: str) -> None:
    """[HUB-6.1] [HUB-6.3]"""
    headers, status = ASKED[row]
    attacker, head = await Attacker.asked(arena.port, *headers, path="/hub")
    assert int(head.split()[1]) == status
    if status != 101:
        await attacker.rest()
        assert await attacker.close_code() == CUT_OFF
    attacker.leave()
