"""Bad input of clients of remote functions: what is answered, what is counted, and that nothing else changes.

All rows run against one gateway, while twenty honest callers work beside them (spec/rpc.md, section 8).
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from framehub.runtime.zmq_setup import Options

from .arena import MIB
from .conftest import RpcArenas
from .rpc_arena import QUICK, RpcArena
from .rpc_attacker import Dealer, Worker, bare
from .rpc_judge import QUEUE, Judge, judged, refused, still_heard

WINDOW = 64
FOREIGN = [b"RESPONSE_RESULT", b"RESPONSE_EXCEPTION", b"RESPONSE_UNKNOWN_FUNCTION", b"QUERY_RECEIVED"]
ONE = (1).to_bytes(4, "big")
F = (b"f", b"Int", b"Int")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(rpc_arenas: RpcArenas) -> AsyncIterator[RpcArena]:
    async with judged(rpc_arenas) as arena:
        yield arena


# --- clients -----------------------------------------------------------------------------------------------

ANSWERED: dict[str, list[bytes]] = {
    "an unknown type": [b"HELLO", b"7"],
    "a type of another case": [b"query", b"7", b"", b"echo"],
    "a type that is not UTF-8": [b"\xff\xfe", b"7"],
    "an empty type": [b"", b"7"],
    "a very long type": [b"Q" * 100_000, b"7"],
    "a query without an argument": [b"QUERY", b"7"],
    "a query without a function": [b"QUERY", b"7", b""],
    "a query with a part too many": [b"QUERY", b"7", b"", b"echo", b""],
    "a query with an empty function": [b"QUERY", b"7", b"", b""],
    "a query with a function of 256 bytes": [b"QUERY", b"7", b"", b"f" * 256],
    "a query with a function that is not UTF-8": [b"QUERY", b"7", b"", b"\xff"],
    "a question without a function": [b"CODER_IDENTITY_QUERY", b"7"],
    "a question with a function that is not UTF-8": [b"CODER_IDENTITY_QUERY", b"7", b"\xc0\x80"],
    "an acknowledgement with a part too many": [b"RESPONSE_RECEIVED", b"7", b""],
    "a list asked for with a part too many": [b"FUNCTIONS_QUERY", b"7", b""],
    "a cancel with a part too many": [b"CANCEL", b"7", b""],
    "the largest id": [b"HELLO", b"7" * 64],
    **{f"a {name.decode()} of a client": [name, b"7", b"x"] for name in FOREIGN},
    "a QUERY_RETURNED of a client": [b"QUERY_RETURNED", b"7", b"died"],
    "a WORKER_DESCRIBE of a client": [b"WORKER_DESCRIBE", b"{}"],
    "a registration of a client": [b"WORKER_REGISTER", ONE, *F],
}


@pytest.mark.parametrize("row", ANSWERED)
async def test_a_malformed_message_with_an_id_is_answered(arena: RpcArena, row: str) -> None:
    """[RPC-8.1] [RPC-2.1] [RPC-2.2] [RPC-2.3]"""
    judge = Judge(arena)
    parts = ANSWERED[row]
    with Dealer(arena.clients) as client:
        client.says(*parts)
        [[type_, id_, text]] = await client.hears()
        assert (type_, id_) == (b"RESPONSE_EXCEPTION", parts[1])
        assert text.startswith(b"bad request: ")
        assert len(text) < 500
        await still_heard(client)
    judge.check(malformed=1)


UNANSWERED: dict[str, list[bytes]] = {
    "an empty part": [b""],
    "a type alone": [b"QUERY"],
    "an unknown type alone": [b"HELLO"],
    "a HEART_BEAT of a client": [b"HEART_BEAT"],
    "an empty id": [b"QUERY", b"", b"x", b"echo"],
    "an id of 65 bytes": [b"QUERY", b"7" * 65, b"x", b"echo"],
    "an empty id of a question": [b"CODER_IDENTITY_QUERY", b"", b"echo"],
    "an empty id of an acknowledgement": [b"RESPONSE_RECEIVED", b""],
}


@pytest.mark.parametrize("row", UNANSWERED)
async def test_a_malformed_message_without_an_id_is_only_counted(arena: RpcArena, row: str) -> None:
    """[RPC-8.1] [RPC-2.2]"""
    judge = Judge(arena)
    with Dealer(arena.clients) as client:
        client.says(*UNANSWERED[row])
        await still_heard(client)
    judge.check(malformed=1)


async def test_what_fits_nothing_is_only_counted(arena: RpcArena) -> None:
    """[RPC-3.1.7] [RPC-3.4.3]"""
    judge = Judge(arena)
    with Dealer(arena.clients) as client:
        client.says(b"RESPONSE_RECEIVED", b"7")
        client.says(b"CANCEL", b"7")
        await still_heard(client)
    judge.check(acknowledgements_of_nothing=1, cancels_of_nothing=1)


async def test_one_malformed_message_too_many_and_a_peer_is_not_heard(arena: RpcArena) -> None:
    """[RPC-8.3] Sixteen are answered, and with one more it is over; others are heard."""
    judge = Judge(arena)
    with Dealer(arena.clients) as client, Dealer(arena.clients) as other:
        for _ in range(16):
            client.says(b"HELLO", b"7")
        await client.hears(16)
        await still_heard(client)
        client.says(b"HELLO", b"7")
        await client.hears()
        client.says(b"CODER_IDENTITY_QUERY", b"1", b"typed")
        client.says(b"QUERY", b"2", b"x", b"echo")
        await arena.until(lambda _: arena.counts()["from the silenced"])
        await still_heard(other)
        assert client.heard == []
    judge.check(malformed=17, from_the_silenced=2)


async def test_an_id_that_is_used_again_for_something_else(arena: RpcArena) -> None:
    """[RPC-3.1.5] Not run, and the first one's answer is as it was."""
    judge = Judge(arena)
    with Dealer(arena.clients) as client:
        client.says(b"QUERY", b"7", b"first", b"echo")
        assert (await client.hears(2))[1] == [b"RESPONSE_RESULT", b"7", b"first"]
        for argument, function in ((b"second", b"echo"), (b"first", b"square")):
            client.says(b"QUERY", b"7", argument, function)
            [[type_, id_, text]] = await client.hears()
            assert (type_, id_, text[:9]) == (b"RESPONSE_EXCEPTION", b"7", b"id reused")
        client.says(b"QUERY", b"7", b"first", b"echo")
        assert await client.hears(2) == [[b"QUERY_RECEIVED", b"7"], [b"RESPONSE_RESULT", b"7", b"first"]]
    judge.check(ids_reused=2)


async def test_a_function_that_nobody_offers(arena: RpcArena) -> None:
    """[RPC-4.4] [RPC-3.3.1]"""
    judge = Judge(arena)
    with Dealer(arena.clients) as client:
        client.says(b"QUERY", b"7", b"", b"nobody")
        assert await client.hears(2) == [
            [b"QUERY_RECEIVED", b"7"],
            [b"RESPONSE_UNKNOWN_FUNCTION", b"7", b"nobody"],
        ]
        client.says(b"CODER_IDENTITY_QUERY", b"8", b"nobody")
        assert await client.hears() == [[b"CODER_IDENTITY_NOT_FOUND", b"8"]]
    judge.check()


async def test_a_function_whose_worker_died(arena: RpcArena) -> None:
    """[RPC-4.4] The query waits for another worker, then an exception says that none came."""
    judge = Judge(arena)
    with Dealer(arena.clients) as client:
        with Dealer(arena.workers) as worker:
            worker.says(b"WORKER_REGISTER", ONE, b"lost", b"", b"")
            await arena.until(lambda stand: "lost" in stand["functions"])
            client.says(b"QUERY", b"7", b"", b"lost")
            await worker.hears()
        [_, [type_, id_, text]] = await client.hears(2)
        assert (type_, id_, text[:9]) == (b"RESPONSE_EXCEPTION", b"7", b"no worker")
    judge.check()


async def test_a_queue_that_is_full(arena: RpcArena) -> None:
    """[RPC-3.1.8] [RPC-4.3] BUSY without QUERY_RECEIVED; functions with free workers go on."""
    judge = Judge(arena)
    over = 10
    with Worker(arena.workers, b"stall") as worker, Dealer(arena.clients) as client:
        await arena.until(lambda stand: "stall" in stand["functions"])
        for n in range(WINDOW + QUEUE + over):
            client.says(b"QUERY", b"%d" % n, b"", b"stall")
        heard = await client.hears(WINDOW + QUEUE + over)
        taken = [id_ for type_, id_, *_ in heard if type_ == b"QUERY_RECEIVED"]
        busy = [message for message in heard if message[0] == b"RESPONSE_EXCEPTION"]
        assert taken == [b"%d" % n for n in range(WINDOW + QUEUE)]
        assert [id_ for _, id_, _ in busy] == [b"%d" % (WINDOW + QUEUE + n) for n in range(over)]
        assert {text[:4] for *_, text in busy} == {b"BUSY"}
        await worker.until(lambda: len(worker.queries) == WINDOW)
        with Dealer(arena.clients) as other:
            other.says(b"QUERY", b"7", b"mine", b"echo")
            assert (await other.hears(2))[1] == [b"RESPONSE_RESULT", b"7", b"mine"]
        for n in range(WINDOW + QUEUE):
            client.says(b"CANCEL", b"%d" % n)
        await client.hears(QUEUE)
        last = busy[0][1]
        client.says(b"QUERY", last, b"", b"stall")
        assert await client.hears() == [[b"QUERY_RECEIVED", last]]
        client.says(b"CANCEL", last)
        await client.hears()
        for _, wid, *_ in worker.queries:
            worker.says(b"RESPONSE_RESULT", wid, b"")
        await client.hears(WINDOW)
    await arena.until(lambda stand: "stall" not in stand["functions"])
    judge.check(busy=over)


async def test_a_message_that_is_too_large(arena: RpcArena) -> None:
    """[RPC-9.1] [RPC-10.3] One large part ends the link; many parts are dropped as they come, and counted."""
    judge = Judge(arena)
    with Dealer(arena.clients, options=Options(max_message_bytes=64 * MIB)) as client:
        client.says(b"QUERY", b"7", bytes(18 * MIB), b"echo")
        await client.until(lambda: client.connections > 1)
        await still_heard(client)
        client.says(b"QUERY", b"7", bytes(9 * MIB), bytes(9 * MIB))
        await still_heard(client)
        client.says(*[b"QUERY"] * 4_000)
        await still_heard(client)
    judge.check(too_many_parts_or_bytes_from_a_client=2)


# --- functions ---------------------------------------------------------------------------------------------

FAILING: dict[str, tuple[bytes, bytes, bytes]] = {
    "an argument that cannot be decoded": (b"typed", b"abc", b"bad argument: "),
    "an argument of nothing": (b"typed", b"", b"bad argument: "),
    "an argument of another type": (b"square", b'"12"', b"bad argument: "),
    "a function that raises": (b"fail", b'"why"', b"ValueError: why"),
    "a result that is too large": (b"enlarge", b"20000000", b""),
}


@pytest.mark.parametrize("row", FAILING)
async def test_a_function_that_fails_is_an_exception_and_its_worker_lives(arena: RpcArena, row: str) -> None:
    """[RPC-2.6] [RPC-6.4] Without a traceback, without places of the server."""
    judge = Judge(arena)
    function, argument, beginning = FAILING[row]
    with Dealer(arena.clients) as client:
        client.says(b"QUERY", b"7", argument, function)
        [_, [type_, id_, text]] = await client.hears(2)
    assert (type_, id_) == (b"RESPONSE_EXCEPTION", b"7")
    assert text.startswith(beginning)
    for inside in (b"Traceback", b".py", b"/work", b"line "):
        assert inside not in text
    judge.check()
    assert arena.stand()["workers"] == 1


# --- keys --------------------------------------------------------------------------------------------------


async def test_a_wrong_key_and_no_key_at_all(rpc_arenas: RpcArenas) -> None:
    """[RPC-10.4] Nothing of theirs reaches the proxy."""
    arena = rpc_arenas(QUICK, curve=True)
    async with arena.attacked() as siege:
        before = arena.stand()
        strangers = {
            "client": [(arena.clients, "stranger"), (arena.clients, "worker")],
            "worker": [(arena.workers, "stranger"), (arena.workers, "client")],
        }
        for side, peers in strangers.items():
            for port, name in peers:
                with Dealer(port, curve=arena.curve(name)) as stranger:
                    stranger.says(b"QUERY", b"7", b"x", b"echo")
                    await refused(stranger)
                    assert (stranger.connections, stranger.heard) == (0, [])
            assert arena.stand()["refused"][side] - before["refused"][side] >= 2
        for port in (arena.clients, arena.workers):
            for mechanism in (b"NULL", b"PLAIN", b"CURVE", b"NONE"):
                attacker = await bare(port, mechanism=mechanism)
                await asyncio.wait_for(attacker.rest(), 30)  # it is disconnected
                attacker.leave()
        after = arena.stand()
        assert (after["workers"], after["functions"]) == (before["workers"], before["functions"])
    siege.check(64 * MIB)
    assert siege.counts == {}
