"""The hub between a fast side and a slow one."""

import asyncio

import pytest

from framehub.codes import HubError
from framehub.hub.settings import HubSettings
from framehub.runtime.zmq_setup import LARGEST_MESSAGE, Options

from .hub_parts import LAST, MESSAGE, STREAM_ERROR, Caller, RawService, hub_at_work, until

SMALL = Options(max_parts=8, queue=2, heartbeat=0)
"""Queues that are soon full; with heartbeats a dealer's would have no limit."""
PATIENT = HubSettings(busy_after=600, dead_after=600)


async def test_what_a_service_does_not_take_waits_and_goes_out_in_order() -> None:
    async with hub_at_work(options=SMALL, settings=PATIENT) as (hub, listener):
        service = await RawService(hub, options=SMALL).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        await service.hears()
        service.socket.pause()
        bodies = [bytes([number]) * 60_000 for number in range(200)]
        for body in bodies:
            caller.tells(1, body)
        await until(lambda: hub.switch.stuck)
        other = await Caller.open(listener)
        other.opens(2)
        assert await other.hears_error() == (2, HubError.BUSY)
        service.socket.resume()
        assert [frame.body for frame in await service.hears(200)] == bodies
        await until(lambda: not hub.switch.held_bytes)
        service.close()
        await caller.end()
        await other.end()


async def test_a_client_is_not_read_while_much_of_its_own_waits() -> None:
    """[HUB-12.4]"""
    async with hub_at_work(options=SMALL, settings=PATIENT) as (hub, listener):
        service = await RawService(hub, options=SMALL).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        await service.hears()
        (client,) = hub.switch.clients
        service.socket.pause()

        async def speak() -> None:
            for _ in range(400):
                caller.tells(1, bytes(60_000))
                await caller.raw.writer.drain()

        speaking = asyncio.ensure_future(speak())
        await until(lambda: client.is_paused)
        await asyncio.sleep(0.2)
        assert client.waiting_bytes < 2 << 20
        service.socket.resume()
        await service.hears(400)
        await speaking
        assert not client.is_paused
        service.close()
        await caller.end()


async def test_what_a_stuck_service_takes_too_late_is_busy() -> None:
    async with hub_at_work(options=SMALL, settings=HubSettings(busy_after=0.2, dead_after=600)) as (
        hub,
        listener,
    ):
        service = await RawService(hub, options=SMALL).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        (first,) = await service.hears()
        service.socket.pause()
        for _ in range(200):
            caller.tells(1, bytes(60_000))
        assert await caller.hears_error() == (1, HubError.BUSY)
        service.socket.resume()
        while (frame := (await service.hears())[0]).state is MESSAGE:
            pass
        assert (frame.stream, frame.state, frame.parameter) == (first.stream, STREAM_ERROR, HubError.BUSY)
        service.close()
        await caller.end()


async def test_a_stuck_service_that_goes_takes_what_waits_with_it() -> None:
    async with hub_at_work(options=SMALL, settings=PATIENT) as (hub, listener):
        service = await RawService(hub, options=SMALL).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        await service.hears()
        service.socket.pause()
        for _ in range(200):
            caller.tells(1, bytes(60_000))
        await until(lambda: hub.switch.stuck)
        service.close()
        assert await caller.hears_error() == (1, HubError.SERVICE_DISCONNECT)
        assert hub.switch.held_bytes == 0
        await caller.end()


async def test_what_a_client_does_not_read_waits_and_goes_out_in_order() -> None:
    async with hub_at_work(settings=HubSettings(held_bytes=32 << 20, held_bytes_client=64 << 20)) as (
        hub,
        listener,
    ):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        caller.opens(2)
        first, second = await service.hears(2)
        bodies = [bytes([number]) * 60_000 for number in range(200)]
        for body in bodies:
            service.answers(first, body)
        service.answers(second, b"late")
        (client,) = hub.switch.clients
        await until(lambda: client.held)
        heard = [await caller.hears() for _ in range(201)]
        assert [frame.body for frame in heard if frame.stream == 1] == bodies
        assert heard[-1].stream == 1, "the other stream had its turn before"
        assert not client.held
        service.close()
        await caller.end()


async def test_a_client_too_far_behind_loses_that_stream_only() -> None:
    async with hub_at_work(settings=HubSettings(held_bytes=200_000)) as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        caller.opens(2)
        first, second = await service.hears(2)
        sent = 0
        while not service.frames:
            service.answers(first, bytes(60_000))
            sent += 1
            await asyncio.sleep(0.002)
        (told,) = await service.hears()
        assert (told.stream, told.state, told.parameter) == (first.stream, STREAM_ERROR, HubError.LIMIT)
        service.answers(second, b"still here")
        heard: list[tuple[int, int]] = []
        while len(heard) < 2:
            frame = await caller.hears()
            if frame.state is STREAM_ERROR or frame.stream == 2:
                heard.append((frame.stream, frame.parameter))
        assert sorted(heard) == [(1, HubError.LIMIT), (2, 0)]
        assert sent > 3
        service.close()
        await caller.end()


async def test_of_a_stream_that_is_killed_nothing_comes_after_a_gap() -> None:
    """[HUB-10.1] What the service sent in one go with the frame that was too much is not sent either."""
    async with hub_at_work(settings=HubSettings(held_bytes=200_000)) as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        (first,) = await service.hears()
        sent = 0
        while not service.frames:
            for _ in range(30):
                service.answers(first, sent.to_bytes(4, "big") + bytes(20_000))
                sent += 1
            await asyncio.sleep(0)
        heard: list[int] = []
        while (frame := await caller.hears()).state is MESSAGE:
            heard.append(int.from_bytes(frame.body[:4], "big"))
        assert (frame.state, frame.parameter) == (STREAM_ERROR, HubError.LIMIT)
        assert heard == list(range(len(heard)))
        assert 0 < len(heard) < sent
        service.close()
        await caller.end()


async def test_nothing_is_kept_for_strangers_who_do_not_read() -> None:
    async with hub_at_work(options=SMALL) as (hub, _):
        service = RawService(hub, options=SMALL)
        service.configures(interface=b"no json")
        (told,) = await service.hears()
        assert told.parameter == HubError.BAD_FRAME
        service.socket.pause()
        for _ in range(100):
            service.configures(interface=b"no json" * 10_000)
            await asyncio.sleep(0.001)
        assert (hub.switch.stuck, hub.switch.held_bytes) == ({}, 0)
        service.close()


@pytest.mark.parametrize("reads", ["at once", "late"])
async def test_the_largest_answer_reaches_a_client_which_stays(reads: str) -> None:
    """What a service says at once is not held against the client, who had no chance to read it yet."""
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        (first,) = await service.hears()
        service.answers(first, bytes(LARGEST_MESSAGE - 100), LAST)
        if reads == "late":
            await asyncio.sleep(1.5)
        assert len((await caller.hears()).body) == LARGEST_MESSAGE - 100
        caller.opens(2)
        (second,) = await service.hears()
        service.answers(second, b"still here", LAST)
        assert (await caller.hears()).body == b"still here"
        service.close()
        await caller.end()
