"""The demo's functions and its calls of them, against each other."""

import asyncio
from pathlib import Path

from framehub.gateway.function_traffic import drive_functions
from framehub.gateway.gateway import Gateway
from framehub.gateway.sample_functions import worker
from framehub.gateway.settings import GatewaySettings

FREE = "127.0.0.1:0"


async def test_the_calls_meet_every_kind_of_ending(tmp_path: Path) -> None:
    settings = GatewaySettings(listen=FREE, services=None, clients=FREE, workers=FREE, journal=tmp_path / "j")
    async with Gateway(settings) as gateway:
        assert gateway.functions is not None
        ready = asyncio.Event()
        serving = asyncio.ensure_future(
            worker.serve(
                gateway.functions.workers_address,
                source="framehub.gateway.sample_functions:worker",
                on_ready=lambda _: ready.set(),
            )
        )
        try:
            await asyncio.wait_for(ready.wait(), 30)
            seen, link = await drive_functions(gateway.url, gateway.functions.clients_address, rounds=5)
        finally:
            worker.stop()
            worker.stop()
            await serving
    assert len(link) == 16
    assert seen == {
        "answered": 1 + 5 + 3 + 2,
        "failed": 3,
        "refused before being sent": 1,
        "to nobody": 1,
        "timed out": 2,
    }
