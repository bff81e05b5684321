"""The hub at its sockets: what comes, what goes, and who cannot take it."""

import asyncio
import logging

import pytest

from framehub.codes import HubCommand, HubError
from framehub.errors import ConfigError
from framehub.hub.headers import HubFrame
from framehub.hub.settings import HubSettings
from framehub.runtime.curve import CurveClient, CurveServer, new_keys
from framehub.runtime.hub import Hub
from framehub.runtime.watchdog import CUT_OFF

from .hub_parts import (
    COMMAND,
    FIRST,
    INTERFACE,
    LAST,
    MESSAGE,
    STREAM_ERROR,
    Caller,
    RawService,
    hub_at_work,
    until,
)


@pytest.mark.parametrize("client_version", [1, 2])
@pytest.mark.parametrize("service_version", [1, 2])
async def test_a_stream_goes_there_and_back_whatever_each_side_speaks(
    client_version: int, service_version: int
) -> None:
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub, version=service_version).registers()
        caller = await Caller.open(listener, version=client_version)
        caller.opens(5, b"one", function=3)
        (first,) = await service.hears()
        assert (first.state, first.parameter, first.body, first.number) == (FIRST, 3, b"one", 0)
        assert (first.stream >= 1 << 20) == (service_version == 2)
        caller.tells(5, b"two")
        caller.tells(5, b"", LAST)
        assert [frame.body for frame in await service.hears(2)] == [b"two", b""]
        service.answers(first, b"three")
        service.answers(first, b"four", LAST)
        assert [await caller.hears(), await caller.hears()] == [
            HubFrame(5, MESSAGE, 0, b"three"),
            HubFrame(5, LAST, 0, b"four"),
        ]
        assert hub.pending == 0
        service.close()
        await caller.end()


async def test_a_client_that_goes_is_told_to_its_services() -> None:
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        (first,) = await service.hears()
        await caller.end()
        (told,) = await service.hears()
        assert (told.stream, told.state, told.parameter) == (
            first.stream,
            STREAM_ERROR,
            HubError.CLIENT_DISCONNECT,
        )
        await until(lambda: not hub.switch.clients)
        service.close()


async def test_a_service_that_goes_is_told_to_its_clients_at_once() -> None:
    async with hub_at_work(settings=HubSettings(dead_after=600)) as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        await service.hears()
        service.close()
        assert await caller.hears_error() == (1, HubError.SERVICE_DISCONNECT)
        caller.opens(2)
        assert await caller.hears_error() == (2, HubError.ENDPOINT_NOT_FOUND)
        await caller.end()


async def test_a_service_that_says_nothing_is_dead_after_a_while() -> None:
    async with hub_at_work(settings=HubSettings(heartbeat=0.1, dead_after=0.3)) as (hub, listener):
        service = await RawService(hub, is_polite=False).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        await service.hears()
        assert await caller.hears_error() == (1, HubError.SERVICE_DISCONNECT)
        service.close()
        await caller.end()


@pytest.mark.parametrize("parts", [[b"", b""], [b"x"] * 20])
async def test_a_message_that_has_not_one_part_is_refused(parts: list[bytes]) -> None:
    async with hub_at_work() as (hub, _):
        service = await RawService(hub).registers()
        service.socket.send(parts)
        (told,) = await service.hears()
        assert (told.stream, told.state, told.parameter) == (0, STREAM_ERROR, HubError.BAD_FRAME)
        service.close()


async def test_nothing_is_read_while_paused() -> None:
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        await until(lambda: hub.switch.clients)
        hub.pause()
        hub.pause()
        later = await Caller.open(listener)
        caller.opens(1)
        later.opens(1)
        service.says(HubFrame(0, COMMAND, HubCommand.PING, b"?"))
        await asyncio.sleep(0.5)
        assert (service.frames, hub.pending) == ([], 0)
        hub.resume()
        hub.resume()
        assert {frame.state for frame in await service.hears(3)} == {FIRST, COMMAND}
        service.close()
        await caller.end()
        await later.end()


async def test_while_draining_what_is_open_goes_on_and_nothing_new_is_taken() -> None:
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        (first,) = await service.hears()
        hub.drain()
        caller.opens(2)
        assert await caller.hears_error() == (2, HubError.BUSY)
        service.answers(first, b"done", LAST)
        assert (await caller.hears()).body == b"done"
        service.close()
        await caller.end()


async def test_who_is_left_at_the_end_is_told() -> None:
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub).registers()
        polite, rude = await Caller.open(listener), await Caller.open(listener)
        polite.opens(1)
        rude.opens(1)
        await service.hears(2)
        closing = asyncio.ensure_future(hub.close())
        assert await polite.raw.close_code() == 1001
        assert [frame.parameter for frame in await service.hears(2)] == [HubError.CLIENT_DISCONNECT] * 2
        await closing
        assert hub.pending == 0
        await hub.close()
        service.close()
        await polite.end()
        await rude.end()


async def test_a_client_without_a_socket_that_does_not_go_is_left_behind() -> None:
    class Deaf:
        """Never goes."""

        heard: list[bytes]

        def send(self, data: bytes) -> bool:
            return True

        def pause(self, why: str) -> None: ...

        def resume(self, why: str) -> None: ...

        def close(self, code: int, reason: str) -> None: ...

    async with hub_at_work() as (hub, _):
        client = hub.join(Deaf(), user=9)
        await hub.close()
        assert client.is_gone
        hub.left(client, 1000, "")


async def test_an_address_that_is_taken_is_refused() -> None:
    async with hub_at_work() as (hub, _):
        other = Hub(services=hub.address)
        with pytest.raises(ConfigError, match="cannot listen"):
            await other.start()
        assert other.pending == 0
        await other.close()


async def test_a_failure_of_ours_ends_one_stream_and_the_connection_stays(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[HUB-10.7] Something of ours fails for frames that say so: nobody else notices."""
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        for stream in (1, 2, 3):
            caller.opens(stream)
        first, second, third = await service.hears(3)
        switch = hub.switch
        client_says, service_says, hold = switch.client_says, switch.service_says, switch.hold

        def fails_client(client, data, now):  # type: ignore[no-untyped-def]
            if b"fail" in bytes(data):
                raise ZeroDivisionError
            return client_says(client, data, now)

        def fails_service(identity, parts, now):  # type: ignore[no-untyped-def]
            if parts[0].endswith(b"fail"):
                raise ZeroDivisionError
            return service_says(identity, parts, now)

        def fails_hold(client, data, stream, now):  # type: ignore[no-untyped-def]
            raise ZeroDivisionError

        monkeypatch.setattr(switch, "client_says", fails_client)
        monkeypatch.setattr(switch, "service_says", fails_service)
        monkeypatch.setattr(switch, "hold", fails_hold)
        caller.tells(1, b"fail")
        assert await caller.hears_error() == (1, HubError.INTERNAL)
        caller.opens(4, b"fail")
        assert await caller.hears_error() == (4, HubError.INTERNAL)
        service.answers(second, b"fail")
        assert await caller.hears_error() == (2, HubError.INTERNAL)
        told = [(frame.stream, frame.parameter) for frame in await service.hears(2)]
        assert told == [(one.stream, HubError.INTERNAL) for one in (first, second)]
        service.socket.send([b"fail"])
        service.socket.send([b"\0\0\0\1\0\0fail"])
        (client,) = switch.clients
        client.is_full = True
        service.answers(third, b"cannot wait")
        assert await caller.hears_error() == (3, HubError.INTERNAL)
        client.is_full = False
        caller.says_bytes(b"fail"[:3])
        assert await caller.raw.close_code() == 1002
        assert "could not be handled" in caplog.text
        assert "cannot wait" not in caplog.text
        assert hold is not None
        service.close()
        await caller.end()


async def test_keys_decide_who_is_a_service() -> None:
    server, friend, stranger = new_keys(), new_keys(), new_keys()
    async with hub_at_work(keys=CurveServer(server[1], [friend[0]])) as (hub, _):
        service = await RawService(hub, curve=CurveClient(server[0], friend[1])).registers()
        rogue = RawService(hub, curve=CurveClient(server[0], stranger[1]))
        rogue.configures()
        await until(lambda: hub._socket.refused)
        assert len(hub.switch.instances) == 1
        service.close()
        rogue.close()


async def test_an_identity_under_another_key_is_counted() -> None:
    server, friend, other = new_keys(), new_keys(), new_keys()
    async with hub_at_work(keys=CurveServer(server[1], [friend[0], other[0]])) as (hub, _):
        mine = RawService(hub, identity=b"me", curve=CurveClient(server[0], friend[1]))
        await mine.registers()
        mine.close()
        while not hub.switch.counts["under another service's identity"]:  # the other one's end is noticed
            thief = RawService(hub, identity=b"me", curve=CurveClient(server[0], other[1]))
            thief.configures()
            await asyncio.sleep(0.1)
            thief.close()
        assert not any(instance.identity == b"me" for instance in hub.switch.instances.values())


async def test_what_happened_is_told_in_one_line_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "framehub.hub"):
        async with hub_at_work() as (hub, listener):
            caller = await Caller.open(listener)
            caller.opens(1)
            await caller.hears_error()
            service = await RawService(hub).registers(interface=INTERFACE)
            await until(lambda: "endpoint_not_found to clients: 1" in caplog.text)
            assert "service 7 'calc' came" in caplog.text
            service.close()
            await until(lambda: "service 7 'calc' has gone" in caplog.text)
            await caller.end()


async def test_who_sends_a_message_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is what the test says; an honest service beside it is served."""
    memory = 100 << 20
    monkeypatch.setattr("framehub.runtime.watchdog.resident", lambda: memory)
    part = b"\x01\xff" + bytes(255)
    async with hub_at_work() as (hub, _):
        honest = await RawService(hub).registers()
        _, port = hub.address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        writer.write(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
        ready = b"\x05READY" + b"\x0bSocket-Type" + (6).to_bytes(4, "big") + b"DEALER"
        writer.write(bytes((4, len(ready))) + ready)
        memory += 65 << 20
        await until(lambda: hub.watchdog.is_watching)
        writer.write(part * 12_288)
        while not hub.switch.counts[CUT_OFF]:
            memory += 20 << 20
            honest.says(HubFrame(0, COMMAND, HubCommand.PING, b"?"))
            await honest.hears()
        assert hub.watchdog.cut_off == 1
        writer.close()
        honest.close()
        assert await reader.read(1 << 20) is not None


async def test_many_frames_at_once_are_passed_on_in_parts() -> None:
    async with hub_at_work() as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        (first,) = await service.hears()
        for number in range(100):
            caller.tells(1, b"%d" % number)
        assert [frame.body for frame in await service.hears(100)] == [b"%d" % n for n in range(100)]
        for number in range(100):
            service.answers(first, b"%d" % number)
        assert [(await caller.hears()).body for _ in range(100)] == [b"%d" % n for n in range(100)]
        service.close()
        await caller.end()
