import asyncio
from contextlib import AsyncExitStack

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import ConnectionClosed, HubStreamError, RequestTimeout, StreamAborted
from framehub.hub.called import HubClientSettings
from framehub.hub.headers import HubFrame
from tests.unit.runtime.raw_door import visited
from tests.unit.runtime.rpc_parts import until

MESSAGE, LAST, COMMAND = HubState.MESSAGE, HubState.LAST, HubState.COMMAND


async def test_pings_both_ways() -> None:
    async with visited() as (door, hub):
        assert 0 < await hub.ping() < 10
        door.says(HubFrame(0, COMMAND, HubCommand.PING, b"you?"))
        assert await door.hears() == [HubFrame(0, COMMAND, HubCommand.PONG, b"you?")]


async def test_no_pong_in_time() -> None:
    async with visited() as (door, hub):
        door.is_polite = False
        with pytest.raises(RequestTimeout, match=r"no pong in 0.05 s"):
            await hub.ping(timeout=0.05)
        waiting = asyncio.ensure_future(hub.ping())
        await door.hears(2)
        door.link.close(1001, "bye")
        with pytest.raises(ConnectionClosed):
            await waiting
        with pytest.raises(ConnectionClosed):
            await hub.ping()


async def test_a_pong_of_an_earlier_ping_is_none_of_a_later_one() -> None:
    async with visited() as (door, hub):
        door.is_polite = False
        first, second = asyncio.ensure_future(hub.ping()), asyncio.ensure_future(hub.ping())
        asked = await door.hears(2)
        door.says(HubFrame(0, COMMAND, HubCommand.PONG, asked[0].body))
        await first
        assert not second.done()
        door.says(HubFrame(0, COMMAND, HubCommand.PONG, asked[1].body))
        await second


async def test_a_stream_that_is_not_answered_in_time_is_closed() -> None:
    async with visited() as (door, hub):
        async with hub.open(7, 1, timeout=0.2) as stream:
            with pytest.raises(HubStreamError, match=r"TIMEOUT: no answer for 0.2 s") as late:
                await anext(stream)
        assert late.value.code is HubError.TIMEOUT
        assert (await door.hears(2))[1] == HubFrame(1, COMMAND, HubCommand.CLOSE)
        async with hub.open(7, 1, timeout=60) as stream:  # with an alarm already set, and not yet rung
            door.answers(b"in time", LAST, stream=2)
            assert await stream.read() == b"in time"


async def test_streams_are_opened_at_a_pace_that_a_hub_bears() -> None:
    async with visited(settings=HubClientSettings(max_opens=0.001, opens_burst=2)) as (door, hub):
        calls = [asyncio.ensure_future(hub.call(7, 1)) for _ in range(3)]
        await door.hears(4)
        await hub.ping()
        assert door.frames == []  # the third waits for a quarter of an hour
        calls[2].cancel()
        for number in (1, 2):
            door.answers(b"x", LAST, stream=number)
        assert await asyncio.gather(*calls[:2]) == [b"x"] * 2


async def test_whoever_is_ahead_of_the_hub_waits() -> None:
    async with visited() as (door, hub), hub.open(7, 1) as stream:
        await door.hears()
        door.link.pause("test")
        sent = 0

        async def send() -> None:
            nonlocal sent
            for _ in range(300):
                await stream.send(bytes(100_000))
                sent += 1

        sending = asyncio.ensure_future(send())
        before = -1
        while before != sent:  # until it has filled what there is to fill
            before = sent
            await asyncio.sleep(0.3)
        assert 0 < sent < 300
        door.link.resume("test")
        await asyncio.wait_for(sending, 20)
        assert [len(frame.body) for frame in await door.hears(300)] == [100_000] * 300


async def test_whoever_waits_for_room_is_told_when_the_connection_is_lost() -> None:
    async with visited() as (door, hub), hub.open(7, 1) as stream:
        await door.hears()
        door.link.pause("test")

        async def send() -> None:
            while True:
                await stream.send(bytes(1_000_000))

        sending = asyncio.ensure_future(send())
        await asyncio.sleep(0.3)
        door.link.close(1001, "bye")
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(sending, 20)


async def test_what_nobody_reads_is_not_read_from_the_connection_either() -> None:
    settings = HubClientSettings(max_waiting_bytes=50_000)
    async with visited(settings=settings) as (door, hub), hub.open(7, 1) as stream:
        await door.hears()
        for number in range(90):
            door.answers(number.to_bytes(4, "big") + bytes(10_000))
        door.answers(b"", LAST)
        connection = hub._connected()
        await until(lambda: connection.machine.is_full)
        await asyncio.sleep(0.1)
        assert connection.machine.waiting_bytes < 500_000
        numbers = [int.from_bytes(body[:4], "big") async for body in stream]
        assert numbers == list(range(90))


async def test_whoever_does_not_read_loses_the_stream_and_the_others_go_on() -> None:
    settings = HubClientSettings(max_waiting_bytes=100_000, patience=0.4)
    async with visited(settings=settings) as (door, hub), AsyncExitStack() as stack:
        unread = await stack.enter_async_context(hub.open(7, 1))
        read = await stack.enter_async_context(hub.open(7, 1))
        await door.hears(2)
        for _ in range(5):
            door.answers(bytes(50_000))
        door.answers(b"after it", LAST, stream=2)
        assert await asyncio.wait_for(read.read(), 20) == b"after it"
        with pytest.raises(StreamAborted, match=r"nobody read this stream for 0.4 s"):
            await anext(unread)
        assert await door.hears() == [HubFrame(1, COMMAND, HubCommand.CLOSE)]


async def test_a_connection_that_is_lost_while_it_is_held_up() -> None:
    settings = HubClientSettings(max_waiting_bytes=100)
    async with visited(settings=settings) as (door, hub), hub.open(7, 1) as stream:
        await door.hears()
        door.answers(b"came")
        await until(lambda: hub._connected().machine.is_full)
        door.link.close(1001, "bye")
        await asyncio.sleep(0.1)
        assert await anext(stream) == b"came"
        with pytest.raises(ConnectionClosed):
            await anext(stream)


async def test_a_hub_that_gives_no_sign_of_life_is_given_up() -> None:
    async with visited(settings=HubClientSettings(keepalive=0.2)) as (door, hub):
        await asyncio.sleep(0.6)
        assert (await hub.ping()) > 0  # a polite one is not
        door.is_polite = False
        async with hub.open(7, 1) as stream:
            with pytest.raises(ConnectionClosed, match="no sign of life from the hub"):
                await asyncio.wait_for(anext(stream), 20)


async def test_what_the_hub_says_wrong_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with visited() as (door, _):
        door.link.send(b"abc")
        door.says(HubFrame(0, HubState.STREAM_ERROR, HubError.BAD_FRAME, b"?"))
        await until(lambda: len(caplog.records) == 2)
    assert "a frame has at least 6 bytes" in caplog.text
    assert "the hub says BAD_FRAME ?" in caplog.text
