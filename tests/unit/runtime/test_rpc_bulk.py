"""Many calls at once, from code without an event loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from hashlib import blake2b

import pytest

from framehub.errors import ConnectFailed
from framehub.rpc.groups import OWN_BYTES, head
from framehub.rpc.settings import ProxySettings
from framehub.runtime import rpc_bulk
from framehub.runtime.rpc_bulk import BulkCalls, Failure, Outcome
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.worker import Worker
from tests.unit.runtime.rpc_parts import proxy, serving, until

KEY = b"k" * 32


def ids(row: int, argument: bytes, attempt: int) -> bytes:
    return head(KEY) + blake2b(b"%d %d %s" % (row, attempt, argument), digest_size=OWN_BYTES).digest()


class Notes:
    """What the functions saw."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.at_once = 0
        self.most = 0


def offered(notes: Notes) -> Worker:
    worker = Worker(threads=2, drain=1)

    @worker.function
    async def square(x: int) -> int:
        notes.runs.append(x)
        notes.at_once += 1
        notes.most = max(notes.most, notes.at_once)
        await asyncio.sleep(0.01)
        notes.at_once -= 1
        return x * x

    @worker.function
    def moody(x: int) -> int:
        notes.runs.append(x)
        if x < 0 or notes.runs.count(x) <= x:
            raise ValueError(f"not yet {x}")
        return x

    @worker.function
    def slow(x: int) -> int:
        time.sleep(0.02)
        return x

    @worker.function
    async def asleep(x: int) -> int:
        await asyncio.sleep(60)
        return x

    return worker


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
async def ours(notes: Notes) -> AsyncIterator[RpcProxy]:
    settings = ProxySettings(wait_start=0.3, wait_gone=0.3)
    async with proxy(settings) as made, serving(offered(notes), made.workers_address):
        yield made


def call(
    address: str,
    name: str,
    *batches: Sequence[Outcome],
    window: int = 8,
    timeout: float = 20.0,
    retries: int = 0,
    before: int = 0,
) -> list[Sequence[Outcome]]:
    """All batches submitted one after another, then waited for."""
    made = BulkCalls(
        address, name.encode(), ids=ids, window=window, timeout=timeout, retries=retries, before=before
    )
    with made as calls:
        first, submitted = 0, []
        for batch in batches:
            submitted.append(calls.submit(batch, first=first))
            first += len(batch)
        return [batch.wait() for batch in submitted]


async def test_results_come_in_the_order_of_arguments(ours: RpcProxy, notes: Notes) -> None:
    batches = [[b"%d" % x for x in range(30)], [], [b"%d" % x for x in range(30, 50)]]
    got = await asyncio.to_thread(call, ours.clients_address, "square", *batches)
    assert [list(part) for part in got] == [
        [b"%d" % (x * x) for x in range(30)],
        [],
        [b"%d" % (x * x) for x in range(30, 50)],
    ]
    assert 1 < notes.most <= 8


async def test_what_is_no_argument_stays_as_it_is(ours: RpcProxy) -> None:
    batch: list[Outcome] = [None, b"3", Failure("no such column")]
    (got,) = await asyncio.to_thread(call, ours.clients_address, "square", batch)
    assert list(got) == [None, b"9", Failure("no such column")]
    (got,) = await asyncio.to_thread(call, ours.clients_address, "square", [None])
    assert list(got) == [None]


async def test_the_same_rows_asked_again_are_not_run_again(ours: RpcProxy, notes: Notes) -> None:
    """[RPC-3.5.3] Each time by a client of its own."""
    batch = [b"%d" % x for x in range(20)]
    for _ in range(3):
        (got,) = await asyncio.to_thread(call, ours.clients_address, "square", batch)
        assert list(got) == [b"%d" % (x * x) for x in range(20)]
    assert sorted(notes.runs) == list(range(20))


async def test_a_group_keeps_to_its_limit_however_many_ask_for_it(ours: RpcProxy, notes: Notes) -> None:
    """[RPC-3.5.5] The proxy sees to it, not the clients."""

    def few(row: int, argument: bytes, attempt: int) -> bytes:
        return head(KEY, 2) + ids(row, argument, attempt)[-OWN_BYTES:]

    def ask() -> None:
        batch = [b"%d" % x for x in range(30)]
        with (
            BulkCalls(ours.clients_address, b"square", ids=few) as one,
            BulkCalls(ours.clients_address, b"square", ids=few) as two,
        ):
            first, second = one.submit(batch, first=0), two.submit(batch, first=100)
            assert len(first.wait()) == len(second.wait()) == 30

    await asyncio.to_thread(ask)
    assert len(notes.runs) == 60
    assert notes.most == 2


async def test_what_fails_is_tried_again_as_often_as_wanted(ours: RpcProxy) -> None:
    batch = [b"0", b"1", b"2", b"-5"]
    (got,) = await asyncio.to_thread(call, ours.clients_address, "moody", batch, retries=1)
    assert got[:2] == [b"0", b"1"]
    assert got[2] == Failure("ValueError: not yet 2")
    assert got[3] == Failure("ValueError: not yet -5")


async def test_a_slow_function_has_fewer_calls_waiting(ours: RpcProxy) -> None:
    """Else the last of a window would come to the end of their time before it is their turn."""

    def ask() -> float:
        with BulkCalls(ours.clients_address, b"slow", ids=ids, window=1_000, timeout=5.0) as calls:
            got = calls.submit([b"%d" % x for x in range(300)], first=0).wait()
            assert list(got) == [b"%d" % x for x in range(300)]
            return calls._allowed

    assert await asyncio.to_thread(ask) < 100


async def test_a_quick_function_has_all_of_its_window(ours: RpcProxy) -> None:
    def ask() -> float:
        with BulkCalls(ours.clients_address, b"square", ids=ids, window=64, timeout=60.0) as calls:
            calls.submit([b"%d" % x for x in range(200)], first=0).wait()
            return calls._allowed

    assert await asyncio.to_thread(ask) == 64


async def test_a_call_has_its_time(ours: RpcProxy) -> None:
    (got,) = await asyncio.to_thread(call, ours.clients_address, "asleep", [b"1"], timeout=0.3)
    assert isinstance(got[0], Failure)
    assert got[0].text.startswith("timeout: no answer from tcp://127.0.0.1:")


async def test_a_function_that_nobody_offers_and_an_argument_too_large(ours: RpcProxy) -> None:
    (got,) = await asyncio.to_thread(call, ours.clients_address, "nobody", [b"1", b"x" * (17 << 20)])
    assert got[0] == Failure("no worker offers it any more")
    assert isinstance(got[1], Failure)
    assert "max_message_bytes" in got[1].text


async def test_who_tries_again_passes_what_was_true_of_the_moment(notes: Notes) -> None:
    """[RPC-3.5.3] As often as others may have met it, and under other ids: the first one's answer is kept."""
    async with proxy(ProxySettings(wait_start=0.1)) as made:
        await asyncio.sleep(0.2)
        for before in (0, 1):
            (got,) = await asyncio.to_thread(call, made.clients_address, "square", [b"3"], before=before)
            assert list(got) == [Failure("no worker offers it any more")]
        async with serving(offered(notes), made.workers_address):
            for before in (0, 1):
                (got,) = await asyncio.to_thread(call, made.clients_address, "square", [b"3"], before=before)
                assert list(got) == [Failure("no worker offers it any more")]
            for before in (2, 3):
                (got,) = await asyncio.to_thread(call, made.clients_address, "square", [b"3"], before=before)
                assert list(got) == [b"9"]
        assert notes.runs == [3]


async def test_what_another_gave_up_is_run_under_another_id(notes: Notes) -> None:
    """[RPC-3.5.4] Its first id stays cancelled."""
    async with proxy(ProxySettings(wait_start=30.0)) as made:
        (got,) = await asyncio.to_thread(call, made.clients_address, "square", [b"3"], timeout=0.3)
        assert isinstance(got[0], Failure)
        group = made.machine.asking.groups.find(head(KEY))
        assert group is not None
        await until(lambda: not group.open)
        async with serving(offered(notes), made.workers_address):
            (got,) = await asyncio.to_thread(call, made.clients_address, "square", [b"3"])
            assert list(got) == [b"9"]
        assert len(group.jobs) == 2


async def test_a_busy_proxy_is_waited_for(notes: Notes) -> None:
    """[RPC-3.5.7] Nothing fails, with fewer calls under way for a while."""
    settings = ProxySettings(group_queue=2, window=2, wait_start=0.3)
    async with proxy(settings) as made, serving(offered(notes), made.workers_address):
        batch = [b"%d" % x for x in range(60)]
        (got,) = await asyncio.to_thread(call, made.clients_address, "square", batch, window=32)
        assert list(got) == [b"%d" % (x * x) for x in range(60)]
        assert made.machine.counts["busy"] > 0
        assert sorted(notes.runs) == list(range(60))


async def test_a_proxy_that_stays_busy_fails_in_time(ours: RpcProxy) -> None:
    ours.drain()
    (got,) = await asyncio.to_thread(call, ours.clients_address, "square", [b"1"], timeout=0.5)
    assert isinstance(got[0], Failure)
    assert got[0].text.startswith("BUSY")


async def test_where_nobody_listens_all_batches_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc_bulk, "CONNECT_TIMEOUT", 0.3)

    def fail() -> None:
        with BulkCalls("tcp://127.0.0.1:1", b"square", ids=ids, window=1) as calls:
            first = calls.submit([b"1", b"2"], first=0)
            with pytest.raises(ConnectFailed, match="no proxy is there"):
                first.wait()
            with pytest.raises(ConnectFailed, match="no proxy is there"):
                calls.submit([b"1"], first=2).wait()
            with pytest.raises(ConnectFailed, match="no proxy is there"):
                calls.reach(0.1)

    await asyncio.to_thread(fail)


async def test_a_group_is_ended_by_a_message(ours: RpcProxy) -> None:
    """[RPC-3.5.8]"""

    def end() -> None:
        with BulkCalls(ours.clients_address, b"square", ids=ids) as calls:
            calls.submit([b"2"], first=0).wait()
            calls.reach(5)
            calls.tell(b"CANCEL", head(KEY))
        calls.close()

    await asyncio.to_thread(end)
    group = ours.machine.asking.groups.find(head(KEY))
    assert group is not None
    await until(lambda: not group.jobs)
