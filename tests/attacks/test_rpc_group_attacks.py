"""Attacks on groups of queries, while twenty honest callers work (spec/rpc.md, section 3.5)."""

import os
from collections import Counter
from collections.abc import AsyncIterator

import pytest_asyncio

from framehub.rpc.groups import OWN_BYTES, head

from .arena import FULL, MIB, Seen
from .busy import throw
from .conftest import RpcArenas
from .rpc_arena import QUICK, RpcArena, RpcAttack
from .rpc_attacker import Dealer
from .rpc_thrown import in_batches

GROUPS = {"max_groups": 50, "group_queue": 100, "group_bytes": MIB, "group_running": 4}
LARGE = 64 * 1024
ALLOWED = (384 if FULL else 96) * MIB
"""What is kept of groups is asserted itself. The rest is on its way to the journal, as with any queries."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(rpc_arenas: RpcArenas) -> AsyncIterator[RpcArena]:
    """A gateway with small bounds for groups, whose callers work during all tests of this module."""
    arena = rpc_arenas({**QUICK, **GROUPS})
    async with arena.with_honest():
        yield arena


def gid(key: bytes, number: int) -> bytes:
    return head(key) + number.to_bytes(OWN_BYTES, "big")


async def guess_keys(arena: RpcArena, count: int) -> Seen:
    """T71: somebody's group, and another who does not know its key: asks, acknowledges, cancels and ends."""
    seen: Seen = Counter()
    key = os.urandom(32)
    with Dealer(arena.clients) as owner, Dealer(arena.clients) as thief:
        owner.says(b"QUERY", gid(key, 1), b"secret", b"echo")
        assert [parts[0] for parts in await owner.hears(2)] == [b"QUERY_RECEIVED", b"RESPONSE_RESULT"]
        async for batch in in_batches(count):
            for number in batch:  # all but a bit of the key
                near = bytearray(key)
                near[number % 32] ^= 1 << number // 32 % 8
                for id_ in (gid(bytes(near), 1), head(bytes(near)), gid(key, 1)[:63], gid(key, 1)[:40]):
                    thief.says(b"CANCEL", id_)
                    thief.says(b"RESPONSE_RECEIVED", id_)
        thief.says(b"QUERY", b"last", b"x", b"echo")
        await thief.until(lambda: [b"RESPONSE_RESULT", b"last", b"x"] in thief.heard)
        seen["heard by the thief"] = len(thief.heard)
        with Dealer(arena.clients) as again:  # a task of the owner's, elsewhere
            again.says(b"QUERY", gid(key, 1), b"secret", b"echo")
            seen["still there"] = (await again.hears(2))[1] == [b"RESPONSE_RESULT", gid(key, 1), b"secret"]
            again.says(b"CANCEL", head(key))
            await arena.until(lambda stand: stand["kept_of_groups"] == 0)
    return seen


async def begin_groups(arena: RpcArena, count: int) -> Seen:
    """T71: a job that begins one group after another, and ends them only when all are asked for."""
    seen: Seen = Counter()
    begun = []
    with Dealer(arena.clients) as attacker:
        async for batch in in_batches(count):
            wanted = {gid(os.urandom(32), number) for number in batch}
            for id_ in wanted:
                attacker.says(b"QUERY", id_, b"x", b"echo")
            while wanted:
                ((type_, id_, *rest),) = await attacker.hears()
                if type_ != b"QUERY_RECEIVED":
                    wanted.discard(id_)
                    seen["busy" if rest[0].startswith(b"BUSY") else rest[0].decode()] += 1
                    begun += [id_] if rest == [b"x"] else []
        seen["groups"] = arena.stand()["groups"]
        for id_ in begun:
            attacker.says(b"CANCEL", id_[:44])
        await arena.until(lambda stand: stand["kept_of_groups"] == 0)
    return seen


async def fill_a_group(arena: RpcArena, count: int) -> Seen:
    """T71: more queries of one group than may wait, as fast as they go."""
    seen: Seen = Counter()
    key = os.urandom(32)
    with Dealer(arena.clients) as attacker:
        async for batch in in_batches(count, 2_000):
            for number in batch:
                attacker.says(b"QUERY", gid(key, number), b"x", b"echo")
            left = len(batch)
            while left:
                for type_, id_, *rest in await attacker.hears():
                    if type_ != b"QUERY_RECEIVED":
                        left -= 1
                        seen["busy" if rest[0].startswith(b"BUSY") else rest[0].decode()] += 1
                        attacker.says(b"RESPONSE_RECEIVED", id_)
        attacker.says(b"CANCEL", head(key))
        await arena.until(lambda stand: stand["kept_of_groups"] == 0)
    return seen


async def hoard(arena: RpcArena, count: int) -> Seen:
    """T71: large answers of groups, none of them acknowledged."""
    seen: Seen = Counter()
    keys = [os.urandom(32) for _ in range(4)]
    with Dealer(arena.clients) as attacker:
        for number in range(count):
            attacker.says(b"QUERY", gid(keys[number % 4], number), bytes(LARGE), b"echo")
            answered = [parts for parts in await attacker.hears(2) if parts[0] == b"RESPONSE_RESULT"]
            seen["answered"] += len(answered)
        seen["kept"] = arena.stand()["kept_of_groups"]
        for key in keys:
            attacker.says(b"CANCEL", head(key))
        await arena.until(lambda stand: stand["kept_of_groups"] == 0)
    return seen


GUESS = RpcAttack("T71 keys of groups, guessed", guess_keys, 256, 256)
BEGIN = RpcAttack("T71 groups without end", begin_groups, 1_000, 50_000)
FILL = RpcAttack("T71 one group with too many queries", fill_a_group, 4_000, 100_000, ALLOWED)
HOARD = RpcAttack("T71 large answers of groups", hoard, 200, 2_000, ALLOWED)


async def test_attack_T71_who_does_not_know_a_groups_key(arena: RpcArena) -> None:
    """[RPC-3.5.9] It hears nothing of the group, and cannot end it."""
    siege = await throw(arena, GUESS)
    assert siege.seen == {"heard by the thief": 2, "still there": True}


async def test_attack_T71_groups_without_end(arena: RpcArena) -> None:
    """[RPC-3.5.7] [RPC-9.1] Beyond the bound BUSY; those that were ended make room for others."""
    for _ in range(2):
        siege = await throw(arena, BEGIN)
        most = GROUPS["max_groups"]
        assert siege.seen == {"x": most, "busy": BEGIN.count - most, "groups": most}


async def test_attack_T71_one_group_with_too_many_queries(arena: RpcArena) -> None:
    """[RPC-3.5.7] They are BUSY for the group, and for nobody else."""
    siege = await throw(arena, FILL)
    assert siege.seen["busy"] > 0
    assert siege.seen["x"] + siege.seen["busy"] == sum(siege.seen.values())


async def test_attack_T71_large_answers_that_nobody_acknowledges(arena: RpcArena) -> None:
    """[RPC-9.1] They are kept within the bound of a group, the oldest make room."""
    siege = await throw(arena, HOARD)
    assert siege.seen["answered"] == HOARD.count
    assert 0 < siege.seen["kept"] <= 4 * (GROUPS["group_bytes"] + LARGE + 1024)
