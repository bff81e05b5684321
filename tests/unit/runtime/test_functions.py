import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import (
    DecodingError,
    EncodingError,
    RemoteBusy,
    RemoteFunctionError,
    RemoteTimeout,
    UnsupportedFunctionName,
)
from framehub.rpc import words
from framehub.rpc.settings import ProxySettings
from framehub.runtime.files import File
from framehub.runtime.functions import Functions
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.worker import Worker
from framehub.runtime.zmq_socket import MessageSocket
from tests.unit.runtime.rpc_parts import FREE, RawPeer, proxy, serving, until

QUICK = ProxySettings(wait_start=0.3, wait_gone=0.3)


def offered() -> Worker:
    worker = Worker(threads=2, drain=1)

    @worker.function
    def square(x: int) -> int:
        """The square of x."""
        return x * x

    @worker.function
    def add(a: float, b: float = 1.0) -> float:
        return a + b

    @worker.function
    def fail(why: str) -> None:
        raise ValueError(why)

    @worker.function
    async def slow(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "at last"

    @worker.function
    def crop(picture: File, size: int) -> File:
        return File(picture.data[:size], "cropped.png", "image/png")

    @worker.function(name="swap", coders=("Pair<Int, String>", "Pair<String, Int>"))
    def swapped(number: int, text: str) -> tuple[str, int]:
        return text, number

    return worker


@pytest.fixture
async def ours() -> AsyncIterator[RpcProxy]:
    async with proxy(QUICK) as made, serving(offered(), made.workers_address):
        yield made


@pytest.fixture
async def functions(ours: RpcProxy) -> AsyncIterator[Functions]:
    async with Functions(ours.clients_address, timeout=20) as made:
        yield made


async def test_a_function_is_called_by_place_and_by_name(functions: Functions) -> None:
    assert await functions.call("square", 12) == 144
    assert await functions.call("square", x=5) == 25
    assert await functions.call("add", 1, 2) == 3.0
    assert await functions.call("add", a=1) == 2.0
    assert await functions.call("swap", 7, "x") == ("x", 7)
    assert await functions.call_bytes("square", b"3") == b"9"


async def test_many_calls_are_under_way_at_once(functions: Functions) -> None:
    assert await asyncio.gather(*(functions.call("square", n) for n in range(500))) == [
        n * n for n in range(500)
    ]


async def test_a_wrong_argument_is_refused_before_anything_is_sent(
    ours: RpcProxy, functions: Functions
) -> None:
    with pytest.raises(EncodingError, match=r"^square: x: expected integer, got string$"):
        await functions.call("square", "12")
    assert ours.machine.counts["malformed"] == 0
    assert ours.pending == 0


async def test_files_go_both_ways(functions: Functions, tmp_path: Path) -> None:
    picture = tmp_path / "me.png"
    picture.write_bytes(b"0123456789")
    cropped = await functions.call("crop", File(picture), 4)
    assert (cropped.data, cropped.name, cropped.type) == (b"0123", "cropped.png", "image/png")


async def test_what_goes_wrong_is_said(functions: Functions) -> None:
    with pytest.raises(RemoteFunctionError, match="fail failed: ValueError: too bad") as caught:
        await functions.call("fail", "too bad")
    assert (caught.value.function, caught.value.message) == ("fail", "ValueError: too bad")
    with pytest.raises(UnsupportedFunctionName, match="no worker offers a function 'nothing'"):
        await functions.call("nothing", 1)
    with pytest.raises(UnsupportedFunctionName):
        await functions.call_bytes("nothing", b"1")
    with pytest.raises(RemoteTimeout, match=r"^slow: no answer from tcp://.* in time \(0.3 s\)$"):
        await functions.call("slow", 60, timeout=0.3)


async def test_a_call_that_is_cancelled_ends_the_function(ours: RpcProxy, functions: Functions) -> None:
    await functions.call("slow", 0)
    calling = asyncio.ensure_future(functions.call("slow", 60))
    await until(lambda: ours.pending)
    calling.cancel()
    await until(lambda: not ours.pending)


async def test_functions_are_listed_with_what_is_known_of_them(functions: Functions) -> None:
    """[RPC-3.3.2]"""
    listed = {entry["name"]: entry for entry in await functions.list()}
    assert sorted(listed) == ["add", "crop", "fail", "slow", "square", "swap"]
    square = listed["square"]
    assert (square["doc"], square["argument"], square["workers"]) == ("The square of x.", "json", 1)
    assert await functions.coders("swap") == ("Pair<Int, String>", "Pair<String, Int>")
    with pytest.raises(UnsupportedFunctionName):
        await functions.coders("nothing")


async def test_a_proxy_that_is_full_says_busy() -> None:
    async with (
        proxy(ProxySettings(max_queue=1, window=1)) as ours,
        serving(offered(), ours.workers_address),
        Functions(ours.clients_address, timeout=20) as functions,
    ):
        await functions.coders("slow")
        waiting = [asyncio.ensure_future(functions.call("slow", 60)) for _ in range(2)]
        await until(lambda: ours.pending == 2)
        with pytest.raises(RemoteBusy, match="BUSY"):
            await functions.call("slow", 60)
        for call in waiting:
            call.cancel()


async def test_a_proxy_without_extensions_will_do() -> None:
    """[RPC-2.7]"""
    heard: list[list[bytes]] = []

    def answer(batch: list[list[bytes]]) -> None:
        for identity, type_, *parts in batch:
            heard.append([type_, *parts])
            if type_ == words.CODER_IDENTITY_QUERY:
                old.send([identity, words.CODER_IDENTITY_FOUND, parts[0], b"json", b"json"])
            elif type_ == words.QUERY:
                old.send([identity, words.RESPONSE_RESULT, parts[0], parts[1]])

    old = MessageSocket("router", answer)
    async with Functions(old.bind(FREE), timeout=20) as functions:
        assert await functions.call("echo", [1, 2]) == [1, 2]
        assert await functions.call("echo", 1, 2) == [1, 2]
    assert words.CANCEL not in [message[0] for message in heard]
    old.close()


async def test_a_result_that_cannot_be_read_is_said() -> None:
    async with proxy(QUICK) as ours, Functions(ours.clients_address, timeout=20) as functions:
        worker = RawPeer(ours.workers_address)
        worker.says(words.WORKER_REGISTER, b"\0\0\0\1", b"odd", b"json", b"Int")
        calling = asyncio.ensure_future(functions.call("odd", 1))
        [[_, wid, *_]] = await worker.hears()
        worker.says(words.RESPONSE_RESULT, wid, b"not an int")
        with pytest.raises(DecodingError, match="odd: "):
            await calling
        worker.close()


async def test_each_call_has_the_patience_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call that gives up while a function is looked up does not end another's."""
    async with Functions("tcp://127.0.0.1:1", timeout=20) as functions:
        short = asyncio.ensure_future(functions.call("f", timeout=0.2))
        await asyncio.sleep(0)
        long = asyncio.ensure_future(functions.call("f", timeout=0.6))
        with pytest.raises(RemoteTimeout):
            await short
        assert not long.done()
        with pytest.raises(RemoteTimeout):
            await long


def test_the_address_comes_from_the_argument_the_environment_or_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FRAMEHUB_CLIENTS", raising=False)
    assert Functions().address == "tcp://127.0.0.1:7402"
    monkeypatch.setenv("FRAMEHUB_CLIENTS", "tcp://127.0.0.1:1")
    assert Functions().address == "tcp://127.0.0.1:1"
    assert Functions("tcp://127.0.0.1:2").address == "tcp://127.0.0.1:2"


async def test_it_can_be_closed_without_having_been_opened() -> None:
    functions: Any = Functions()
    await functions.close()


async def test_a_list_from_before_the_worker_came_is_asked_for_again() -> None:
    lists = [
        b"[]",
        b"[]",
        b"[]",
        b'[{"name": "f", "argument": "json", "result": "json", "parameters": null}]',
    ]
    heard: list[bytes] = []

    def answer(batch: list[list[bytes]]) -> None:
        for identity, type_, *parts in batch:
            heard.append(type_)
            if type_ == words.FUNCTIONS_QUERY:
                there.send([identity, words.FUNCTIONS_LIST, parts[0], b'{"functions": %s}' % lists.pop(0)])
            elif type_ == words.CODER_IDENTITY_QUERY:
                there.send([identity, words.CODER_IDENTITY_FOUND, parts[0], b"json", b"json"])
            elif type_ == words.QUERY:
                there.send([identity, words.RESPONSE_RESULT, parts[0], parts[1]])

    there = MessageSocket("router", answer)
    async with Functions(there.bind(FREE), timeout=20) as functions:
        assert await functions.call("f", 1) == 1
        assert heard.count(words.FUNCTIONS_QUERY) == 2
        assert await functions.call("f", 2) == 2  # nothing was learnt, so it is asked for again
        assert heard.count(words.FUNCTIONS_QUERY) == 4
        assert await functions.call("f", 3) == 3
        assert heard.count(words.FUNCTIONS_QUERY) == 4
    there.close()
