from typing import Any

import pytest

from framehub.codes import HubCommand, HubState
from framehub.errors import StreamAborted
from framehub.hub.headers import HubFrame
from framehub.runtime.service import Service
from framehub.runtime.service_stream import ServiceStream, as_bytes
from tests.unit.runtime.raw_hub import USER, attended, raw_hub
from tests.unit.runtime.rpc_parts import until

MESSAGE, LAST = HubState.MESSAGE, HubState.LAST


@pytest.fixture
def service() -> Service:
    return Service(7, "quotes")


async def test_a_conversation(service: Service) -> None:
    seen: list[Any] = []

    @service.function(1)
    async def echo(stream: ServiceStream) -> None:
        seen.append((stream.user, stream.first, stream.function, stream.is_open))
        async for body in stream:
            await stream.send(body.upper(), parameter=5)
        await stream.end(bytearray(b"bye"), 6)
        seen.append(stream.is_open)
        assert [body async for body in stream] == []

    async with raw_hub() as hub, attended(service, hub.address):
        hub.opens(9, body=b"hi")
        hub.tells(9, b"a")
        hub.tells(9, b"b")
        assert await hub.hears(2) == [HubFrame(9, MESSAGE, 5, b"A"), HubFrame(9, MESSAGE, 5, b"B")]
        hub.tells(9, b"", LAST)
        assert await hub.hears() == [HubFrame(9, LAST, 6, b"bye")]
    assert seen == [(USER, b"hi", 1, True), False]


@pytest.mark.parametrize("text", ["not today", b"not today"])
async def test_an_error_is_the_last_that_is_said(service: Service, text: Any) -> None:
    @service.function(1)
    async def refuse(stream: ServiceStream) -> None:
        await stream.error(text)

    async with raw_hub() as hub, attended(service, hub.address):
        hub.opens(9)
        assert await hub.hears_bodies() == [(9, HubState.SERVICE_ERROR, b"not today")]
        assert await hub.is_quiet()


async def test_what_had_come_is_read_before_the_end_is_seen(service: Service) -> None:
    seen: list[Any] = []

    @service.function(1)
    async def listen(stream: ServiceStream) -> None:
        try:
            async for body in stream:
                seen.append(body)
        except StreamAborted as exc:
            seen.append(str(exc))
        try:
            await stream.send(b"too late")
        except StreamAborted as exc:
            seen.append(str(exc))

    async with raw_hub() as hub, attended(service, hub.address):
        hub.opens(9)
        hub.tells(9, b"one")
        hub.tells(9, b"two")
        hub.says(HubFrame(9, HubState.COMMAND, HubCommand.CLOSE))
        await until(lambda: len(seen) == 4)
    assert seen == [b"one", b"two", "the client closed it", "the client closed it"]


def test_a_body_is_bytes() -> None:
    assert [as_bytes(body) for body in (b"x", bytearray(b"x"), memoryview(b"x"))] == [b"x"] * 3
    with pytest.raises(TypeError, match="a body is bytes, not str"):
        as_bytes("x")  # type: ignore[arg-type]
