import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import EndpointError, RequestAborted, RequestTimeout
from framehub.gateway.endpoints import GatewayEndpoints
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.journal.reader import read
from framehub.rpc import words
from framehub.rpc.settings import ProxySettings
from framehub.runtime.connect import connect
from framehub.runtime.files import File
from framehub.runtime.worker import Worker
from tests.unit.runtime.rpc_parts import RawPeer, serving, until

FREE = "127.0.0.1:0"
begun: list[str] = []
ended: list[str] = []


def offered() -> Worker:
    worker = Worker(threads=2, drain=1)

    @worker.function
    def square(x: int) -> int:
        return x * x

    @worker.function
    def fail() -> None:
        raise ValueError("too bad")

    @worker.function(name="stock.price")
    def price(item: str) -> int:
        return 1

    @worker.function
    async def slow(name: str) -> None:
        begun.append(name)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(name)
            raise

    @worker.function
    def crop(picture: File, size: int) -> File:
        return File(picture.data[:size], "cropped.png", "image/png")

    return worker


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    settings = GatewaySettings(
        listen=FREE,
        services=None,
        clients=FREE,
        workers=FREE,
        app="framehub.gateway.sample:endpoints",
        journal=tmp_path / "j",
        node="here",
        rpc=ProxySettings(wait_gone=0.5),
    )
    async with Gateway(settings) as made:
        assert made.functions is not None
        async with serving(offered(), made.functions.workers_address):
            yield made


def rows(tmp_path: Path) -> list[dict[str, Any]]:
    return [row for batch in read(tmp_path / "j") for row in batch.to_pylist()]


async def test_a_request_becomes_a_query_and_its_result_the_response(
    gateway: Gateway, tmp_path: Path
) -> None:
    """[RPC-11.1] [RPC-11.2]"""
    async with connect(gateway.url) as peer:
        assert (await peer.request("square", 12)).data == 144
        reply = await peer.request("crop", 3, files={0: File(b"0123456789")})
        assert (reply.files[0].data, reply.files[0].name) == (b"012", "cropped.png")
    assert gateway.functions is not None
    await until(lambda: gateway.functions and not gateway.functions.machine.keeping.kept_bytes)
    assert gateway._writer is not None
    await asyncio.to_thread(gateway._writer.flush)
    told = rows(tmp_path)
    asked = next(row for row in told if row["kind"] == "request" and row["endpoint"] == "square")
    query = next(row for row in told if row["kind"] == "query" and row["direction"] == "in")
    assert (query["parent"], query["link"], query["endpoint"]) == (asked["exchange"], asked["link"], "square")
    story = [(row["kind"], row["direction"]) for row in told if row["exchange"] == query["exchange"]]
    assert sorted(story) == sorted(
        [
            *(("query", "in"), ("query_received", "out"), ("query", "out"), ("query_received", "in")),
            *(("result", "in"), ("response_received", "out"), ("result", "out"), ("response_received", "in")),
        ]
    )


async def test_the_apps_own_handlers_come_first(gateway: Gateway) -> None:
    async with connect(gateway.url) as peer:
        assert (await peer.request("stock.price", "apple")).data == {"item": "apple", "cents": 120}
    assert gateway._listener is not None
    endpoints = gateway._listener._endpoints
    assert isinstance(endpoints, GatewayEndpoints)
    assert {"square", "chat"} < set(endpoints.names)
    assert endpoints.find_stream("files.upload") is not None
    assert endpoints.find("\ud800") is None


@pytest.mark.parametrize(
    ("endpoint", "data", "code", "text"),
    [
        ("fail", None, "function_failed", "ValueError: too bad"),
        ("square", "x", "bad_request", "bad argument: x: "),
        ("nothing", None, "unknown_endpoint", "no endpoint 'nothing' here"),
    ],
)
async def test_what_goes_wrong_has_a_code(
    gateway: Gateway, endpoint: str, data: Any, code: str, text: str
) -> None:
    """[RPC-11.4]"""
    async with connect(gateway.url) as peer:
        with pytest.raises(EndpointError) as caught:
            await peer.request(endpoint, data)
    assert caught.value.value["code"] == code
    assert text in caught.value.value["message"]


async def test_giving_up_reaches_the_function(gateway: Gateway) -> None:
    """[RPC-11.3]"""
    begun.clear()
    ended.clear()
    assert gateway.functions is not None
    async with connect(gateway.url) as peer:
        with pytest.raises(RequestTimeout):
            await peer.request("slow", "timeout", timeout=2)
        await until(lambda: "timeout" in ended)
        await until(lambda: gateway.functions and not gateway.functions.pending)
        task = asyncio.ensure_future(peer.request("slow", "cancel"))
        await until(lambda: "cancel" in begun)  # what has not begun is only forgotten
        task.cancel()
        await until(lambda: "cancel" in ended)
        await until(lambda: gateway.functions and not gateway.functions.pending)
        left = asyncio.ensure_future(peer.request("slow", "disconnect"))
        await until(lambda: "disconnect" in begun)
    await until(lambda: "disconnect" in ended)
    with pytest.raises(Exception):  # noqa: B017, PT011
        await left
    await until(lambda: gateway.functions and not gateway.functions.pending)
    assert gateway.functions._insiders == {}
    assert RequestAborted is not None


async def test_a_function_whose_worker_has_just_gone_is_waited_for(tmp_path: Path) -> None:
    settings = GatewaySettings(
        listen=FREE, services=None, clients=FREE, workers=FREE, journal=None, rpc=ProxySettings(wait_gone=30)
    )
    async with Gateway(settings) as gateway, connect(gateway.url) as peer:
        assert gateway.functions is not None
        address = gateway.functions.workers_address
        async with serving(offered(), address):
            assert (await peer.request("square", 2)).data == 4
        await until(lambda: gateway.functions and not gateway.functions.machine.registry.workers)
        asking = asyncio.ensure_future(peer.request("square", 3))
        await asyncio.sleep(0.1)
        assert not asking.done()
        async with serving(offered(), address):
            assert (await asking).data == 9


async def test_a_function_that_nobody_offers_any_more_is_said_so(tmp_path: Path) -> None:
    settings = GatewaySettings(
        listen=FREE, services=None, clients=FREE, workers=FREE, journal=None, rpc=ProxySettings(wait_gone=0.5)
    )
    async with Gateway(settings) as gateway, connect(gateway.url) as peer:
        assert gateway.functions is not None
        async with serving(offered(), gateway.functions.workers_address):
            assert (await peer.request("square", 2)).data == 4
        with pytest.raises(EndpointError, match="no endpoint 'square' here"):
            await peer.request("square", 3)


async def test_what_is_too_large_for_a_function_is_refused(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[RPC-9.1]"""
    monkeypatch.setattr("framehub.gateway.functions.LARGEST_MESSAGE", 1_000)
    async with connect(gateway.url) as peer:
        with pytest.raises(EndpointError, match="the limit is 1000: give it in parts") as caught:
            await peer.request("slow", "x" * 1_000)
        assert caught.value.value["code"] == "limit"


async def test_answers_for_who_has_left_are_not_kept(gateway: Gateway) -> None:
    """[RPC-11.3]"""
    proxy = gateway.functions
    assert proxy is not None
    worker = RawPeer(proxy.workers_address)
    worker.says(words.WORKER_REGISTER, b"\0\0\0\1", b"other", b"json", b"json")
    async with connect(gateway.url) as peer:
        await until(lambda: b"other" in proxy.machine.registry.functions)
        left = asyncio.ensure_future(peer.request("other", 1))
        [[_, wid, *_]] = await worker.hears()
    with pytest.raises(Exception):  # noqa: B017, PT011
        await left
    worker.says(words.RESPONSE_RESULT, wid, b"1")  # nobody could tell it to stop
    await until(lambda: not proxy.pending)
    await until(lambda: not proxy.machine.keeping.kept_bytes)
    assert proxy._insiders == {}
    worker.close()
