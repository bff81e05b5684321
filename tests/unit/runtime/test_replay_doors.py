"""Requests, messages and calls as they are done again."""

import asyncio

from msgspec import UNSET

from framehub.journal import answers
from framehub.journal.acts import TIMEOUT, Ask, Query, Tell
from framehub.journal.answers import Attached
from framehub.rpc.settings import ProxySettings
from framehub.runtime.calls import Call, Reply
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.functions import Functions
from framehub.runtime.listen import listen
from framehub.runtime.replay_doors import MfpDoor, RpcDoor
from framehub.runtime.worker import Worker
from tests.unit.runtime.rpc_parts import proxy, serving

EXCHANGE = bytes(16)
PICTURE = {3: Attached(b"png", "me.png", "image/png")}


async def test_a_request_takes_its_files_along_and_brings_the_answers() -> None:
    app = Endpoints()

    @app.on("echo")
    def echo(call: Call) -> Reply:
        return Reply({"data": call.data, "time": 5}, call.files)

    async with listen("ws://127.0.0.1:0/mfp", app) as server:
        door = MfpDoor({"url": server.url}, 10, [("data", "time")])
        came = await door.ask(Ask(EXCHANGE, "echo", {"a": 1}, PICTURE))
        assert came(None) == answers.of_reply({"data": {"data": {"a": 1}}}, PICTURE)
        unknown = (await door.ask(Ask(EXCHANGE, "nobody", UNSET, {})))(None)
        assert (unknown.kind, "unknown_endpoint" in unknown.text) == ("error", True)
        await door.close()


async def test_messages_with_their_files_before_and_after() -> None:
    app, seen = Endpoints(), asyncio.Queue[tuple[object, bytes]]()

    @app.on("album")
    async def album(call: Call) -> None:
        await seen.put((call.data, call.files[3].data))

    async with listen("ws://127.0.0.1:0/mfp", app) as server:
        door = MfpDoor({"url": server.url}, 10, ())
        for announced in (False, True):
            await door.tell(Tell(EXCHANGE, "album", announced, PICTURE, announced=announced, ack=True))
            assert await asyncio.wait_for(seen.get(), 10) == (announced, b"png")
        await door.close()


async def test_a_request_that_takes_too_long() -> None:
    app = Endpoints()

    @app.on("wait")
    async def wait(_: Call) -> None:
        await asyncio.Event().wait()

    async with listen("ws://127.0.0.1:0/mfp", app) as server:
        door = MfpDoor({"url": server.url}, 0.1, ())
        assert (await door.ask(Ask(EXCHANGE, "wait", UNSET, {})))(None) is TIMEOUT
        await door.close()


async def test_calls_of_functions() -> None:
    worker = Worker(threads=2, drain=1)

    @worker.function
    def square(x: int) -> int:
        return x * x

    @worker.function
    def fail(why: str) -> None:
        raise ValueError(why)

    @worker.function
    async def slow() -> None:
        await asyncio.sleep(30)

    async with (
        proxy(ProxySettings(wait_start=0.3, wait_gone=0.3)) as made,
        serving(worker, made.workers_address),
        Functions(made.clients_address, timeout=20) as functions,
    ):
        door = RpcDoor(functions, 20, ())
        came = await door.ask(Query(EXCHANGE, "square", b"3"))
        assert came("json") == answers.of_result(b"9", "json")
        failed = (await door.ask(Query(EXCHANGE, "fail", b'"it broke"')))("json")
        assert (failed.kind, "it broke" in failed.text) == ("error", True)
        unknown = (await door.ask(Query(EXCHANGE, "nobody", b"1")))("json")
        assert unknown == answers.of_failure("unknown function")
        quick = RpcDoor(functions, 0.3, ())
        assert (await quick.ask(Query(EXCHANGE, "slow", b"null")))("json") is TIMEOUT
        await door.close()
