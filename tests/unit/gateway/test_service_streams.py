"""Streams of MFP clients that are streams of the hub."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import StreamAborted
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.hub.headers import HubFrame
from framehub.hub.settings import HubSettings
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.hub import Hub
from framehub.runtime.streams import InStream, OutStream
from tests.unit.gateway.conftest import FREE, INTERFACE
from tests.unit.runtime.hub_parts import LAST, MESSAGE, RawService, until


class Back:
    """What comes back of a stream."""

    def __init__(self) -> None:
        self.endpoints = Endpoints()
        self.data: Any = None
        self.chunks: list[tuple[bytes, bool]] = []
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.endpoints.on_stream("far.calc.add")(self._take)

    async def _take(self, stream: InStream) -> None:
        self.data = stream.data
        try:
            async for chunk in stream:
                self.chunks.append((chunk.data, chunk.is_last))
        except StreamAborted as exc:
            self.over.set_exception(exc)
        else:
            self.over.set_result(None)


async def without_end(out: OutStream) -> None:
    while True:
        await out.write(b"in vain")
        await asyncio.sleep(0.01)


async def test_a_stream_goes_both_ways(gateway: Gateway, service: RawService) -> None:
    """[HUB-15.6] [HUB-15.7]"""
    back = Back()
    async with connect(gateway.url, endpoints=back.endpoints) as peer:
        async with peer.stream("far.calc.add", {"a": 1}) as out:
            (first,) = await service.hears()
            assert (first.parameter, first.body) == (1, b'{"a":1}')
            await out.write(b"one")
            await out.write_data(b"two")
            one, two = await service.hears(2)
            assert [(frame.state, frame.body) for frame in (one, two)] == [
                (MESSAGE, b"one"),
                (MESSAGE, b"two"),
            ]
            service.answers(first, b"three")
        (last,) = await service.hears()
        assert (last.state, last.body) == (LAST, b"")
        service.answers(first, b"")
        service.answers(first, b"four", LAST)
        await asyncio.wait_for(back.over, 20)
        assert back.data == {"stream": out._ref}
        assert back.chunks == [(b"three", False), (b"", False), (b"four", False)]


async def test_a_last_frame_with_data_is_the_last(gateway: Gateway, service: RawService) -> None:
    """[HUB-15.6]"""
    back = Back()
    async with connect(gateway.url, endpoints=back.endpoints) as peer:
        async with peer.stream("far.calc.add") as out:
            await out.write_data(b"one")
            await out.finish(b"two")
        first, one, last = await service.hears(3)
        assert [(frame.state, frame.body) for frame in (one, last)] == [(MESSAGE, b"one"), (LAST, b"two")]
        service.answers(first, b"", LAST)
        await asyncio.wait_for(back.over, 20)
        assert back.chunks == []


async def test_an_error_is_the_last_frame(gateway: Gateway, hub: Hub, service: RawService) -> None:
    """[HUB-15.7]"""
    back = Back()
    async with connect(gateway.url, endpoints=back.endpoints) as peer:
        out = await peer.stream("far.calc.add").__aenter__()
        (first,) = await service.hears()
        service.says(HubFrame(first.stream, HubState.SERVICE_ERROR, 0, b"no"))
        await asyncio.wait_for(back.over, 20)
        with pytest.raises(StreamAborted):
            await without_end(out)
        assert back.chunks == [(b'{"code":"service_error","message":"no"}', True)]
        await until(lambda: not hub.pending)


async def test_too_much_in_one_frame_ends_the_stream(gateway: Gateway, hub: Hub, service: RawService) -> None:
    back = Back()
    async with connect(gateway.url, endpoints=back.endpoints) as peer:
        out = await peer.stream("far.calc.add").__aenter__()
        (first,) = await service.hears()
        await out.write_data(bytes(200_000))
        (closed,) = await service.hears()
        assert (closed.stream, closed.parameter) == (first.stream, HubCommand.CLOSE)
        await asyncio.wait_for(back.over, 20)
        ((error, is_last),) = back.chunks
        assert error.startswith(b'{"code":"limit"')
        assert is_last
        out = await peer.stream("far.calc.add", "x" * 200_000).__aenter__()
        with pytest.raises(StreamAborted):
            await without_end(out)
        assert hub.pending == 0


async def test_a_client_that_aborts_closes_the_stream(
    gateway: Gateway, hub: Hub, service: RawService
) -> None:
    """[HUB-15.5]"""
    back = Back()
    async with connect(gateway.url, endpoints=back.endpoints) as peer:
        out = await peer.stream("far.calc.add").__aenter__()
        (first,) = await service.hears()
        service.answers(first, b"one")
        await until(lambda: back.chunks)
        await out.abort()
        (closed,) = await service.hears()
        assert (closed.stream, closed.parameter) == (first.stream, HubCommand.CLOSE)
        with pytest.raises(StreamAborted):
            await asyncio.wait_for(back.over, 20)


async def test_a_client_that_wants_no_answers_closes_the_stream(
    gateway: Gateway, hub: Hub, service: RawService
) -> None:
    # Our own stream is aborted too: whether that is here before we leave it is chance.
    async with connect(gateway.url) as peer:
        with suppress(StreamAborted):
            async with peer.stream("far.calc.add"):
                (first,) = await service.hears()
                service.answers(first, b"one")
                (closed,) = await service.hears()
        assert (closed.stream, closed.parameter) == (first.stream, HubCommand.CLOSE)


async def test_a_client_that_goes_in_the_middle_is_told(gateway: Gateway, service: RawService) -> None:
    back = Back()
    async with connect(gateway.url, endpoints=back.endpoints) as peer:
        await peer.stream("far.calc.add").__aenter__()
        (first,) = await service.hears()
        service.answers(first, b"one")
        await until(lambda: back.chunks)
    (told,) = await service.hears()
    assert (told.stream, told.parameter) == (first.stream, HubError.CLIENT_DISCONNECT)


async def test_a_client_behind_with_reading_holds_up_its_service_not_us(
    gateway: Gateway, hub: Hub, service: RawService
) -> None:
    """[HUB-15.8]"""
    gate = asyncio.Event()
    got: list[bytes] = []
    slow = Endpoints()

    @slow.on_stream("far.calc.add")
    async def take(stream: InStream) -> None:
        await gate.wait()
        async for chunk in stream:
            got.append(chunk.data)

    async with connect(gateway.url, endpoints=slow) as peer, peer.stream("far.calc.add"):
        (first,) = await service.hears()
        (client,) = hub.switch.clients
        sent = 0
        while not client.held:
            service.answers(first, bytes([sent % 256]) * 60_000)
            sent += 1
            await asyncio.sleep(0.001)
        gate.set()
        service.answers(first, b"", LAST)
        await until(lambda: len(got) == sent)
        assert [body[0] for body in got] == [number % 256 for number in range(sent)]


async def test_a_service_behind_with_reading_holds_up_its_client(tmp_path: Path) -> None:
    """[HUB-15.8]"""
    settings = GatewaySettings(
        listen=FREE,
        services=FREE,
        clients=None,
        workers=None,
        journal=None,
        hub=HubSettings(busy_after=600, dead_after=600),
        drain=0,
    )
    async with Gateway(settings) as gateway:
        assert gateway.hub is not None
        service = await RawService(gateway.hub).registers(interface=INTERFACE)
        async with connect(gateway.url) as peer:
            service.socket.pause()
            sent = 0

            async def speak() -> None:
                nonlocal sent
                async with peer.stream("far.calc.add") as out:
                    for number in range(4_000):
                        await out.write(bytes([number % 256]) * 20_000)
                        sent += 1

            speaking = asyncio.ensure_future(speak())
            hub = gateway.hub
            await until(lambda: any(client.is_paused for client in hub.switch.clients))
            before = -1
            while before != sent:
                before = sent
                await asyncio.sleep(0.3)
            assert not speaking.done()
            assert hub.switch.held_bytes < 8 << 20
            service.socket.resume()
            frames = await service.hears(4_002)
            assert [frame.body[0] for frame in frames[1:-1]] == [number % 256 for number in range(4_000)]
            service.answers(frames[0], b"", LAST)
            await speaking
        service.close()
