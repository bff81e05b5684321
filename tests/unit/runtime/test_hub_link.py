"""A client's WebSocket at the hub: how it ends, and who is told."""

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Settings
from framehub.hub.settings import HubSettings

from .hub_parts import COMMAND, FIRST, Caller, RawService, hub_at_work, until
from .raw import BINARY, CLOSE, FIN, TEXT


@pytest.mark.parametrize(
    ("kind", "data", "code"),
    [
        (BINARY, b"\0\0\0\0\0", 1002),
        (TEXT, b"hello you", 1003),
        (BINARY, bytes(2_000), 1009),
        (BINARY, b"\0\0\0\0\x0e\x0f", 1000),
        (CLOSE, b"\x03\xe8", 1000),
    ],
)
async def test_a_client_that_goes_or_is_sent_away_leaves_nothing(kind: int, data: bytes, code: int) -> None:
    async with hub_at_work(settings=HubSettings(max_frame_bytes=1_000)) as (hub, listener):
        service = await RawService(hub).registers()
        caller = await Caller.open(listener)
        caller.opens(1)
        await service.hears()
        caller.raw.send(FIN | kind, data)
        assert await caller.raw.close_code() == code
        (told,) = await service.hears()
        assert (told.state, told.parameter) == (HubState.STREAM_ERROR, HubError.CLIENT_DISCONNECT)
        await caller.end()
        await until(lambda: not hub.switch.clients)
        service.close()


async def test_a_client_can_ask_for_a_sign_of_life_and_set_its_timeout() -> None:
    async with hub_at_work() as (_, listener):
        caller = await Caller.open(listener)
        caller.says(HubFrame(0, COMMAND, HubCommand.PING, b"anybody?"))
        assert await caller.hears() == HubFrame(0, COMMAND, HubCommand.PONG, b"anybody?")
        caller.says(HubFrame(0, FIRST, 0, b"", None, Settings(2, 5_000)))
        ready = await caller.hears()
        assert (ready.parameter, Settings.decode(ready.body).timeout_ms) == (HubCommand.READY, 5_000)
        await caller.end()
