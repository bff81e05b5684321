"""Attacks on the proxy of remote functions, while twenty honest callers work (spec/rpc.md, 8 to 10)."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from framehub.errors import RemoteFunctionError
from framehub.runtime.functions import Functions
from framehub.runtime.watchdog import CUT_OFF

from . import rpc_thrown as thrown
from .arena import FULL, MIB, Process
from .busy import throw
from .conftest import RpcArenas
from .rpc_arena import QUICK, RpcArena, RpcAttack
from .rpc_attacker import MORE, Dealer, Worker, bare, frame
from .rpc_relay import Relay

PATIENCE = 60.0
CROWD = 200
"""Callers of one process; ZeroMQ has no more than a thousand sockets for it."""
COARSE = 64 * MIB
"""Where memory is not what is attacked: the journal's own work takes some, now and then."""
CONTROL = set(range(32)) - {9, 10} | set(range(127, 160))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(rpc_arenas: RpcArenas) -> AsyncIterator[RpcArena]:
    """A gateway without keys, whose callers work during all tests of this module."""
    arena = rpc_arenas(QUICK)
    async with arena.with_honest():
        yield arena


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secured(rpc_arenas: RpcArenas) -> AsyncIterator[RpcArena]:
    """The same with keys."""
    arena = rpc_arenas(QUICK, curve=True)
    async with arena.with_honest():
        yield arena


def calling(arena: RpcArena) -> Functions:
    return Functions(f"tcp://127.0.0.1:{arena.clients}", timeout=PATIENCE)


# --- who is who --------------------------------------------------------------------------------------------


async def test_attack_T45_the_identity_of_a_living_caller(arena: RpcArena) -> None:
    """[RPC-10.1] The newcomer is ignored: it hears nothing, and nothing of it is heard."""
    siege = await throw(arena, thrown.T45)
    assert siege.seen == {"right": thrown.T45.count, "stolen": 0}


async def test_attack_T45_the_identity_of_a_living_caller_with_another_key(secured: RpcArena) -> None:
    """[RPC-10.1] [RPC-10.4]"""
    siege = await throw(secured, thrown.T45)
    assert siege.seen == {"right": thrown.T45.count, "stolen": 0}


async def test_attack_T45_the_identity_of_a_caller_that_just_left(secured: RpcArena) -> None:
    """[RPC-10.4] While the proxy remembers whose it was, the other key is not heard under it."""
    async with secured.attacked() as siege:
        identity = b"\x01" + os.urandom(15)
        with Dealer(secured.clients, identity, curve=secured.curve("client")) as victim:
            victim.says(b"CODER_IDENTITY_QUERY", b"1", b"square")
            await victim.hears()
        for _ in range(100):  # until the proxy has noticed that the victim left
            with Dealer(secured.clients, identity, curve=secured.curve("rogue")) as thief:
                thief.says(b"CODER_IDENTITY_QUERY", b"2", b"square")
                await asyncio.sleep(0.1)
                assert thief.heard == []
            if secured.counts()["under another client's identity"]:
                break
    siege.check(COARSE)
    assert siege.counts["under another client's identity"] >= 1


async def test_attack_T46_squatting_on_the_identity_of_a_caller_whose_line_is_dead(arena: RpcArena) -> None:
    """[RPC-10.1] [RPC-3.2.3] The dead line is noticed, and the caller that connects anew is served."""
    async with (
        arena.attacked() as siege,
        Relay(arena.clients) as relay,
        Functions(f"tcp://127.0.0.1:{relay.port}", timeout=PATIENCE) as victim,
    ):
        assert await victim.call("square", 3) == 9
        assert victim._link is not None
        relay.freeze()
        with Dealer(arena.clients, victim._link.identity) as squatter:
            await squatter.until(lambda: squatter.connections)
            assert await victim.call("square", 4) == 16
            assert squatter.heard == []
    siege.check(COARSE)


async def test_attack_T47_a_rogue_worker_with_a_clients_key(secured: RpcArena) -> None:
    """[RPC-10.4] Clients' keys and workers' keys are two lists: it never gets as far as registering."""
    before = secured.stand()
    async with secured.attacked() as siege:
        with Worker(
            secured.workers,
            b"square",
            lambda wid, _: [b"RESPONSE_RESULT", wid, b"666"],
            curve=secured.curve("rogue"),
        ) as rogue:
            await rogue.until(lambda: rogue.refusals)
            async with Functions(
                f"tcp://127.0.0.1:{secured.clients}", curve=secured.curve("client"), timeout=PATIENCE
            ) as caller:
                results = await asyncio.gather(*(caller.call("square", n) for n in range(100)))
            assert results == [n * n for n in range(100)]
            assert (rogue.connections, rogue.queries) == (0, [])
    siege.check(COARSE)
    after = secured.stand()
    assert after["refused"]["worker"] > before["refused"]["worker"]
    assert (after["workers"], after["functions"]) == (before["workers"], before["functions"])


async def test_attack_T50_two_clients_with_the_same_ids(arena: RpcArena) -> None:
    """[RPC-3.1.3] Every one gets its own result."""
    siege = await throw(arena, thrown.T50)
    assert siege.seen == {"own": 2 * thrown.T50.count}


# --- memory ------------------------------------------------------------------------------------------------


async def test_attack_T51_frames_that_declare_gigabytes(arena: RpcArena) -> None:
    """[RPC-9.1] Disconnected before memory is taken, on both sockets."""
    siege = await throw(arena, thrown.T51)
    assert siege.seen == {"disconnected": 12 * thrown.T51.count}
    assert siege.virtual < 256 * MIB


@pytest.mark.parametrize("attack", [thrown.T52, thrown.T52_LARGE], ids=["small", "large"])
async def test_attack_T52_parts_without_end(arena: RpcArena, attack: RpcAttack) -> None:
    """[RPC-10.3] ZeroMQ would keep them all; who sends them is cut off, and what he sent is given back."""
    siege = await throw(arena, attack)
    assert siege.seen == {"cut off": 2}
    assert siege.counts[CUT_OFF] == 2


async def test_attack_T52_a_message_of_a_million_parts(arena: RpcArena) -> None:
    """[RPC-10.3] It is dropped, and what its sender says behind it is heard, unless it was cut off before."""
    siege = await throw(arena, thrown.T52_ENDS)
    assert siege.seen.total() == 2
    dropped = sum(
        siege.counts.get(f"too many parts or bytes from a {who}", 0) for who in ("client", "worker")
    )
    assert dropped == siege.seen["heard to the end"]


async def test_attack_T52_parts_without_end_and_without_a_key(secured: RpcArena) -> None:
    """[RPC-10.4] Who has no key gets no part in: with the NULL mechanism, and in the middle of CURVE's."""
    async with secured.attacked() as siege:
        for mechanism in (b"NULL", b"CURVE"):
            for port in (secured.clients, secured.workers):
                attacker = await bare(port, mechanism=mechanism)
                while await attacker.throw(frame(MORE, b"A") * 10_000):
                    pass
                attacker.leave()
    siege.check(COARSE)
    assert siege.counts == {}


async def test_attack_T52_more_parts_than_any_message_has_with_a_key(secured: RpcArena) -> None:
    """[RPC-10.3] A message of a million parts is dropped in bounded steps, if it gets so far."""
    count = 3_000_000 if FULL else 300_000
    async with secured.attacked() as siege:
        with Dealer(secured.clients, curve=secured.curve("rogue")) as attacker:
            attacker.says(*[b"A"] * count)
            attacker.says(b"CODER_IDENTITY_QUERY", b"1", b"square")
            dropped = "too many parts or bytes from a client"
            await secured.until(lambda stand: stand["counts"].get(dropped) or attacker.connections > 1)
            if attacker.connections == 1:
                assert (await attacker.hears())[0][:2] == [b"CODER_IDENTITY_FOUND", b"1"]
    siege.check(256 * MIB)


async def test_attack_T59_connections_that_say_nothing(arena: RpcArena) -> None:
    """Each is disconnected when its handshake is overdue."""
    files = arena._files()
    siege = await throw(arena, thrown.T59)
    assert siege.seen == {"disconnected": thrown.T59.count}
    assert await arena._more_files_than(files) == 0


async def test_attack_descriptions_of_workers_that_never_register(arena: RpcArena) -> None:
    """[RPC-9.1] Together they have a bound, and the oldest make room."""
    siege = await throw(arena, thrown.DESCRIBED)
    assert siege.seen == {"heard": thrown.DESCRIBED.count}
    assert 0 < arena.stand()["described"] <= 8 * MIB


async def test_attack_names_of_16_mib(arena: RpcArena) -> None:
    """[RPC-5.1.2] [RPC-9.1] Each is refused; of what ZeroMQ received no copy is made."""
    siege = await throw(arena, thrown.NAMED)
    assert siege.seen == {"INCOMPATIBLE_SPECS_FAILURE": thrown.NAMED.count}
    assert siege.counts == {"registrations refused": thrown.NAMED.count, "malformed": thrown.NAMED.count}


async def test_attack_T62_a_flood_of_questions(arena: RpcArena) -> None:
    """[RPC-3.3.3] 2,000 a second are answered, the others are told BUSY."""
    siege = await throw(arena, thrown.T62)
    found, busy = siege.seen["CODER_IDENTITY_FOUND"], siege.seen["RESPONSE_EXCEPTION BUSY"]
    most = 2_000 * siege.seen["seconds begun"]
    too_many = siege.counts.get("questions too many", 0)
    assert 0 < found <= most
    assert thrown.T62.count - most <= too_many < thrown.T62.count, "on a machine without time it is no flood"
    assert busy <= too_many
    assert bool(busy) == bool(too_many)
    assert found + busy <= thrown.T62.count


async def test_attack_one_query_sent_again_and_again(arena: RpcArena) -> None:
    """[RPC-3.1.4] It is run once, and whoever sends it hears at most twice the bytes that it says."""
    siege = await throw(arena, thrown.SAME)
    assert siege.seen["runs"] == 1
    assert 0 < siege.seen["bytes out"] <= 2 * siege.seen["bytes in"]


# --- code and its ends -------------------------------------------------------------------------------------


async def test_attack_T54_bytes_that_some_would_run(arena: RpcArena, tmp_path: Path) -> None:
    """[RPC-2.5] [RPC-6.16] They reach the function as they are, or are refused; nobody obeys them."""
    canary = tmp_path / "canary"
    touch = f"touch {canary}".encode()
    evil = [
        b"cos\nsystem\n(S'" + touch + b"'\ntR.",  # pickle
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c" + bytes((len(touch),)) + touch + b"\x85R.",  # a newer one
        b"!!python/object/apply:os.system ['" + touch + b"']",  # YAML
        b"\xe3" + bytes(20) + b"s\x08\x00\x00\x00import os",  # marshal
        b"__import__('os').system('" + touch + b"')",  # for eval
    ]
    async with arena.attacked() as siege, calling(arena) as caller:
        for data in evil:
            assert await caller.call_bytes("echo", data) == data
            for function in ("square", "typed"):
                with pytest.raises(RemoteFunctionError) as caught:
                    await caller.call_bytes(function, data)
                assert caught.value.message.startswith("bad argument")
    siege.check(COARSE)
    assert not canary.exists()


async def test_attack_T56_a_query_that_kills_whoever_runs_it(arena: RpcArena) -> None:
    """[RPC-4.6] [RPC-5.4.5] Three deaths, then an exception and the quarantine."""
    kept = arena.journal / "rpc" / "quarantine"
    before = set(kept.glob("*.json"))
    async with arena.attacked() as siege, calling(arena) as caller:
        with pytest.raises(RemoteFunctionError) as caught:
            await caller.call("die", "of this")
        assert caught.value.message.startswith("poison")
        assert await caller.call("square", 5) == 25
    siege.check(COARSE)
    assert siege.counts["deaths of processes"] == 3
    (about,) = set(kept.glob("*.json")) - before
    assert json.loads(about.read_text())["function"] == "die"
    assert about.with_suffix(".bin").read_bytes() == b'"of this"'


async def test_attack_T57_all_lose_the_proxy_at_once(arena: RpcArena, tmp_path: Path) -> None:
    """[RPC-3.2.1] [RPC-4.1.1] All get their answers, and none asks again more than a little."""
    processes, each = (5 if FULL else 1), 2
    total = processes * CROWD * each
    address = f"tcp://127.0.0.1:{arena.clients}"
    words = ("tests.attacks.rpc_crowd", address, str(CROWD), str(each))
    async with arena.attacked() as siege:
        crowds = [Process(*words, errors=tmp_path / f"crowd{n}.log") for n in range(processes)]
        try:
            await arena.until(lambda stand: stand["came"].get("slowly", 0) >= total // 2)
            arena.restart_gateway()
            told = [json.loads(await asyncio.to_thread(crowd.line)) for crowd in crowds]
        finally:
            for crowd in crowds:
                crowd.end()
    assert siege.failures == []
    assert min(siege.rounds) >= 1
    assert told == [{"right": CROWD * each, "failures": []}] * processes
    assert 0 < arena.stand()["came"]["slowly"] <= 3 * total


async def test_attack_T60_a_worker_whose_parent_is_stopped(arena: RpcArena) -> None:
    """[RPC-5.2.1] [RPC-4.5] It counts as dead, others run its queries; awake, it is there again."""
    second = arena.new_worker("second")
    try:
        async with arena.attacked() as siege:
            await arena.until(lambda stand: stand["workers"] == 2)
            os.kill(second.pid, signal.SIGSTOP)
            await arena.until(lambda stand: stand["workers"] == 1)
            os.kill(second.pid, signal.SIGCONT)
            await arena.until(lambda stand: stand["workers"] == 2)
        siege.check(COARSE)
    finally:
        second.end()
    await arena.until(lambda stand: stand["workers"] == 1)


@pytest.mark.parametrize("function", ["loop_for_ever", "hold_the_gil"])
async def test_attack_T60_a_function_that_never_ends(arena: RpcArena, function: str) -> None:
    """[RPC-5.4.7] Its worker lives and serves others; `max_runtime` ends it."""
    async with arena.attacked() as siege, calling(arena) as caller:
        with pytest.raises(RemoteFunctionError, match=r"max_runtime|timeout|longer"):
            await caller.call(function)
    siege.check(COARSE)
    assert "deaths of processes" not in siege.counts
    assert arena.stand()["workers"] == 1


async def test_attack_T61_an_exception_that_tells_too_much(arena: RpcArena) -> None:
    """[RPC-2.6] Cut, without control characters, without places of the server."""
    async with arena.attacked() as siege, calling(arena) as caller:
        with pytest.raises(RemoteFunctionError) as caught:
            await caller.call("blurt", 10 * MIB)
    siege.check(COARSE)
    text = caught.value.message
    assert len(text.encode()) <= 65_536
    assert not CONTROL & set(map(ord, text))
    for inside in ("/etc", "/work", "tests/attacks", "Traceback", "[31m"):
        assert inside not in text
    assert text.startswith("RuntimeError: red")


async def test_attack_T61_a_worker_of_others_that_tells_too_much(arena: RpcArena) -> None:
    """[RPC-2.6] Whatever it sends as text, its caller gets text."""
    evil = b"\x1b[31m\x07\xff\xfe" + "\x9b31m\r".encode() + b"x" * 10 * MIB
    async with arena.attacked() as siege:
        with (
            Worker(arena.workers, b"babble", lambda wid, _: [b"RESPONSE_EXCEPTION", wid, evil]),
            Dealer(arena.clients) as client,
        ):
            await arena.until(lambda stand: "babble" in stand["functions"])
            client.says(b"QUERY", b"1", b"", b"babble")
            [_, [type_, id_, text]] = await client.hears(2)
    siege.check(64 * MIB)
    assert (type_, id_) == (b"RESPONSE_EXCEPTION", b"1")
    assert len(text) <= 65_536
    assert not CONTROL & set(map(ord, text.decode()))
