import asyncio

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import (
    ConnectionClosed,
    HubStreamError,
    LimitExceeded,
    LocalProtocolError,
    ServiceFailed,
    StreamAborted,
)
from framehub.hub.called import Answer
from framehub.hub.headers import HubFrame
from tests.unit.runtime.raw_door import visited

MESSAGE, LAST, FIRST, COMMAND = HubState.MESSAGE, HubState.LAST, HubState.FIRST, HubState.COMMAND
CLOSE = HubFrame(1, COMMAND, HubCommand.CLOSE)


@pytest.mark.parametrize("version", [1, 2])
async def test_a_conversation(version: int) -> None:
    async with visited(version=version) as (door, hub):
        async with hub.open(service=7, function=3, body=b"hi") as stream:
            (first,) = await door.hears()
            assert (first.service, first.parameter, first.body) == (7, 3, b"hi")
            assert (stream.id, stream.is_open, stream.service, stream.function) == (1, True, 7, 3)
            await stream.send(b"one")
            await stream.end(bytearray(b"two"))
            assert await door.hears(2) == [HubFrame(1, MESSAGE, 3, b"one"), HubFrame(1, LAST, 3, b"two")]
            door.answers(b"a")
            door.answers(b"")
            door.answers(b"b", LAST)
            assert [body async for body in stream] == [b"a", b"", b"b"]
            assert not stream.is_open
        assert door.frames == []


async def test_an_empty_last_frame_is_seen_by_who_looks_for_it() -> None:
    async with visited() as (door, hub):
        async with hub.open(7, 1) as stream:
            await door.hears()
            door.answers(b"x", parameter=5)
            door.answers(b"", LAST, parameter=6)
            assert [answer async for answer in stream.answers()] == [
                Answer(b"x", 5),
                Answer(b"", 6, is_last=True),
            ]
        async with hub.open(7, 1) as stream:
            door.answers(b"x", stream=2)
            door.answers(b"", LAST, stream=2)
            assert [body async for body in stream] == [b"x"]


async def test_leaving_ends_what_is_open() -> None:
    async with visited() as (door, hub):
        async with hub.open(7, 1) as stream:
            await door.hears()
            door.answers(b"unread")
        assert await door.hears() == [CLOSE]
        assert not stream.is_open
        with pytest.raises(RuntimeError):
            async with hub.open(7, 1):
                raise RuntimeError
        assert [frame.state for frame in await door.hears(2)] == [FIRST, COMMAND]


async def test_closing_ends_it_and_what_came_can_be_read() -> None:
    async with visited() as (door, hub), hub.open(7, 1) as stream:
        await door.hears()
        door.answers(b"before")
        assert await anext(stream) == b"before"
        await stream.close()
        assert await door.hears() == [CLOSE]
        assert [body async for body in stream] == []
        with pytest.raises(LocalProtocolError, match="is over"):
            await stream.send(b"x")


async def test_errors_come_after_what_had_come() -> None:
    async with visited() as (door, hub):
        async with hub.open(7, 1) as stream:
            await door.hears()
            door.answers(b"before")
            door.answers(b"no", HubState.SERVICE_ERROR)
            assert await anext(stream) == b"before"
            with pytest.raises(ServiceFailed, match="no") as failed:
                await anext(stream)
            assert failed.value.body == b"no"
            with pytest.raises(ServiceFailed):
                await stream.send(b"x")
        async with hub.open(7, 1) as stream:
            door.answers(b"later", HubState.STREAM_ERROR, stream=2, parameter=HubError.BUSY)
            with pytest.raises(HubStreamError, match="BUSY: later") as refused:
                await anext(stream)
            assert refused.value.code is HubError.BUSY
        async with hub.open(7, 1) as stream:
            door.says(HubFrame(3, COMMAND, HubCommand.CLOSE))
            with pytest.raises(StreamAborted, match="the service closed this stream"):
                await anext(stream)


async def test_a_lost_connection_is_told_to_whoever_waits() -> None:
    async with visited() as (door, hub):
        async with hub.open(7, 1) as stream:
            await door.hears()
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            door.link.close(1001, "the gateway stops")
            with pytest.raises(ConnectionClosed, match="1001: the gateway stops"):
                await waiting
            with pytest.raises(ConnectionClosed):
                await stream.send(b"x")
        with pytest.raises(ConnectionClosed):
            async with hub.open(7, 1):
                pass


async def test_all_of_it_as_one_up_to_a_limit() -> None:
    async with visited() as (door, hub):
        async with hub.open(7, 1) as stream:
            await door.hears()
            door.answers(b"ab")
            door.answers(b"cd", LAST)
            assert await stream.read() == b"abcd"
        async with hub.open(7, 1) as stream:
            door.answers(b"ab", stream=2)
            door.answers(b"cd", LAST, stream=2)
            with pytest.raises(LimitExceeded, match="bytes of an answer: 4 is over the limit of 3"):
                await stream.read(3)


async def test_a_stream_is_opened_once_and_by_async_with() -> None:
    async with visited() as (_, hub):
        stream = hub.open(7, 1)
        with pytest.raises(LocalProtocolError, match="not open yet"):
            await stream.send(b"x")
        with pytest.raises(LocalProtocolError, match="not open yet"):
            await anext(stream)
        async with stream:
            pass
        with pytest.raises(LocalProtocolError, match="opened once"):
            async with stream:
                pass
