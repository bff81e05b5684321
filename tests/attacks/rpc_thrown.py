"""Attacks on a proxy of remote functions. Each takes an arena and a count, and says what it saw."""

import asyncio
import json
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from framehub.runtime.functions import Functions
from tests.attacks import thrown_at_routers
from tests.attacks.arena import MIB, Seen
from tests.attacks.attacker import PATIENCE, crowd
from tests.attacks.rpc_arena import RpcArena, RpcAttack
from tests.attacks.rpc_attacker import MORE, Dealer, Worker, frame
from tests.attacks.thrown_at_routers import LARGE_PART


async def take_a_living_identity(arena: RpcArena, count: int) -> Seen:
    """T45: come under the identity of a caller that is there, and wait for its results."""
    seen: Seen = Counter()
    curve, rogue = (arena.curve("client"), arena.curve("rogue")) if arena.keys else (None, None)
    async with Functions(f"tcp://127.0.0.1:{arena.clients}", curve=curve, timeout=PATIENCE) as victim:
        await victim.call("square", 1)
        assert victim._link is not None
        with Dealer(arena.clients, victim._link.identity, curve=rogue) as thief:
            await thief.until(lambda: thief.connections)
            thief.says(b"QUERY", b"mine", b"12", b"echo")
            async for batch in in_batches(count):
                results = await asyncio.gather(*(victim.call("square", n) for n in batch))
                seen["right"] += sum(result == n * n for result, n in zip(results, batch, strict=True))
            seen["stolen"] += len(thief.heard)
    return seen


async def use_the_same_ids(arena: RpcArena, count: int) -> Seen:
    """T50: two clients, every id used by both at the same time."""
    seen: Seen = Counter()
    curve = arena.curve("client") if arena.keys else None
    with Dealer(arena.clients, curve=curve) as left, Dealer(arena.clients, curve=curve) as right:
        async for batch in in_batches(count):
            ids = [n.to_bytes(16, "big") for n in batch]
            for id_ in ids:
                for name, peer in ((b"left", left), (b"right", right)):
                    peer.says(b"QUERY", id_, name + id_, b"echo")
            for name, peer in ((b"left", left), (b"right", right)):
                for type_, id_, *rest in await peer.hears(2 * len(ids)):
                    if type_ == b"RESPONSE_RESULT":
                        seen["own" if rest == [name + id_] else "another's"] += 1
                        peer.says(b"RESPONSE_RECEIVED", id_)
    return seen


async def declare_sizes(arena: RpcArena, count: int) -> Seen:
    """T51."""
    return await thrown_at_routers.declare_sizes((arena.clients, arena.workers), count)


async def never_end(arena: RpcArena, count: int) -> Seen:
    """T52."""
    return await thrown_at_routers.never_end((arena.clients, arena.workers), count)


async def never_end_largely(arena: RpcArena, count: int) -> Seen:
    """T52: the same with large parts."""
    ports = (arena.clients, arena.workers)
    return await thrown_at_routers.never_end(ports, 20 * count, part=LARGE_PART)


async def end_late(arena: RpcArena, count: int) -> Seen:
    """T52: a message that has far too many parts, and an end; to clients' and workers' socket."""
    asked = frame(MORE, b"CODER_IDENTITY_QUERY") + frame(MORE, b"1") + frame(0, b"square")
    of_clients = await thrown_at_routers.end_late(arena.clients, count, asked, b"CODER_IDENTITY_FOUND")
    beat = frame(0, b"HEART_BEAT")
    return of_clients + await thrown_at_routers.end_late(arena.workers, count, beat, b"HEART_BEAT")


async def say_nothing(arena: RpcArena, count: int) -> Seen:
    """T59."""
    return await thrown_at_routers.say_nothing(arena.clients, count)


async def ask_and_ask(arena: RpcArena, count: int) -> Seen:
    """T62: questions, as fast as they go."""
    seen: Seen = Counter()
    began = time.monotonic()
    with Dealer(arena.clients) as attacker:
        for n in range(count):
            attacker.says(b"CODER_IDENTITY_QUERY", b"%d" % n, b"square")
            if not n % 500:
                await asyncio.sleep(0)
        # What the attacker does not read fast enough is not kept for it: an answer may be missing here.
        # So may the last, but that is known, and told again to who asks again.
        last = [b"RESPONSE_RESULT", b"last", b"x"]
        async with asyncio.timeout(PATIENCE):
            while last not in attacker.heard[-100:]:
                attacker.says(b"QUERY", b"last", b"x", b"echo")
                with suppress(TimeoutError):
                    async with asyncio.timeout(2.0):
                        await attacker.until(lambda: last in attacker.heard[-100:])
        for type_, _, *rest in attacker.heard:
            seen[type_.decode() + (" BUSY" if rest and rest[0].startswith(b"BUSY") else "")] += 1
    seen["seconds begun"] = math.ceil(time.monotonic() - began) + 1
    return seen


async def ask_the_same(arena: RpcArena, count: int) -> Seen:
    """One query, sent again and again: what it costs on the wire, and how often it is run."""
    seen: Seen = Counter()
    query = (b"QUERY", b"the same", b"x", b"once")
    with (
        Worker(arena.workers, b"once", lambda wid, _: [b"RESPONSE_RESULT", wid, b"answer"]) as worker,
        Dealer(arena.clients) as attacker,
    ):
        await arena.until(lambda stand: "once" in stand["functions"])
        for n in range(count):
            attacker.says(*query)
            if not n % 500:
                await asyncio.sleep(0)
        last = [b"CODER_IDENTITY_FOUND", b"last", b"bytes", b"bytes"]
        async with asyncio.timeout(PATIENCE):
            while last not in attacker.heard[-100:]:
                attacker.says(b"CODER_IDENTITY_QUERY", b"last", b"once")
                with suppress(TimeoutError):
                    async with asyncio.timeout(2.0):
                        await attacker.until(lambda: last in attacker.heard[-100:])
        seen["runs"] = len(worker.queries)
        seen["bytes in"] = count * _on_the_wire(query)
        seen["bytes out"] = sum(map(_on_the_wire, attacker.heard))
    return seen


def _on_the_wire(parts: Sequence[bytes]) -> int:
    """Bytes of a message of short parts."""
    return sum(2 + len(part) for part in parts)


async def name_at_length(arena: RpcArena, count: int) -> Seen:
    """Registrations of functions whose name, or coder, has 16 MiB; one after another."""
    seen: Seen = Counter()
    long = bytes(16 * MIB)
    one = (1).to_bytes(4, "big")
    for n in range(count):
        with Dealer(arena.workers) as attacker:
            attacker.says(b"WORKER_REGISTER", one, *((long, b"Int", b"Int"), (b"f", long, b"Int"))[n % 2])
            [[type_, *_]] = await attacker.hears()
            seen[type_.decode()] += 1
    return seen


async def describe_at_length(arena: RpcArena, count: int) -> Seen:
    """Workers that describe themselves with 3 MiB each, and never register."""
    seen: Seen = Counter()
    told = json.dumps({"functions": {"f": {"doc": "x" * 3 * MIB}}}).encode()

    async def one() -> None:
        with Dealer(arena.workers) as attacker:
            attacker.says(b"WORKER_DESCRIBE", told)
            attacker.says(b"HEART_BEAT")
            await attacker.hears()
            seen["heard"] += 1

    await crowd([one] * count, at_once=4)
    return seen


async def in_batches(count: int, size: int = 200) -> AsyncIterator[range]:
    """Numbers, some hundred at a time: a client's queue has a thousand places."""
    for start in range(0, count, size):
        yield range(start, min(count, start + size))
        await asyncio.sleep(0)


T45 = RpcAttack("T45 identity of a living caller", take_a_living_identity, 200, 1_000)
T50 = RpcAttack("T50 two clients, the same ids", use_the_same_ids, 2_000, 100_000)
T51 = RpcAttack("T51 frames of 4 GiB and more, declared", declare_sizes, 10, 500)
T52 = RpcAttack("T52 parts without end", never_end, 30_000_000, 300_000_000, allowed=256 * MIB)
T52_LARGE = RpcAttack(
    "T52 large parts without end", never_end_largely, 30_000_000, 100_000_000, allowed=384 * MIB
)
T52_ENDS = RpcAttack("T52 a million parts", end_late, 500_000, 1_000_000, allowed=256 * MIB)
T59 = RpcAttack("T59 connections that say nothing", say_nothing, 500, 500)
T62 = RpcAttack("T62 a flood of questions", ask_and_ask, 20_000, 300_000)
SAME = RpcAttack("one query, sent again and again", ask_the_same, 20_000, 100_000)
NAMED = RpcAttack("names of 16 MiB", name_at_length, 10, 200, 56 * MIB)
"""What ZeroMQ receives of one, and of those before it what the C library still keeps; no copy of ours."""
DESCRIBED = RpcAttack("descriptions of workers that never come", describe_at_length, 30, 1_000, 256 * MIB)
ALL = (T45, T50, T51, T52, T52_LARGE, T52_ENDS, T59, T62, SAME, NAMED, DESCRIBED)
