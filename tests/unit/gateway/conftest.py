"""A gateway with a hub, a service at it, and an MFP client."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.hub.settings import HubSettings
from framehub.mfp.settings import Settings
from framehub.runtime.connect import connect
from framehub.runtime.hub import Hub
from framehub.runtime.peer import Peer
from tests.unit.runtime.hub_parts import RawService

FREE = "127.0.0.1:0"
INTERFACE = b"""{"name": "far.calc", "functions": [
    {"number": 1, "name": "add"}, {"number": 2, "name": "sub.tract"}, {"number": 3}]}"""
SMALL = HubSettings(max_frame_bytes=100_000, held_bytes=1 << 20)


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    settings = GatewaySettings(
        listen=FREE,
        services=FREE,
        clients=None,
        workers=None,
        journal=tmp_path / "j",
        node="here",
        hub=SMALL,
        mfp=Settings(request_timeout=20),
        drain=0,
    )
    async with Gateway(settings) as made:
        yield made


@pytest.fixture
async def hub(gateway: Gateway) -> Hub:
    assert gateway.hub is not None
    return gateway.hub


@pytest.fixture
async def service(hub: Hub) -> AsyncIterator[RawService]:
    made = await RawService(hub).registers(interface=INTERFACE)
    yield made
    made.close()


@pytest.fixture
async def peer(gateway: Gateway, service: RawService) -> AsyncIterator[Peer]:
    async with connect(gateway.url) as made:
        yield made
