import asyncio
from typing import Any

import pytest

from framehub.codes import HubError, HubState
from framehub.errors import (
    ConfigError,
    ConnectFailed,
    ConnectionClosed,
    HubStreamError,
    LimitExceeded,
    LocalProtocolError,
    RemoteProtocolError,
    ServiceFailed,
)
from framehub.hub.called import HubClientSettings
from framehub.hub.headers import HubFrame, Settings
from framehub.runtime.hub_client import HubClient
from tests.unit.runtime.raw_door import RawDoor, raw_door, visited

FIRST, MESSAGE, LAST = HubState.FIRST, HubState.MESSAGE, HubState.LAST


@pytest.mark.parametrize("version", [1, 2])
async def test_version_and_timeout_are_told(version: int) -> None:
    async with visited(version=version, timeout=2.5) as (door, _):
        assert await door.hears() == [HubFrame(0, FIRST, settings=Settings(version, 2_500))]
        assert door.version == version


async def test_without_a_timeout_nothing_is_said() -> None:
    async with visited() as (door, hub):
        await hub.ping()
        assert door.frames == []


async def asked(door: RawDoor, hub: HubClient, *frames: tuple[bytes, HubState, int]) -> bytes:
    calling = asyncio.ensure_future(hub.call(7, 1, b"?"))
    first, last = await door.hears(2)
    assert (first.state, first.body, last.state, last.body) == (FIRST, b"?", LAST, b"")
    for body, state, parameter in frames:
        door.answers(body, state, stream=first.stream, parameter=parameter)
    return await calling


async def test_a_call_says_one_thing_and_gives_all_that_is_answered() -> None:
    async with visited() as (door, hub):
        assert await asked(door, hub, (b"144", LAST, 0)) == b"144"
        assert await asked(door, hub, (b"1", MESSAGE, 0), (b"2", MESSAGE, 0), (b"", LAST, 0)) == b"12"
        with pytest.raises(ServiceFailed, match="no"):
            await asked(door, hub, (b"no", HubState.SERVICE_ERROR, 0))
        with pytest.raises(HubStreamError, match="ENDPOINT_NOT_FOUND"):
            await asked(door, hub, (b"", HubState.STREAM_ERROR, HubError.ENDPOINT_NOT_FOUND))


async def test_the_interface_is_function_0() -> None:
    async with visited() as (door, hub):
        for body in (b'{"name": "quotes", "functions": []}', b"[]", b"no JSON"):
            calling = asyncio.ensure_future(hub.interface(service=7))
            (first,) = await door.hears()
            assert (first.service, first.parameter) == (7, 0)
            door.answers(body, LAST, stream=first.stream)
            if body.startswith(b"{"):
                assert await calling == {"name": "quotes", "functions": []}
                continue
            with pytest.raises(RemoteProtocolError, match="the interface of service 7 is no JSON object"):
                await calling
        assert door.frames == []


async def test_what_does_not_fit_is_refused_before_it_is_sent() -> None:
    async with visited(settings=HubClientSettings(max_frame_bytes=100)) as (door, hub):
        with pytest.raises(LimitExceeded):
            await hub.call(7, 1, bytes(200))
        with pytest.raises(LocalProtocolError, match="number 70000"):
            await hub.call(70_000, 1)
        with pytest.raises(TypeError, match="a body is bytes, not str"):
            await hub.call(7, 1, "text")  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="timeout must be above zero"):
            hub.open(7, 1, timeout=0)
        assert await hub.ping()
        assert door.frames == []


async def test_one_client_is_one_connection_at_a_time() -> None:
    async with raw_door() as door:
        hub = HubClient(door.url)
        with pytest.raises(ConnectionClosed, match="use the client inside async with"):
            await hub.ping()
        await hub.close()
        async with hub:
            with pytest.raises(LocalProtocolError, match="this client is connected"):
                await hub.__aenter__()
        with pytest.raises(ConnectionClosed):
            await hub.ping()
        async with hub:
            await hub.ping()
        assert door.came == 2
        assert [code for code, _ in door.lost] == [1000, 1000]


async def test_nobody_there() -> None:
    with pytest.raises(ConnectFailed, match="cannot connect to ws"):
        async with HubClient("ws://127.0.0.1:1/hub"):
            pass


async def test_the_door_next_to_it_is_another() -> None:
    async with raw_door() as door:
        with pytest.raises(ConnectFailed, match="HTTP 400"):
            async with HubClient(door.url.replace("/hub", "/mfp")):
                pass


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"url": "tcp://127.0.0.1:7400"}, "come by ws:// or wss://"),
        ({"url": "nonsense"}, "want ws://HOST:PORT/PATH"),
        ({"version": 3}, "version is 1 or 2"),
        ({"timeout": -1}, "timeout must be above zero"),
        ({"token": "with space"}, "without spaces"),
        ({"ssl": object()}, "ssl= goes with wss://"),
    ],
)
def test_what_cannot_be(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        HubClient(**wrong)
