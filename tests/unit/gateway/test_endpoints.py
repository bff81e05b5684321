"""In which order an endpoint is looked up."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from framehub.gateway.endpoints import GatewayEndpoints
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.rpc.settings import ProxySettings
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.worker import Worker
from tests.unit.runtime.hub_parts import LAST, RawService, until
from tests.unit.runtime.rpc_parts import serving

FREE = "127.0.0.1:0"
INTERFACE = (
    b'{"name": "stock", "functions":'
    b' [{"number": 1, "name": "price"}, {"number": 2, "name": "left"}, {"number": 3, "name": "order"}]}'
)


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    settings = GatewaySettings(
        listen=FREE,
        services=FREE,
        clients=FREE,
        workers=FREE,
        app="framehub.gateway.sample:endpoints",
        journal=None,
        rpc=ProxySettings(wait_gone=30),
        drain=0,
    )
    async with Gateway(settings) as made:
        yield made


async def test_the_app_comes_first_then_functions_then_services(gateway: Gateway) -> None:
    """[HUB-15.1]"""
    worker = Worker(threads=1, drain=1)

    @worker.function(name="stock.price")
    def price(_item: str) -> str:
        return "the worker's"

    @worker.function(name="stock.left")
    def left(_item: str) -> str:
        return "the worker's"

    assert gateway.functions is not None
    assert gateway.hub is not None
    service = await RawService(gateway.hub).registers(interface=INTERFACE)
    async with connect(gateway.url) as peer:
        async with serving(worker, gateway.functions.workers_address):
            assert (await peer.request("stock.price", "apple")).data == {"item": "apple", "cents": 120}
            assert (await peer.request("stock.left", "apple")).data == "the worker's"
            assert gateway._listener is not None
            names = gateway._listener._endpoints.names
            assert {"chat", "stock.price", "stock.left", "stock.order"} < set(names)
            assert gateway.endpoints is not None
            offers = gateway.endpoints.offers
            asked = ("chat", "files.upload", "stock.left", "stock.order", "stock.3", "stock", "stock.lost")
            assert [name for name in asked if offers(name)] == list(asked[:5])
        proxy = gateway.functions
        await until(lambda: not proxy.machine.registry.workers)
        # A function that may come back does not hide a service that is here.
        asking = asyncio.ensure_future(peer.request("stock.left", "apple"))
        first, _last = await service.hears(2)
        service.answers(first, b'"the service\'s"', LAST)
        assert (await asking).data == "the service's"
        assert gateway._listener._endpoints.find_stream("stock.order") is not None
        assert gateway._listener._endpoints.find_stream("files.upload") is not None
    service.close()


async def test_without_functions_and_services_there_is_the_app() -> None:
    app = Endpoints()

    @app.on("here")
    def here(_call: object) -> None: ...

    found = GatewayEndpoints(app, None, None)
    assert found.find("here") is here
    assert (found.find("there"), found.find_stream("here")) == (None, None)
    assert (found.offers("here"), found.offers("there")) == (True, False)
    assert found.names == ["here"]
