"""A browser's requests to functions in worker processes: what goes in, what comes out, and giving up."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import framehub
from framehub.codes import ErrorCode
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.journal import reader
from framehub.runtime.peer import Peer
from tests.e2e.foreign import Workers, workers

FREE = "127.0.0.1:0"
LIMIT = 90


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    settings = GatewaySettings(
        listen=FREE,
        services=None,
        clients=FREE,
        workers=FREE,
        journal=tmp_path / "journal",
        node="n",
        drain=1,
    )
    async with Gateway(settings) as made:
        yield made


@pytest.fixture
async def staff(gateway: Gateway, tmp_path: Path) -> AsyncIterator[Workers]:
    """One worker of two processes, registered."""
    assert gateway.functions is not None
    with workers(tmp_path, gateway.functions.workers_address) as made:
        made.start(2)
        await until(lambda: gateway.functions and gateway.functions.machine.registry.workers)
        yield made


@pytest.fixture
async def browser(gateway: Gateway, staff: Workers) -> AsyncIterator[Peer]:
    async with framehub.connect(gateway.url) as peer:
        yield peer


async def until(condition: Any) -> None:
    """Wait for it, however busy the machine is."""
    async with asyncio.timeout(LIMIT):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def journal_of(folder: Path) -> list[dict[str, Any]]:
    return [row for batch in reader.read(folder / "journal") for row in batch.to_pylist()]


async def test_data_goes_in_and_comes_out(browser: Peer) -> None:
    """[RPC-11.1] One value, an array by position, an object by name, and a coder that is not JSON."""
    assert (await browser.request("square", 12)).data == 144
    assert (await browser.request("slow", ["a", 0])).data == "a"
    assert (await browser.request("slow", {"seconds": 0, "op": "b"})).data == "b"
    assert (await browser.request("add", [2, 3])).data == 5
    answers = await asyncio.gather(*(browser.request("square", n) for n in range(200)))
    assert [answer.data for answer in answers] == [n * n for n in range(200)]


async def test_files_go_in_and_come_out(browser: Peer) -> None:
    """[RPC-11.1] By the coder "envelope"."""
    picture = framehub.File(b"0123456789", "me.png")
    cropped = await browser.request("crop", 3, files={0: picture})
    assert [(file.data, file.name, file.type) for file in cropped.files.values()] == [
        (b"012", "me.png", "image/png")
    ]
    assert (await browser.request("crop", files={0: picture})).files[0].data == b"0123"
    large = framehub.File(bytes(3 << 20), "large")
    told = await browser.request("sizes", "n-", files={0: picture, 1: large})
    assert told.data == {"n-me.png": 10, "n-large": 3 << 20}


@pytest.mark.parametrize(
    ("endpoint", "data", "code", "text"),
    [
        ("fail", "too bad", ErrorCode.FUNCTION_FAILED, "too bad"),
        ("square", "x", ErrorCode.BAD_REQUEST, "bad argument"),
        ("square", [1, 2], ErrorCode.BAD_REQUEST, "bad argument"),
        ("add", ["x", 2], ErrorCode.BAD_REQUEST, ""),
        ("crop", None, ErrorCode.BAD_REQUEST, ""),
        ("nobody", 1, ErrorCode.UNKNOWN_ENDPOINT, "nobody"),
        ("die", "d", ErrorCode.FUNCTION_FAILED, "poison"),
        ("short", "s", ErrorCode.TIMEOUT, "0.5"),
    ],
)
async def test_what_goes_wrong_has_a_code(
    browser: Peer, endpoint: str, data: Any, code: ErrorCode, text: str
) -> None:
    """[RPC-11.4] And the connection goes on."""
    with pytest.raises(framehub.EndpointError) as failed:
        await browser.request(endpoint, data)
    assert (failed.value.value["code"], text in failed.value.value["message"]) == (code, True)
    assert (await browser.request("square", 2)).data == 4


async def test_a_file_that_has_no_place_is_refused(browser: Peer) -> None:
    """[RPC-11.4]"""
    with pytest.raises(framehub.EndpointError) as failed:
        await browser.request("square", 2, files={0: framehub.File(b"x")})
    assert failed.value.value["code"] == ErrorCode.BAD_REQUEST


async def test_a_message_calls_the_function_too(browser: Peer, staff: Workers) -> None:
    """[RPC-11.1] Nobody waits for its result."""
    await browser.send("slow", ["told", 0])
    await until(lambda: staff.counts()["told"])


@pytest.mark.parametrize("way", ["cancel", "timeout", "disconnect"])
async def test_giving_up_reaches_the_function(
    way: str, gateway: Gateway, staff: Workers, tmp_path: Path
) -> None:
    """[RPC-11.3] [RPC-3.4.2] It runs in a process of its own, is cancelled there, and writes that down."""
    async with framehub.connect(gateway.url) as browser, framehub.connect(gateway.url) as other:
        timeout = 2.0 if way == "timeout" else LIMIT
        asking = asyncio.ensure_future(browser.request("watched", "w", timeout=timeout))
        kept = asyncio.ensure_future(other.request("watched", "kept"))
        await until(lambda: staff.counts() == {"w": 1, "kept": 1})
        if way == "cancel":
            asking.cancel()
        elif way == "disconnect":
            await browser.close()
        errors = (asyncio.CancelledError, framehub.RequestTimeout, framehub.ConnectionClosed)
        with pytest.raises(errors):
            await asking
        await until(lambda: staff.counts()["w-cancelled"])
        assert gateway.functions is not None
        await until(lambda: gateway.functions and gateway.functions.pending == 1)
        assert staff.counts() == {"w": 1, "w-cancelled": 1, "kept": 1}, "the other one runs on"
        kept.cancel()
        await until(lambda: staff.counts()["kept-cancelled"])


async def test_a_query_that_waits_is_given_up_before_it_is_given(
    gateway: Gateway, staff: Workers, tmp_path: Path
) -> None:
    """[RPC-11.3] [RPC-3.4.1]"""
    assert gateway.functions is not None
    go = str(tmp_path / "go")
    async with framehub.connect(gateway.url) as browser:
        window = 64
        holding = [asyncio.ensure_future(browser.request("held", [str(n), go])) for n in range(window)]
        await until(lambda: gateway.functions and gateway.functions.pending == window)
        late = asyncio.ensure_future(browser.request("held", ["late", go]))
        await until(lambda: gateway.functions and gateway.functions.pending == window + 1)
        late.cancel()
        await until(lambda: gateway.functions and gateway.functions.pending == window)
        (tmp_path / "go").touch()
        assert [reply.data for reply in await asyncio.gather(*holding)] == [str(n) for n in range(window)]
    assert "late" not in staff.counts()


async def test_the_journal_tells_which_request_caused_which_query(
    gateway: Gateway, staff: Workers, tmp_path: Path
) -> None:
    """[RPC-11.2] [RPC-4.1] Every row of a query has one exchange; its first names the request's as parent."""
    async with framehub.connect(gateway.url) as browser:
        await browser.request("square", 12)
        with pytest.raises(framehub.EndpointError):
            await browser.request("fail", "so it is")
    await gateway.close()
    rows: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
    for row in journal_of(tmp_path):
        if row["exchange"]:
            rows[row["exchange"]].append(row)
    asked = {row["endpoint"]: own for own, of in rows.items() for row in of if row["kind"] == "request"}
    for endpoint, ending in (("square", "result"), ("fail", "exception")):
        request = asked[endpoint]
        (query,) = (own for own, of in rows.items() if any(row["parent"] == request for row in of))
        assert len(query) == 16
        told = [(row["direction"], row["kind"]) for row in rows[query]]
        assert told[0] == ("in", "query")
        assert {("out", "query"), ("in", ending), ("out", ending)} <= set(told)
        assert [row["parent"] for row in rows[query] if row["parent"]] == [request]
        assert {row["endpoint"] for row in rows[query]} == {endpoint}
        assert [row["kind"] for row in rows[request]] == ["request", "response"]
    assert reader.check(tmp_path / "journal").clean
