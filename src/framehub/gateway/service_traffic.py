"""Traffic for ``framehub demo``: streams to a service of the hub, well and badly, and the same over MFP."""

from collections import Counter
from collections.abc import Awaitable
from typing import Any

from framehub.errors import EndpointError, HubStreamError, ServiceFailed
from framehub.gateway.sample_service import service
from framehub.runtime.connect import connect
from framehub.runtime.hub_client import HubClient

NUMBER = service.number
WATCH, HISTORY, PONDER = 1, 2, 3
PATIENCE = 1.0


async def drive_services(url: str, hub_url: str, *, rounds: int = 10) -> tuple[Counter[str], str]:
    """Talk with the sample service; how often each thing happened, and the link of the MFP client.

    The first thing that the MFP client does is a ping; the second asks ``quotes.history``.
    """
    seen: Counter[str] = Counter()
    for version in (1, 2):
        async with HubClient(hub_url, version=version, timeout=PATIENCE) as hub:
            await hub.ping()
            await hub.interface(NUMBER)
            await _count(seen, _watch(hub, "apple", rounds))
            for doing in (
                hub.call(NUMBER, HISTORY, b'["pear", 5]'),
                hub.call(NUMBER, HISTORY, b'{"day": 5}'),
                hub.call(NUMBER, WATCH, b"unicorn"),
                hub.call(NUMBER, PONDER, b"30"),
                hub.call(NUMBER + 1, WATCH),
            ):
                await _count(seen, doing)
            async with hub.open(NUMBER, PONDER, b"30"):
                pass  # and lose interest
    async with connect(url) as peer:
        await peer.ping()
        await _count(seen, peer.request("quotes.history", {"item": "apple"}))
        await _count(seen, peer.request("quotes.watch", "unicorn"))
        link = peer.link
    return seen, link


async def _watch(hub: HubClient, item: str, rounds: int) -> None:
    async with hub.open(NUMBER, WATCH, item.encode()) as stream:
        for _ in range(rounds):
            await stream.send(b"?")
            await anext(stream)
        await stream.end()
        await stream.read()


async def _count(seen: Counter[str], doing: Awaitable[Any]) -> None:
    try:
        await doing
    except (ServiceFailed, EndpointError):
        seen["refused by the service"] += 1
    except HubStreamError as exc:
        seen["timed out" if exc.code.name == "TIMEOUT" else "to nobody"] += 1
    else:
        seen["answered"] += 1
