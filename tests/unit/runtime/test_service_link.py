import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import ConfigError, StreamAborted
from framehub.hub.headers import HubFrame
from framehub.hub.served import ServedStream, ServiceSettings
from framehub.hub.serving import ServiceSide
from framehub.runtime.curve import CurveClient, CurveServer, new_keys
from framehub.runtime.service_link import ServiceLink
from framehub.runtime.zmq_setup import Options
from tests.unit.runtime.raw_hub import READY, USER, RawHub, raw_hub
from tests.unit.runtime.rpc_parts import until

QUICK = ServiceSettings(heartbeat=0.1, silence=0.5)
MESSAGE, LAST, COMMAND = HubState.MESSAGE, HubState.LAST, HubState.COMMAND


class Attended:
    """A link, and what it told."""

    def __init__(self, address: str, settings: ServiceSettings, version: int, **others: Any) -> None:
        machine = ServiceSide(7, [1], interface=b"{}", version=version, settings=settings)
        self.ready = 0
        self.link = ServiceLink(address, machine, on_ready=self._ready, **others)
        self.link.begin = self._begin
        self.link.touched = self._touched
        self.streams: list[ServedStream] = []
        self.touched: list[ServedStream] = []

    def _ready(self) -> None:
        self.ready += 1

    def _begin(self, stream: ServedStream) -> None:
        stream.owner = self
        self.streams.append(stream)

    def _touched(self, stream: ServedStream) -> None:
        assert stream.owner is self
        self.touched.append(stream)

    async def stream(self, count: int = 1) -> ServedStream:
        await until(lambda: len(self.streams) >= count)
        return self.streams[-1]


@asynccontextmanager
async def linked(
    address: str, settings: ServiceSettings = QUICK, version: int = 2, **others: Any
) -> AsyncIterator[Attended]:
    made = Attended(address, settings, version, **others)
    made.link.open()
    try:
        yield made
    finally:
        made.link.close()


@pytest.mark.parametrize("version", [1, 2])
async def test_a_conversation_in_both_versions(version: int) -> None:
    async with raw_hub(version=version) as hub, linked(hub.address, version=version) as there:
        await until(lambda: there.ready)
        hub.opens(9, body=b"hi")
        hub.tells(9, b"one")
        stream = await there.stream()
        assert (stream.first, stream.user) == (b"hi", USER)
        await until(lambda: there.touched)
        assert there.link.take(stream) == b"one"
        await there.link.send(stream, b"two", 3)
        await there.link.end(stream, b"three")
        assert await hub.hears(2) == [HubFrame(9, MESSAGE, 3, b"two"), HubFrame(9, LAST, 0, b"three")]
        hub.opens(10)
        await there.link.fail(await there.stream(2), b"no")
        assert await hub.hears_bodies() == [(10, HubState.SERVICE_ERROR, b"no")]


async def test_after_a_restart_of_the_hub_it_is_another_service_with_no_streams() -> None:
    hub = RawHub()
    async with linked(hub.address) as there:
        await until(lambda: there.ready)
        hub.opens(9)
        stream = await there.stream()
        hub.close()
        await until(lambda: stream.over)
        with pytest.raises(StreamAborted, match="the connection to the hub was lost"):
            await there.link.send(stream, b"to nobody")
        async with raw_hub(address=hub.address) as again:
            await until(lambda: there.ready == 2)
            assert again.frames == []
            assert len(again.registered) == 1


async def test_each_connection_has_an_identity_of_its_own() -> None:
    async with raw_hub() as hub, linked(hub.address) as there:
        await until(lambda: there.ready)
        hub.is_polite = False  # and so hangs
        hub.opens(9)
        stream = await there.stream()
        await until(lambda: len(hub.registered) == 2)
        assert stream.over == "no word from the hub"
        assert len(hub.identities) == 2


async def test_a_hub_that_does_not_know_us_gets_a_new_configuration() -> None:
    async with raw_hub() as hub, linked(hub.address, ServiceSettings()) as there:
        await until(lambda: there.ready)
        await asyncio.sleep(1.0)
        hub.says(HubFrame(0, HubState.STREAM_ERROR, HubError.BAD_FRAME, b"who?"))
        await until(lambda: len(hub.registered) == 2)
        assert len(hub.identities) == 1


async def test_whoever_is_ahead_of_the_hub_waits() -> None:
    """[HUB-12.7]"""
    settings = ServiceSettings(silence=60.0)
    short = Options(queue=2)
    async with raw_hub(options=short) as hub, linked(hub.address, settings, options=short) as there:
        await until(lambda: there.ready)
        hub.opens(9)
        stream = await there.stream()
        hub.pause()
        sent = 0

        async def send() -> None:
            nonlocal sent
            for _ in range(200):
                await there.link.send(stream, bytes(100_000))
                sent += 1
            await there.link.end(stream)

        sending = asyncio.ensure_future(send())
        before = -1
        while before != sent:  # until it has filled what there is to fill
            before = sent
            await asyncio.sleep(0.3)
        assert 0 < sent < 200
        hub.resume()
        await asyncio.wait_for(sending, 20)
        heard = await hub.hears(201)
        assert [len(frame.body) for frame in heard] == [100_000] * 200 + [0]


async def test_whoever_waits_for_room_is_told_when_the_connection_is_lost() -> None:
    settings = ServiceSettings(silence=60.0)
    hub = RawHub(options=Options(queue=1))
    async with linked(hub.address, settings, options=Options(queue=1)) as there:
        await until(lambda: there.ready)
        hub.opens(9)
        stream = await there.stream()
        hub.pause()

        async def send() -> None:
            while True:
                await there.link.send(stream, bytes(1_000_000 - 6))

        sending = asyncio.ensure_future(send())
        await asyncio.sleep(0.5)
        hub.close()
        with pytest.raises(StreamAborted):
            await asyncio.wait_for(sending, 20)


async def test_goodbye_is_followed_by_a_ping() -> None:
    async with raw_hub() as hub, linked(hub.address) as there:
        await until(lambda: there.ready)
        hub.is_polite = False
        there.link.drain()
        close, ping = await hub.hears(2)
        assert (close.parameter, ping.parameter) == (HubCommand.CLOSE, HubCommand.PING)
        assert not there.link.machine.is_settled
        hub.says(HubFrame(0, COMMAND, HubCommand.PONG, ping.body))
        await until(lambda: there.link.machine.is_settled)
        there.link.ping()
        assert not there.link.machine.is_settled


async def test_what_the_hub_says_wrong_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with raw_hub() as hub, linked(hub.address, options=Options(max_parts=4)) as there:
        await until(lambda: there.ready)
        hub.says_bytes(b"abc")
        hub.says_bytes(b"two", b"parts")
        hub.says_bytes(*[b"x"] * 9)
        await until(lambda: len(caplog.records) == 3)
    assert "a frame has at least 6 bytes" in caplog.text
    assert "a message of 2 parts" in caplog.text
    assert "too many parts or bytes" in caplog.text


async def test_whom_the_hub_does_not_let_in_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    public, secret = new_keys()
    _, other_secret = new_keys()
    async with raw_hub(curve=CurveServer(secret, [public])) as hub:
        async with linked(hub.address, curve=CurveClient(public, other_secret)) as there:
            await until(lambda: caplog.records)
            await asyncio.sleep(0.5)
            assert there.ready == 0
        async with linked(hub.address, curve=CurveClient(public, secret)) as there:
            await until(lambda: there.ready)
    assert caplog.text.count("wrong keys, or not a hub") == 1


async def test_what_is_no_address() -> None:
    with pytest.raises(ConfigError, match="want tcp://HOST:PORT"):
        async with linked("nowhere"):
            pass


async def test_a_link_that_is_closed_sends_nothing_and_ends_its_streams() -> None:
    async with raw_hub() as hub:
        async with linked(hub.address) as there:
            await until(lambda: there.ready)
            hub.opens(9)
            stream = await there.stream()
        assert stream.over == "the service has stopped"
        there.link.close()
        there.link.ping()
        assert await hub.is_quiet()


async def test_a_stream_that_is_gone_before_it_began_touches_nobody() -> None:
    async with raw_hub() as hub, linked(hub.address) as there:
        await until(lambda: there.ready)
        there.link.begin = lambda _stream: None
        hub.opens(9)
        hub.says(HubFrame(9, COMMAND, HubCommand.CLOSE))
        hub.says(READY)
        hub.says(HubFrame(0, COMMAND, HubCommand.PING, b"x"))
        await until(lambda: not there.link.machine.streams)
        assert there.touched == []
