"""The demo's service and its conversations with it, against each other."""

import asyncio
from pathlib import Path

from framehub.gateway.gateway import Gateway
from framehub.gateway.sample_service import service
from framehub.gateway.service_traffic import drive_services
from framehub.gateway.settings import GatewaySettings

FREE = "127.0.0.1:0"


async def test_the_conversations_meet_every_kind_of_ending(tmp_path: Path) -> None:
    settings = GatewaySettings(listen=FREE, services=FREE, clients=None, workers=None, journal=tmp_path / "j")
    async with Gateway(settings) as gateway:
        assert gateway.hub is not None
        ready = asyncio.Event()
        serving = asyncio.ensure_future(
            service.serve(gateway.hub.address, on_ready=lambda _address: ready.set())
        )
        try:
            await asyncio.wait_for(ready.wait(), 30)
            hub_url = gateway.url.replace("/mfp", "/hub")
            seen, link = await drive_services(gateway.url, hub_url, rounds=3)
        finally:
            service.stop()
            service.stop()
            await serving
    assert len(link) == 16
    assert seen == {
        "answered": 2 * 2 + 1,
        "refused by the service": 2 * 2 + 1,
        "timed out": 2,
        "to nobody": 2,
    }
