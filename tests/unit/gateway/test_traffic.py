"""The demo's endpoints and its traffic, against each other."""

from framehub.gateway.sample import endpoints
from framehub.gateway.traffic import drive
from framehub.runtime.listen import listen


async def test_the_traffic_meets_every_kind_of_ending() -> None:
    async with listen("ws://127.0.0.1:0/mfp", endpoints) as server:
        seen, link = await drive(server.url, clients=2, rounds=3)
    assert len(link) == 16
    assert seen["timed out"] == 2
    assert seen["cancelled by the caller"] == 2
    assert seen["cut off by a closing connection"] == 1
    assert seen["answered with an error"] >= 4
    assert seen["answered or taken"] >= 16
