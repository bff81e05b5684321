"""A journal of a hub at work, with all that can happen to its streams: what the pipeline makes of it."""

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import EndpointError, RequestTimeout
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.hub.headers import HubFrame, Settings
from framehub.hub.settings import HubSettings
from framehub.journal.hub_rows import HubRows
from framehub.journal.record import Row
from framehub.journal.writer import JournalWriter
from framehub.pipeline import exchanges, read_journal
from framehub.pipeline.audit import audit
from framehub.runtime.connect import connect
from framehub.runtime.hub import Hub
from tests.unit.runtime.hub_parts import (
    COMMAND,
    FIRST,
    INTERFACE,
    LAST,
    MESSAGE,
    STREAM_ERROR,
    Caller,
    RawService,
    until,
)
from tests.unit.runtime.raw import RawClient

pytestmark = pytest.mark.spark

FREE = "127.0.0.1:0"
HOUR_NS = 3_600_000_000_000
SETTINGS = GatewaySettings(
    listen=FREE,
    services=FREE,
    clients=None,
    workers=None,
    hub=HubSettings(held_bytes=300_000, busy_after=1, heartbeat=0.3),
    drain=0,
)


class Traffic:
    """Does what clients and services do, well and badly."""

    def __init__(self, gateway: Gateway) -> None:
        assert gateway.hub is not None
        self.hub: Hub = gateway.hub
        self.gateway = gateway
        self.port = int(gateway.url.split(":")[2].partition("/")[0])

    async def client(self, version: int = 2, timeout_ms: int = 1_000) -> Caller:
        headers = f"X-Hub-Version: {version}\r\n"
        caller = Caller(await RawClient.open(self.port, path="/hub", headers=headers), version)
        caller.says(HubFrame(0, FIRST, 0, b"", None, Settings(version, timeout_ms)))
        await caller.hears()
        return caller

    async def talk(self) -> None:
        """Streams that are answered, of all versions."""
        for number in (1, 2):
            service = await RawService(self.hub, version=number).registers(10 + number, interface=INTERFACE)
            for version in (1, 2):
                caller = await self.client(version)
                caller.opens(1, b"one", service=10 + number)
                caller.tells(1, b"two", LAST)
                first, _ = await service.hears(2)
                for body in (b"a", b"b"):
                    service.answers(first, body)
                service.answers(first, b"c", LAST)
                caller.opens(2, service=10 + number)
                (first,) = await service.hears()
                service.says(HubFrame(first.stream, HubState.SERVICE_ERROR, 0, b"no"))
                caller.opens(3, service=10 + number, function=0)
                caller.says(HubFrame(0, COMMAND, HubCommand.PING, b"?"))
                for _ in range(6):
                    await caller.hears()
                await caller.end()
            service.says(HubFrame(0, COMMAND, HubCommand.PING, b"?"))
            await service.hears()
            service.close()

    async def misbehave(self) -> None:
        """What is refused, beside streams that are not harmed by it; they time out."""
        service = await RawService(self.hub).registers(20)
        caller = await self.client(timeout_ms=3_000)
        caller.opens(1, service=20)
        (first,) = await service.hears()
        await asyncio.sleep(2)  # so that answers to what is refused are not far from the stream's end
        caller.opens(1, service=20)
        caller.opens(2, service=9_999)
        caller.tells(3, b"?")
        caller.says_bytes(b"\0\0\0\1\x05\0")
        caller.says(HubFrame(0, LAST))
        caller.tells(1, b"last", LAST)
        caller.tells(1, b"more")
        for _ in range(6):
            await caller.hears_error()
        service.socket.send([b"x"])
        service.socket.send([b"x", b"y"])
        service.answers(HubFrame(first.stream + 99, MESSAGE), b"to nobody")
        assert await caller.hears_error() == (1, HubError.TIMEOUT)
        service.answers(first, b"late")
        stranger = RawService(self.hub)
        stranger.socket.send([b"who are you?"])
        await stranger.hears()
        stranger.configures(21, interface=b"no json")
        await stranger.hears()
        await stranger.registers(21)
        caller.says_bytes(b"\0")
        await caller.raw.close_code()
        await caller.end()
        stranger.close()
        service.close()

    async def end(self) -> None:
        """Streams that are closed, or end with one of their sides."""
        service = await RawService(self.hub, identity=b"same").registers(30)
        caller, gone = await self.client(timeout_ms=30_000), await self.client(timeout_ms=30_000)
        for stream in (1, 2, 3, 4):
            caller.opens(stream, service=30)
        gone.opens(1, service=30)
        frames = await service.hears(5)
        caller.says(HubFrame(1, COMMAND, HubCommand.CLOSE))
        service.answers(frames[1], b"and")
        service.says(HubFrame(frames[1].stream, COMMAND, HubCommand.CLOSE))
        await gone.end()
        await service.hears(3)
        self.hub.switch.fail(self.hub.switch.streams[frames[2].stream], 0.0)
        for _ in range(4):
            await caller.hears()
        service.answers(frames[3], b"farewell")
        assert (await caller.hears()).body == b"farewell"
        service.close()
        assert await caller.hears_error() == (4, HubError.SERVICE_DISCONNECT)
        again = await RawService(self.hub, identity=b"same", version=1).registers(30)
        caller.opens(5, service=30)
        await again.hears()
        mute = await RawService(self.hub, is_polite=False).registers(31)
        caller.opens(6, service=31)
        await mute.hears()
        assert await caller.hears_error() == (6, HubError.SERVICE_DISCONNECT)
        mute.close()
        caller.says(HubFrame(0, COMMAND, HubCommand.CLOSE))
        await caller.raw.close_code()
        await caller.end()
        again.close()

    async def dawdle(self) -> None:
        """A client, then a service, that does not read."""
        service = await RawService(self.hub).registers(40)
        caller = await self.client(timeout_ms=30_000)
        caller.opens(1, service=40)
        caller.opens(2, service=40)
        first, second = await service.hears(2)
        while not service.frames:
            service.answers(first, bytes(60_000))
            await asyncio.sleep(0.002)
        (limit,) = await service.hears()
        assert limit.parameter == HubError.LIMIT
        service.answers(second, b"still", LAST)
        while (await caller.hears()).stream == 1:
            pass
        caller.opens(3, service=40)
        await service.hears()
        service.socket.pause()
        async with asyncio.timeout(20):
            while not self.hub.switch.stuck:
                caller.tells(3, bytes(60_000))
                await caller.raw.writer.drain()
                await asyncio.sleep(0)
        assert await caller.hears_error() == (3, HubError.BUSY)
        service.socket.resume()
        while (await service.hears())[0].state is not STREAM_ERROR:
            pass
        await caller.end()
        service.close()

    async def come_over_mfp(self) -> None:
        service = await RawService(self.hub).registers(50, interface=INTERFACE)

        async def serve() -> None:
            while True:
                (frame,) = await service.hears()
                if frame.state is FIRST and frame.body != b'"wait"':
                    service.answers(frame, b"1", LAST)

        serving = asyncio.ensure_future(serve())
        async with connect(self.gateway.url) as peer:
            assert (await peer.request("calc.add", [1, 2])).data == 1
            with suppress(RequestTimeout):
                await peer.request("calc.add", "wait", timeout=0.2)
            with suppress(EndpointError):
                await peer.request("calc.nothing")
            left = asyncio.ensure_future(peer.request("calc.add", "wait"))
            await until(lambda: self.hub.pending)
        await asyncio.gather(left, return_exceptions=True)
        serving.cancel()
        service.close()


async def _live(settings: GatewaySettings) -> None:
    async with Gateway(settings) as gateway:
        traffic = Traffic(gateway)
        await traffic.talk()
        await traffic.misbehave()
        await traffic.end()
        await traffic.dawdle()
        await traffic.come_over_mfp()
        service = await RawService(traffic.hub).registers(60)
        caller = await traffic.client()
        caller.opens(1, service=60)
        await service.hears()
    service.close()
    await caller.end()


def _an_hour_later(journal: Path) -> None:
    """What should have come in time has not come by now."""
    with JournalWriter(journal) as writer:
        last = writer.recovery.last_at
        assert last is not None
        row: Row = HubRows(b"muchlate", version=2).opened((last[0] + HOUR_NS, last[1] + HOUR_NS))
        writer.append(row)


def test_a_live_hub_breaks_no_rule_and_every_stream_has_its_outcome(
    spark: SparkSession, tmp_path: Path
) -> None:
    from dataclasses import replace

    journal = tmp_path / "journal"
    asyncio.run(_live(replace(SETTINGS, journal=journal, node="live")))
    _an_hour_later(journal)
    found = audit(journal, spark=spark)
    assert [(row["rule"], row["evidence"]) for row in found.violations] == []
    table = exchanges(read_journal(spark, journal)).where("protocol = 'hub'")
    outcomes = Counter((row["kind"], row["outcome"], row["code"]) for row in table.collect())
    pings = [outcomes.pop(key) for key in list(outcomes) if key[0] == "ping"]
    assert sum(pings) > 10
    assert outcomes == {
        ("stream", "ok", None): 10,
        ("stream", "error", "service_error"): 4,
        ("stream", "error", "service_disconnect"): 2,
        ("stream", "error", "internal"): 1,
        ("stream", "error", "limit"): 1,
        ("stream", "error", "busy"): 1,
        ("stream", "timeout", None): 1,
        ("stream", "aborted", None): 3,
        ("stream", "disconnected", "client_disconnect"): 4,
    }
