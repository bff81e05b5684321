"""Attacks on ROUTERs by bare bytes. Each takes ports and a count, and says what it saw."""

from collections import Counter
from collections.abc import Iterable

from tests.attacks.arena import MIB, Seen
from tests.attacks.attacker import Attacker, crowd
from tests.attacks.rpc_attacker import COMMAND, LONG, MORE, bare, frame

AT_ONCE = 500
FOUR_GIB = 0xFFFFFFFF
LARGEST = 0x7FFFFFFFFFFFFFFF
PART = frame(MORE, b"A")
LAST_PART = frame(0, b"A")
LARGE_PART = frame(MORE, bytes(65_536))


async def declare_sizes(ports: Iterable[int], count: int) -> Seen:
    """T51: frames that declare 4 GiB and 2^63 - 1 bytes."""
    seen: Seen = Counter()

    async def one() -> None:
        for size in (FOUR_GIB, LARGEST):
            for flags in (0, MORE, COMMAND):
                for port in ports:
                    attacker = await bare(port)
                    await attacker.throw(frame(flags | LONG, b"A", declared=size))
                    await attacker.rest()
                    seen["disconnected"] += 1
                    attacker.leave()

    await crowd([one] * count, at_once=4)
    return seen


async def never_end(ports: Iterable[int], count: int, *, part: bytes = PART) -> Seen:
    """T52: parts without end, each with the sign that more follow; ``count`` times three bytes at most."""
    seen: Seen = Counter()
    for port in ports:
        attacker = await bare(port)
        sent, block = 0, part * max(1, MIB // 8 // len(part))
        while sent < count * len(PART):
            if not await attacker.throw(block):
                seen["cut off"] += 1
                break
            sent += len(block)
        else:
            seen["heard to the end"] += 1
        attacker.leave()
    return seen


async def end_late(port: int, count: int, question: bytes, answer: bytes) -> Seen:
    """T52: a message of ``count`` parts that has an end, and then a question that is answered."""
    seen: Seen = Counter()
    attacker = await bare(port)
    await attacker.throw(PART * (count - 1) + LAST_PART + question)
    heard = await attacker.hears(answer)
    seen["heard to the end" if heard else "cut off"] += 1
    attacker.leave()
    return seen


async def say_nothing(port: int, count: int) -> Seen:
    """T59: connect and say nothing, until the gateway has had enough of it."""
    seen: Seen = Counter()

    async def one() -> None:
        attacker = await Attacker.connected(port)
        await attacker.rest()
        seen["disconnected"] += 1
        attacker.leave()

    await crowd([one] * count, at_once=AT_ONCE)
    return seen
