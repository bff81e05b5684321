"""Bad input of workers of remote functions: what is answered, what is counted, and that nothing else changes.

All rows run against one gateway, while twenty honest callers work beside them (spec/rpc.md, section 8).
"""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from .conftest import RpcArenas
from .rpc_arena import RpcArena
from .rpc_attacker import Dealer, Worker
from .rpc_judge import Judge, judged, still_heard

FOREIGN = [b"RESPONSE_RESULT", b"RESPONSE_EXCEPTION", b"RESPONSE_UNKNOWN_FUNCTION"]
ONE = (1).to_bytes(4, "big")
F = (b"f", b"Int", b"Int")
MANY = [part for n in range(1_025) for part in (b"%d" % n, b"", b"")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(rpc_arenas: RpcArenas) -> AsyncIterator[RpcArena]:
    async with judged(rpc_arenas) as arena:
        yield arena


STRANGE: dict[str, tuple[list[bytes], str]] = {
    **{f"a {name.decode()}": ([name, bytes(16), b"x"], "from the unregistered") for name in FOREIGN},
    "a QUERY_RECEIVED": ([b"QUERY_RECEIVED", bytes(16)], "from the unregistered"),
    "a QUERY_RETURNED": ([b"QUERY_RETURNED", bytes(16), b"died"], "from the unregistered"),
    "an unknown type": ([b"HELLO", b"x"], "malformed"),
    "a query": ([b"QUERY", b"7", b"", b"echo"], "malformed"),
    "no JSON in a description": ([b"WORKER_DESCRIBE", b"{"], "malformed"),
    "a description nested too deep": (
        [b"WORKER_DESCRIBE", b'{"functions":{"f":{"parameters":' + b"[" * 5_000 + b"]" * 5_000 + b"}}}"],
        "malformed",
    ),
}


@pytest.mark.parametrize("row", STRANGE)
async def test_a_worker_that_is_not_registered_is_only_counted(arena: RpcArena, row: str) -> None:
    """[RPC-5.2.4] [RPC-8.1] The next thing that it hears is the answer to its HEART_BEAT."""
    judge = Judge(arena)
    parts, counted = STRANGE[row]
    with Dealer(arena.workers) as worker:
        worker.says(*parts)
        worker.says(b"HEART_BEAT")
        assert await worker.hears() == [[b"HEART_BEAT"]]
    judge.check(**{counted.replace(" ", "_"): 1})


REFUSED: dict[str, tuple[list[bytes], bytes]] = {
    "no count": ([], b""),
    "a count of 3 bytes": ([b"\0\0\1", *F], b"f"),
    "fewer functions than counted": ([(2).to_bytes(4, "big"), *F], b"f"),
    "more functions than counted": ([ONE, *F, *F], b"f"),
    "a function cut short": ([ONE, b"f", b"Int"], b"f"),
    "functions counted, none there": ([ONE], b""),
    "four billion functions": ([b"\xff" * 4, *F], b"f"),
    "1,025 functions": ([(1_025).to_bytes(4, "big"), *MANY], b"0"),
    "a name twice": ([(2).to_bytes(4, "big"), *F, *F], b"f"),
    "a name that is not UTF-8": ([ONE, b"\xff", b"Int", b"Int"], b""),
    "an empty name": ([ONE, b"", b"Int", b"Int"], b""),
    "a name of 256 bytes": ([ONE, b"f" * 256, b"Int", b"Int"], b"f" * 255),
    "a name that clears the screen": ([ONE, b"\x1b[2J", b"Int", b"Int"], b"\x1b[2J"),
    "a name that turns the line around": ([ONE, "a\u202eb".encode(), b"Int", b"Int"], "a\u202eb".encode()),
    "a name that is a path": ([ONE, b"../../etc/passwd", b"Int", b"Int"], b"../../etc/passwd"),
    "a name that is a folder": ([ONE, b"..", b"Int", b"Int"], b".."),
    "a coder of 256 bytes": ([ONE, b"f", b"I" * 256, b"Int"], b"f"),
    "a coder that is not UTF-8": ([ONE, b"f", b"Int", b"\xff"], b"f"),
    "a good function before a bad one": ([(2).to_bytes(4, "big"), *F, b"", b"", b""], b"f"),
}


@pytest.mark.parametrize("row", REFUSED)
async def test_a_malformed_registration_is_refused_whole(arena: RpcArena, row: str) -> None:
    """[RPC-5.1.2] [RPC-5.1.3] [RPC-2.4]"""
    judge = Judge(arena)
    parts, name = REFUSED[row]
    with Dealer(arena.workers) as worker:
        worker.says(b"WORKER_REGISTER", *parts)
        assert await worker.hears() == [[b"INCOMPATIBLE_SPECS_FAILURE", name, b"", b""]]
        worker.says(b"HEART_BEAT")
        assert await worker.hears() == [[b"HEART_BEAT"]]  # as to anybody who is not registered
    judge.check(registrations_refused=1, malformed=1)


async def test_other_coders_than_the_others_have(arena: RpcArena) -> None:
    """[RPC-5.1.1] [RPC-5.1.3] Nothing is registered, not even the function that nobody else offers."""
    judge = Judge(arena)
    with Dealer(arena.workers) as worker:
        worker.says(b"WORKER_REGISTER", (2).to_bytes(4, "big"), b"new", b"", b"", b"typed", b"Int", b"Long")
        assert await worker.hears() == [[b"INCOMPATIBLE_SPECS_FAILURE", b"typed", b"Int", b"Int"]]
    judge.check(registrations_refused=1)


async def test_a_registered_worker_with_too_many_malformed_messages_is_dead(arena: RpcArena) -> None:
    """[RPC-8.3] Its query goes to another."""
    judge = Judge(arena)
    with Worker(arena.workers, b"shared") as bad, Dealer(arena.clients) as client:
        await arena.until(lambda stand: "shared" in stand["functions"])
        client.says(b"QUERY", b"7", b"x", b"shared")
        await bad.until(lambda: bad.queries)
        with Worker(arena.workers, b"shared", lambda wid, data: [b"RESPONSE_RESULT", wid, data]):
            await arena.until(lambda stand: stand["workers"] == 3)
            for _ in range(17):
                bad.says(b"HELLO")
            assert (await client.hears(2))[1] == [b"RESPONSE_RESULT", b"7", b"x"]
    await arena.until(lambda stand: stand["workers"] == 1)
    judge.check(malformed=17)


Say = Callable[[bytes], list[bytes]]
ANSWERS: dict[str, Say] = {
    "result": lambda wid: [b"RESPONSE_RESULT", wid, b"forged"],
    "exception": lambda wid: [b"RESPONSE_EXCEPTION", wid, b"forged"],
    "unknown function": lambda wid: [b"RESPONSE_UNKNOWN_FUNCTION", wid, b"odd"],
}


@pytest.mark.parametrize("kind", ANSWERS)
async def test_answers_that_fit_no_query_of_their_sender(arena: RpcArena, kind: str) -> None:
    """[RPC-8.4] [RPC-4.8] [RPC-5.4.4] To nothing, to another worker's query, and to one that is answered."""
    judge = Judge(arena)
    forged = ANSWERS[kind]
    with (
        Worker(arena.workers, b"odd") as owner,
        Worker(arena.workers, b"other") as thief,
        Dealer(arena.clients) as client,
    ):
        await arena.until(lambda stand: {"odd", "other"} <= set(stand["functions"]))
        client.says(b"QUERY", b"7", b"", b"odd")
        await owner.until(lambda: owner.queries)
        wid = owner.queries[0][1]
        thief.says(*forged(b"7" * 16))
        thief.says(*forged(wid))
        await arena.until(lambda _: judge.count("answers to nothing") == 2)
        assert thief.heard == []
        owner.says(b"RESPONSE_RESULT", wid, b"right")
        assert await client.hears(2) == [[b"QUERY_RECEIVED", b"7"], [b"RESPONSE_RESULT", b"7", b"right"]]
        assert (await owner.hears(2))[1] == [b"RESPONSE_RECEIVED", wid]
        owner.says(*forged(wid))
        assert await owner.hears() == [[b"RESPONSE_RECEIVED", wid]]  # it was its own: it may forget it
        await still_heard(client)
    await arena.until(lambda stand: stand["workers"] == 1)
    judge.check(answers_to_nothing=3)
