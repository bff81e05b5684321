"""Bad input of services of the hub, row by row of spec/hub.md 14: the answer, and that nothing else changes.

All rows run against one gateway, in both versions, while twenty honest clients work beside them.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from .conftest import HubArenas
from .hub_arena import HubArena
from .hub_attacker import (
    BAD_FRAME,
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
    ZMQ_STREAM_COLLISION,
    RawService,
    configuration,
    frame,
    read,
    settings,
    visiting,
)
from .hub_judge import NUMBERS, judged
from .hub_thrown import COMMANDS, STATES

KIB = 1024
BOTH = pytest.mark.parametrize("version", [1, 2])
OPEN = -1
"""In a row: the stream that is open."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(hub_arenas: HubArenas) -> AsyncIterator[HubArena]:
    async with judged(hub_arenas) as arena:
        yield arena


# --- before its configuration ------------------------------------------------------------------------------

STRANGE: dict[str, list[bytes]] = {
    "nothing": [b""],
    "one byte": [b"\0"],
    "text": [b"hello, hub"],
    "a message on a stream": [frame(2, 2**20, MESSAGE, 0, b"x")],
    "a last frame on a stream": [frame(2, 2**20, LAST, 0, b"x")],
    "CLOSE of a stream": [frame(2, 2**20, COMMAND, CLOSE)],
    "a PING": [frame(2, 0, COMMAND, PING, b"x")],
    "a first frame on a stream": [frame(2, 2**20, FIRST, 1, b"\0\7")],
    "a message of version 1": [frame(1, 5, MESSAGE, 0, b"x")],
    "two parts": [configuration(2, 0, 7), b""],
    "an empty part before it": [b"", configuration(2, 0, 7)],
    "a hundred parts": 100 * [b"x"],
    "as much as ZeroMQ takes": [bytes(16 * KIB * KIB)],
}


@pytest.mark.parametrize("row", STRANGE)
async def test_what_comes_before_the_configuration(arena: HubArena, row: str) -> None:
    """[HUB-8.1] [HUB-8.8] Told on stream 0, once a second at most; it may still configure itself."""
    number = next(NUMBERS)
    with RawService(arena.services) as service:
        for _ in range(3):
            service.says(*STRANGE[row])
        service.offers(number)
        [told] = await service.is_told()
        assert told.error == (0, BAD_FRAME)
        while told[1] == STREAM_ERROR:  # again, where what was said took more than a second to come
            [told] = await service.is_told()
        assert told == (0, COMMAND, READY, settings(2, 30_000, number))


def no_configurations(version: int) -> dict[str, tuple[bytes, int]]:
    """Configurations that are refused, and why."""
    whole = configuration(version, 0, 1)
    names = {
        "no JSON": b"{]",
        "no object": b"[]",
        "a number": b"7",
        "not UTF-8": b'{"name":"\xff"}',
        "half a character": b'{"name":"\\ud800"}',
        "nested without end": b"[" * 100_000,
        "a name that is no text": b'{"name":7}',
        "a name of 256 bytes": b'{"name":"%s"}' % (b"x" * 256),
        "functions that are no list": b'{"functions":{}}',
        "a function that is no object": b'{"functions":[7]}',
        "a function without a number": b'{"functions":[{"name":"f"}]}',
        "a function of number 256": b'{"functions":[{"number":256}]}',
        "a function of number -1": b'{"functions":[{"number":-1}]}',
        "a function of number true": b'{"functions":[{"number":true}]}',
        "a function of number 1.0": b'{"functions":[{"number":1.0}]}',
        "two functions of one number": b'{"functions":[{"number":1},{"number":1}]}',
    }
    return {
        **{f"{end} bytes": (whole[:end], BAD_FRAME) for end in range(HEADER[version], len(whole))},
        "version 0": (frame(version, 0, FIRST, 0, bytes(7)), BAD_FRAME),
        "version 3": (frame(version, 0, FIRST, 0, b"\3" + bytes(6)), BAD_FRAME),
        "the other version": (frame(version, 0, FIRST, 0, settings(3 - version, 0, 1)), BAD_FRAME),
        **{name: (whole + interface, BAD_FRAME) for name, interface in names.items()},
        "an interface too large": (whole + b'{"doc":"%s"}' % (b"x" * 256 * KIB), LIMIT),
    }


@pytest.mark.parametrize(
    ("version", "row"), [(version, row) for version in (1, 2) for row in no_configurations(version)]
)
async def test_a_configuration_that_is_none(arena: HubArena, version: int, row: str) -> None:
    """[HUB-8.5] [HUB-11.3] Refused each time, as the first and when another is in force, which stays so."""
    data, code = no_configurations(version)[row]
    number = next(NUMBERS)
    with RawService(arena.services, version) as service:
        service.says(data)
        service.says(data)
        assert [told.error for told in await service.is_told(2)] == 2 * [(0, code)]
        await service.joins(number)
        service.says(data)
        assert [told.error for told in await service.is_told()] == [(0, code)]
        async with visiting(arena.port) as visitor:
            await visitor.opens(1, number, 1, b"still offered")
            [told] = await service.is_told()
            assert told.body == b"still offered"


@BOTH
async def test_the_largest_interface_is_taken(arena: HubArena, version: int) -> None:
    """And told byte for byte [HUB-11.1]."""
    number, interface = next(NUMBERS), b'{"doc":"%s"}' % (b"x" * (256 * KIB - 10))
    with RawService(arena.services, version) as service:
        await service.joins(number, interface=interface)
        async with visiting(arena.port, version) as visitor:
            await visitor.opens(1, number, 0)
            assert await visitor.hears() == (1, LAST, 0, interface)


# --- after it ----------------------------------------------------------------------------------------------


def rows(version: int) -> dict[str, tuple[int, int, int, int]]:
    """Stream, state and parameter of a frame, and the stream of the error that answers it."""
    in_use = range(16) if version == 1 else range(256)
    states = {f"state {n}": (OPEN, n, 0, OPEN) for n in STATES[::7] if n in in_use}
    commands = {f"command {n}": (OPEN, COMMAND, n, OPEN) for n in COMMANDS[::20]}
    return {
        **states,
        **commands,
        "a state not in use on stream 0": (0, 7, 0, 0),
        "a command not in use on stream 0": (0, COMMAND, 77, 0),
        "a first frame": (OPEN, FIRST, 1, OPEN),
        "an error of the hub's": (OPEN, STREAM_ERROR, 1, OPEN),
        "PING on a stream": (OPEN, COMMAND, PING, OPEN),
        "PONG on a stream": (OPEN, COMMAND, PONG, OPEN),
        "READY on a stream": (OPEN, COMMAND, READY, OPEN),
        "a message on stream 0": (0, MESSAGE, 0, 0),
        "a last frame on stream 0": (0, LAST, 0, 0),
        "a service's error on stream 0": (0, SERVICE_ERROR, 0, 0),
        "READY on stream 0": (0, COMMAND, READY, 0),
        "an error of the hub's on stream 0": (0, STREAM_ERROR, 1, 0),
    }


@pytest.mark.parametrize(("version", "row"), [(version, row) for version in (1, 2) for row in rows(version)])
async def test_what_a_service_does_not_send(arena: HubArena, version: int, row: str) -> None:
    """[HUB-7.10] [HUB-14.1] The stream that is open stays as it was, and its client hears nothing of it."""
    stream, state, parameter, answered = rows(version)[row]
    number = next(NUMBERS)
    async with visiting(arena.port, version) as visitor:
        with RawService(arena.services, version) as service:
            await service.joins(number)
            await visitor.opens(1, number)
            [opened] = await service.is_told()
            id_ = opened.stream
            service.says_on(id_ if stream == OPEN else stream, state, parameter, b"x")
            [told] = await service.is_told()
            assert told.error == (id_ if answered == OPEN else answered, BAD_FRAME)
            service.says_on(id_, LAST, 9, b"as it was")
            assert await visitor.hears() == (1, LAST, 9, b"as it was")
            await service.still_heard()


def no_frames(version: int) -> dict[str, list[bytes]]:
    return {
        "nothing": [b""],
        "a byte less than the header": [bytes(HEADER[version] - 1)],
        "two parts": 2 * [frame(version, 0, COMMAND, PING)],
        "seven parts": 7 * [frame(version, 0, COMMAND, PING)],
        "a thousand parts": 1_000 * [frame(version, 0, COMMAND, PING)],
        "no part but an empty one": [b"", b""],
    }


@BOTH
@pytest.mark.parametrize("row", no_frames(2))
async def test_what_is_no_frame(arena: HubArena, row: str, version: int) -> None:
    """[HUB-8.8] Told once a second, on stream 0."""
    with RawService(arena.services, version) as service:
        await service.joins(next(NUMBERS))
        for _ in range(5):
            service.says(*no_frames(version)[row])
        assert [told.error for told in await service.is_told()] == [(0, BAD_FRAME)]
        await service.still_heard()


@BOTH
async def test_a_stream_that_nobody_has_and_one_of_another(arena: HubArena, version: int) -> None:
    """[HUB-7.9] Of the one it is told once in five seconds, of the other each time; no client is."""
    mine, other = next(NUMBERS), next(NUMBERS)
    async with visiting(arena.port) as visitor:
        with RawService(arena.services, version) as service, RawService(arena.services, version) as thief:
            await service.joins(mine)
            await thief.joins(other)
            await visitor.opens(1, mine)
            [opened] = await service.is_told()
            absent = 2**20 - 1 if version == 1 else 2**32 - 1
            for _ in range(3):
                thief.says_on(absent, MESSAGE, 0, b"x")
                thief.says_on(opened.stream, LAST, 0, b"stolen")
            told = [one.error for one in await thief.is_told(4)]
            assert told == [(absent, STREAM_NOT_FOUND), *3 * [(opened.stream, ZMQ_STREAM_COLLISION)]]
            await thief.still_heard()
            service.says_on(opened.stream, LAST, 0, b"right")
            assert await visitor.hears() == (1, LAST, 0, b"right")


@BOTH
async def test_a_goodbye_of_a_service(arena: HubArena, version: int) -> None:
    """[HUB-8.7] It gets nothing new and finishes what it has; a configuration takes that back."""
    number = next(NUMBERS)
    async with visiting(arena.port) as visitor:
        with RawService(arena.services, version) as service:
            await service.joins(number)
            await visitor.opens(1, number)
            [opened] = await service.is_told()
            service.says_on(0, COMMAND, CLOSE)
            await service.still_heard()
            await visitor.opens(2, number)
            assert (await visitor.hears()).error == (2, ENDPOINT_NOT_FOUND)
            service.says_on(opened.stream, LAST, 0, b"done")
            assert await visitor.hears() == (1, LAST, 0, b"done")
            await service.joins(number)
            await visitor.opens(3, number, 1, b"again")
            assert (await service.is_told())[0].body == b"again"


async def test_what_begins_like_a_configuration_shows_its_version(arena: HubArena) -> None:
    """[HUB-3.4] The answer is in the version that was shown."""
    for version in (1, 2):
        with RawService(arena.services, version) as service:
            service.says(configuration(version)[: HEADER[version] + 3])
            [told] = await service.is_told()
            assert told == read(version, frame(version, 0, STREAM_ERROR, BAD_FRAME, told.body))
