"""A sample service for ``framehub demo``: prices as they change, and one that thinks for too long."""

import asyncio
from collections.abc import AsyncIterator

from framehub.runtime.service import Service
from framehub.runtime.service_stream import ServiceStream

service = Service(number=7, name="quotes", doc="Prices of a few things.", timeout=30)
PRICES = {"apple": 120, "pear": 95}
LONGEST = 60.0


@service.function(1)
async def watch(stream: ServiceStream) -> None:
    """A price for each word of the client's, a cent higher each time; the stream opens with the item."""
    item = stream.first.decode()
    if item not in PRICES:
        await stream.error(f"{item} is not sold here")
        return
    price = PRICES[item]
    async for _ in stream:
        await stream.send(str(price).encode())
        price += 1
    await stream.end(b"closed")


@service.function(2)
async def history(item: str, days: int = 3) -> AsyncIterator[dict[str, str | int]]:
    """Prices of the last days, one by one."""
    for day in range(min(days, 365)):
        yield {"item": item, "day": -day, "cents": PRICES.get(item, 100) - day}


@service.function(3)
async def ponder(seconds: float) -> str:
    """Think for so long; long enough, and the hub ends the stream."""
    await asyncio.sleep(min(seconds, LONGEST))
    return "it depends"
