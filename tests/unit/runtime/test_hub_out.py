"""What goes to services: how far ahead, and what happens to the rest."""

from time import monotonic

from framehub.codes import HubCommand, HubError
from framehub.hub.headers import HubFrame, Settings, Way, encode
from framehub.hub.settings import HubSettings
from framehub.runtime.hub_window import MARK, WINDOW
from framehub.runtime.zmq_setup import Options

from .hub_parts import COMMAND, FIRST, MESSAGE, NUMBER, Caller, RawService, hub_at_work, tapped, until

PATIENT = HubSettings(busy_after=600, dead_after=600)


async def test_a_service_that_does_not_read_is_not_sent_much() -> None:
    """[HUB-12.6] However many messages ZeroMQ would take."""
    async with hub_at_work(settings=PATIENT, options=Options(max_parts=8, queue=100_000)) as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        await service.hears()
        service.socket.pause()
        bodies = [bytes([number % 256]) * 60_000 for number in range(2 * WINDOW // 60_000)]
        for body in bodies:
            caller.tells(1, body)
        await until(lambda: hub.switch.stuck)
        (window,) = hub._outbox._windows.values()
        assert WINDOW <= window._sent < WINDOW + MARK
        service.socket.resume()
        assert [frame.body for frame in await service.hears(len(bodies))] == bodies
        await until(lambda: not hub.switch.stuck)
        service.close()
        await until(lambda: not hub._outbox._windows)
        await caller.end()


async def test_a_service_that_came_back_hears_nothing_of_streams_of_before() -> None:
    """Not even what was said just before the hub knew."""
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        await service.hears()
        switch, now = hub.switch, monotonic()
        (client,), (instance,) = switch.clients, switch.instances.values()
        hub.says(client, encode(HubFrame(1, MESSAGE, 0, b"for whom?"), 2, Way.CLIENT_TO_HUB))
        switch.service_disconnected(now)
        record = HubFrame(0, FIRST, 0, b"", None, Settings(2, 0, NUMBER))
        switch.service_says(instance.identity, [encode(record, 2, Way.SERVICE_TO_HUB)], now)
        (told,) = await service.hears()
        assert (told.stream, told.parameter) == (0, HubCommand.READY)
        error = await caller.hears()
        assert (error.stream, error.parameter) == (1, HubError.SERVICE_DISCONNECT)
        service.close()
        await caller.end()


async def test_pings_for_that_are_in_the_journal_behind_what_they_ask_for() -> None:
    tap, rows = tapped()
    async with hub_at_work(tap=tap, settings=PATIENT) as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        for _ in range(MARK // 60_000 + 1):
            caller.tells(1, bytes(60_000))
        await service.hears(MARK // 60_000 + 2)
        await until(lambda: any(row["code"] == HubCommand.PONG for row in rows.told))
        story = [(row["kind"], row["direction"], row["code"]) for row in rows.told]
        at = story.index(("command", "out", HubCommand.PING))
        assert story[at - 1] == ("message", "out", None)
        assert (COMMAND.name, MESSAGE.name) == ("COMMAND", "MESSAGE")
        service.close()
        await caller.end()
