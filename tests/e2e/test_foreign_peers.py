"""Peers that are not ours, links that hang, workers that are stopped, stuck or leaving (spec/rpc.md)."""

import asyncio
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import framehub
from framehub.rpc.settings import ClientSettings, ProxySettings, WorkerSettings
from framehub.runtime.zmq_setup import Options
from tests.e2e.foreign import Dealer, dealers, relay, workers
from tests.unit.runtime.rpc_parts import proxy, serving

REGISTER = (b"WORKER_REGISTER", b"\0\0\0\1", b"square", b"json", b"json")
BRISK = Options(heartbeat=0.3, heartbeat_timeout=1.0, heartbeat_ttl=1.5)
"""The usual times, shorter: what is tested is that things come back, not when."""
LIMIT = 90


async def until(condition: Callable[[], object]) -> None:
    """Wait for it, however busy the machine is."""
    async with asyncio.timeout(LIMIT):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def squaring() -> framehub.Worker:
    """A worker in this process."""
    worker = framehub.Worker(threads=2)

    @worker.function
    def square(x: int) -> int:
        return x * x

    return worker


# --- who does less than we do ------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", ["short", "36 characters"])
async def test_clients_that_never_acknowledge_are_answered(ids: str) -> None:
    """[RPC-2.2] [RPC-3.1.3] [RPC-3.1.6] Two of them with the same ids; nobody hears anything twice."""
    names = [b"%d" % n if ids == "short" else str(uuid.UUID(int=n)).encode() for n in range(1, 51)]
    async with proxy() as ours, serving(squaring(), ours.workers_address), dealers() as context:
        clients = [Dealer(context, ours.clients_address, identity) for identity in (b"A", None)]
        for at, name in enumerate(names):
            for number, client in enumerate(clients):
                await client.says(b"QUERY", name, b"%d" % (at + number), b"square")
        for number, client in enumerate(clients):
            answers = await client.answers(len(names))
            assert answers == {name: b"%d" % (at + number) ** 2 for at, name in enumerate(names)}
            assert await client.is_quiet()
        assert ours.pending == 0
        assert len(ours.machine.keeping.by_wid) == 100, "kept until somebody acknowledges"


async def test_a_worker_without_heartbeats_or_identity_serves() -> None:
    """[RPC-5.2.1] [RPC-10.2] However long it is silent."""
    settings = ProxySettings(dead_after=0.3)
    async with proxy(settings) as ours, dealers() as context:
        worker = Dealer(context, ours.workers_address)
        await worker.says(*REGISTER)
        await until(lambda: ours.machine.registry.workers)
        async with framehub.Functions(ours.clients_address) as functions:
            for x in (3, 4):
                asking = asyncio.ensure_future(functions.call("square", x))
                type_, wid, argument, name = await worker.hears()
                assert (type_, argument, name) == (b"QUERY", b"%d" % x, b"square")
                await worker.says(b"QUERY_RECEIVED", wid)
                await asyncio.sleep(1.0)  # thrice as long as others would have
                await worker.says(b"RESPONSE_RESULT", wid, b"%d" % x**2)
                assert await asking == x * x
                assert await worker.hears() == [b"RESPONSE_RECEIVED", wid]


async def test_what_such_a_worker_had_goes_to_another_when_its_link_ends() -> None:
    """[RPC-5.2.3] [RPC-4.5]"""
    async with proxy() as ours, dealers() as context:
        worker = Dealer(context, ours.workers_address)
        await worker.says(*REGISTER)
        client = Dealer(context, ours.clients_address, b"c")
        await client.says(b"QUERY", b"1", b"5", b"square")
        await worker.hears()
        async with serving(squaring(), ours.workers_address):
            worker.close()
            assert await client.answers(1) == {b"1": b"25"}


async def test_our_client_and_worker_do_without_query_received(tmp_path: Path) -> None:
    """[RPC-3.1.1] [RPC-3.1.4] Switched off: the client asks again and again, and it is run once."""
    async with proxy(ProxySettings(acknowledge=False)) as ours:
        with workers(tmp_path, ours.workers_address) as staff:
            staff.start()
            await until(lambda: ours.machine.registry.workers)
            settings = ClientSettings(resend=0.1, resend_most=0.3)
            async with framehub.Functions(ours.clients_address, settings=settings) as functions:
                assert await functions.call("slow", "a", 2) == "a"
                assert await functions.call("square", 7) == 49
        assert ours.machine.counts["queries sent again"] > 3
        assert staff.counts() == {"a": 1}


# --- links that hang ---------------------------------------------------------------------------------------

WAYS = [("up", "down"), ("up",), ("down",)]


@pytest.mark.parametrize("ways", WAYS, ids="+".join)
async def test_a_client_whose_link_hangs_comes_back(ways: tuple[str, ...], tmp_path: Path) -> None:
    """[RPC-3.2.3] [RPC-3.2.1] [RPC-10.1] The proxy hands its identity to nobody while the old link hangs."""
    brisk: dict[str, Any] = {"settings": ClientSettings(silence=0.5), "options": BRISK, "timeout": LIMIT}
    async with proxy(options=BRISK) as ours, relay(ours.clients_address) as (wire, address):
        with workers(tmp_path, ours.workers_address) as staff:
            staff.start(2)
            await until(lambda: ours.machine.registry.workers)
            async with framehub.Functions(address, **brisk) as calling:
                assert await calling.call("square", 2) == 4
                slow = [asyncio.ensure_future(calling.call("slow", str(n), 0.5)) for n in range(4)]
                await until(staff.counts)
                wire.hang(*ways)
                quick = [asyncio.ensure_future(calling.call("square", n)) for n in range(20)]
                assert await asyncio.gather(*slow) == ["0", "1", "2", "3"]
                assert await asyncio.gather(*quick) == [n * n for n in range(20)]
        assert wire.connections > 1
        assert staff.counts() == {str(n): 1 for n in range(4)}


@pytest.mark.parametrize("ways", WAYS, ids="+".join)
async def test_a_worker_whose_link_hangs_comes_back(ways: tuple[str, ...]) -> None:
    """[RPC-5.3.4] [RPC-5.4.2] [RPC-5.4.3] [RPC-5.1.7] With what it ran meanwhile, and nothing run twice."""
    ran: list[int] = []
    async with proxy(options=BRISK) as ours, relay(ours.workers_address) as (wire, address):
        worker = framehub.Worker(threads=2, settings=WorkerSettings(silence=0.5), options=BRISK)

        @worker.function
        async def slow(x: int) -> int:
            ran.append(x)
            await asyncio.sleep(0.5)
            return x

        calling = framehub.Functions(ours.clients_address, timeout=LIMIT)
        async with serving(worker, address), calling as functions:
            before = [asyncio.ensure_future(functions.call("slow", n)) for n in range(5)]
            await until(lambda: len(ran) == 5)
            wire.hang(*ways)
            after = [asyncio.ensure_future(functions.call("slow", n)) for n in range(5, 10)]
            assert await asyncio.gather(*before, *after) == list(range(10))
        assert wire.connections > 1
        assert sorted(ran) == list(range(10))


# --- workers that are stopped, stuck or leaving ------------------------------------------------------------


async def test_t60_a_stopped_worker_is_dead_and_another_gets_its_queries(tmp_path: Path) -> None:
    """[RPC-5.2.1] [RPC-4.5] [RPC-5.4.4] And when it goes on, its late answer is nobody's."""
    async with proxy() as ours:
        with workers(tmp_path, ours.workers_address) as staff:
            first = staff.start()
            async with framehub.Functions(ours.clients_address, timeout=LIMIT) as functions:
                await until(lambda: ours.machine.registry.workers)
                asking = asyncio.ensure_future(functions.call("held", "a", str(tmp_path / "go")))
                await until(staff.counts)
                first.send_signal(signal.SIGSTOP)
                try:
                    second = staff.start()
                    await until(lambda: staff.counts()["a"] == 2)
                    (tmp_path / "go").touch()
                    assert await asking == "a"
                    assert [parent for _, _, parent in staff.runs()] == [first.pid, second.pid]
                    assert len(ours.machine.registry.workers) == 1
                finally:
                    first.send_signal(signal.SIGCONT)
                await until(lambda: len(ours.machine.registry.workers) == 2)
                assert await functions.call("square", 3) == 9
        assert staff.counts() == {"a": 2}


@pytest.mark.parametrize("function", ["spin", "power"])
async def test_t60_a_function_that_never_ends_keeps_nobody(function: str, tmp_path: Path) -> None:
    """[RPC-5.4.7] [RPC-3.4.2] Its worker lives, serves others, and ends it when nobody waits."""
    async with proxy(ProxySettings(dead_after=2.0)) as ours:
        with workers(tmp_path, ours.workers_address) as staff:
            staff.start(2)
            async with framehub.Functions(ours.clients_address, timeout=LIMIT) as functions:
                await until(lambda: ours.machine.registry.workers)
                stuck = asyncio.ensure_future(functions.call(function, "a"))
                await until(staff.counts)
                (identity,) = ours.machine.registry.workers
                await asyncio.sleep(3.0)  # longer than a silent worker would live
                assert await functions.call("square", 5) == 25
                assert list(ours.machine.registry.workers) == [identity]
                assert ours.pending == 1
                stuck.cancel()
                await until(lambda: not ours.pending)
                assert await functions.call("square", 6) == 36
        assert ours.machine.counts["dead workers"] == 0
        assert staff.counts() == {"a": 1}


async def test_t60_max_runtime_ends_what_never_ends(tmp_path: Path) -> None:
    """[RPC-5.4.7] For a client that can tell nobody to stop."""
    async with proxy() as ours, dealers() as context:
        with workers(tmp_path, ours.workers_address) as staff:
            staff.start()
            await until(lambda: ours.machine.registry.workers)
            client = Dealer(context, ours.clients_address)
            await client.says(b"QUERY", b"1", b'"a"', b"short")
            (text,) = (await client.answers(1)).values()
            assert b"0.5" in text
            await client.says(b"QUERY", b"2", b"5", b"square")
            assert await client.answers(1) == {b"2": b"25"}
        assert staff.counts() == {"a": 1}


async def test_a_worker_that_is_told_to_end_loses_nothing(tmp_path: Path) -> None:
    """[RPC-5.1.6] [RPC-5.4.5] What runs is finished, what was not begun moves at once; none is run twice."""
    async with proxy() as ours:
        with workers(tmp_path, ours.workers_address) as staff:
            first = staff.start()
            async with framehub.Functions(ours.clients_address, timeout=LIMIT) as functions:
                await until(lambda: ours.machine.registry.workers)
                asking = [asyncio.ensure_future(functions.call("held", "long", str(tmp_path / "go")))]
                await until(staff.counts)
                asking += [asyncio.ensure_future(functions.call("slow", str(n), 0.01)) for n in range(20)]
                await until(lambda: ours.pending == 21)
                second = staff.start()
                await until(lambda: len(ours.machine.registry.workers) == 2)
                first.send_signal(signal.SIGTERM)
                moved = await asyncio.gather(*asking[1:])
                assert moved == [str(n) for n in range(20)]
                assert first.poll() is None, "it has the long one to finish"
                (tmp_path / "go").touch()
                assert await asking[0] == "long"
                await until(lambda: first.poll() is not None)
                assert first.returncode == 0
                assert ours.machine.counts["dead workers"] == 0
        parents = {op: parent for op, _, parent in staff.runs()}
        assert staff.counts() == dict.fromkeys(["long", *map(str, range(20))], 1)
        assert parents.pop("long") == first.pid
        assert set(parents.values()) == {second.pid}
