"""Attacks on the WebSocket and on its HTTP upgrade. Each takes a port and a count, and says what it saw."""

import asyncio
import secrets
import zlib
from collections import Counter

from tests.attacks.arena import FULL, MIB, Attack, Seen
from tests.attacks.attacker import (
    BINARY,
    FIN,
    PING,
    Attacker,
    attacking,
    crowd,
    mfp,
    upgrade,
    ws,
)

PATIENCE = 30.0 if FULL else 1.0
"""``progress_timeout`` where an attack waits for its end."""
KIB = 1024
PER_CONNECTION = 20 * KIB
HEADER_ONLY = bytes.fromhex("82 FF 7FFFFFFFFFFFFFFF")
RSV1 = 0x40
HALF = upgrade(1)[:-20]
PIECE = 64 * KIB
GUESSER = "127.0.0.2"
"""Not where the honest clients come from."""


async def endless_frame(port: int, count: int) -> Seen:
    """T22: the header of a frame of 2^63 - 1 bytes, and nothing else."""
    seen: Seen = Counter()

    async def one() -> None:
        async with attacking(port) as attacker:
            await attacker.throw(HEADER_ONLY)
            seen[await attacker.close_code()] += 1
            assert await attacker.rest() == b""

    await crowd([one] * count)
    return seen


async def endless_frame_that_comes(port: int, count: int) -> Seen:
    """T22, and then the bytes as well: what was refused must not be kept."""
    seen: Seen = Counter()

    async def one() -> None:
        async with attacking(port) as attacker:
            piece = bytes(PIECE)
            await attacker.throw(HEADER_ONLY + bytes(4))
            for _ in range(4096):
                if not await attacker.throw(piece):
                    break
            seen["refused"] += 1

    await crowd([one] * count, at_once=8)
    return seen


async def dripping(port: int, count: int) -> Seen:
    """T23: the header of a megabyte, then a byte now and then, on many connections at once."""
    seen: Seen = Counter()
    header = ws(FIN | BINARY, declared=1_048_576)

    async def one() -> None:
        async with attacking(port) as attacker:
            await attacker.throw(header)
            ending = asyncio.create_task(attacker.close_code())
            while not ending.done():
                await attacker.throw(b"\0")
                await asyncio.wait([ending], timeout=PATIENCE / 3)
            seen[ending.result()] += 1

    async def gently() -> None:
        """All are open at the same time, but they come a few at a time."""
        tasks = []
        for _ in range(count):
            tasks.append(asyncio.create_task(one()))
            await asyncio.sleep(0.002)
        await asyncio.gather(*tasks)

    await gently()
    return seen


async def pings_unread(port: int, count: int) -> Seen:
    """T24: WebSocket pings of 125 bytes, their pongs never read."""
    async with attacking(port) as attacker:
        pings = ws(FIN | PING, bytes(125)) * 1_000
        for _ in range(count // 1_000):
            if not await attacker.throw(pings):
                break
        return Counter({await attacker.close_code(): 1})


async def deflated(port: int, count: int) -> Seen:
    """T26: the compression nobody agreed to, with 100 MiB inside 100 kB."""
    seen: Seen = Counter()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = packer.compress(bytes(100 * MIB)) + packer.flush(zlib.Z_SYNC_FLUSH)
    message = ws(FIN | RSV1 | BINARY, bomb.removesuffix(b"\0\0\xff\xff"))

    async def one() -> None:
        attacker, head = await Attacker.asked(port, "Sec-WebSocket-Extensions: permessage-deflate")
        seen["offered" if "xtensions" in head else "not offered"] += 1
        await attacker.throw(message)
        seen[await attacker.close_code()] += 1
        attacker.leave()

    await crowd([one] * count, at_once=4)
    return seen


async def connect_and_reset(port: int, count: int) -> Seen:
    """T32: connect and reset: at once, in the middle of the upgrade, and as soon as it is done."""
    seen: Seen = Counter()

    async def one(sent: bytes, then: bytes) -> None:
        attacker = await Attacker.connected(port)
        await attacker.throw(sent)
        if then:
            await asyncio.sleep(0)
            await attacker.throw(then)
        attacker.reset()
        seen["reset"] += 1

    async def at_once() -> None:
        await one(b"", b"")

    async def half() -> None:
        await one(HALF, b"")

    async def done() -> None:
        await one(upgrade(port), mfp("2f 00000001 00000001"))

    await crowd([at_once, half, done] * (count // 3))
    return seen


async def half_done(port: int, count: int) -> Seen:
    """T34: upgrades that are begun and never ended; an honest newcomer gets in all the same."""
    seen: Seen = Counter()
    attackers = [await Attacker.connected(port) for _ in range(count)]
    try:
        for attacker in attackers:
            await attacker.throw(HALF)
        async with attacking(port) as newcomer:
            await newcomer.throw(mfp("2f 00000001 00000001"))
            seen[await newcomer.message()] += 1
        for attacker in attackers:
            seen[await attacker.close_code()] += 1
    finally:
        for attacker in attackers:
            attacker.leave()
    return seen


async def guessing(port: int, count: int) -> Seen:
    """T31: wrong tokens, each another, as fast as they go."""
    seen: Seen = Counter()

    async def one() -> None:
        guess = f"Authorization: Bearer fh_{secrets.token_urlsafe(32)}"
        attacker, head = await Attacker.asked(port, guess, source=GUESSER)
        seen[int(head.split()[1])] += 1
        attacker.leave()

    await crowd([one] * count)
    return seen


T22 = Attack(
    "T22 a frame of 2^63 bytes, its header only", endless_frame, 1_000, 10_000, 2 * MIB, PER_CONNECTION
)
T22_COMES = Attack("T22 a frame of 2^63 bytes, and they come", endless_frame_that_comes, 32, 1_000, 2 * MIB)
T23 = Attack(
    "T23 a megabyte, byte by byte",
    dripping,
    300,
    5_000,
    2 * MIB,
    PER_CONNECTION,
    settings={"progress_timeout": PATIENCE},
)
T24 = Attack("T24 WebSocket pings, unread", pings_unread, 100_000, 1_500_000, 2 * MIB)
T26 = Attack("T26 a compressed bomb", deflated, 8, 200, 2 * MIB)
T31 = Attack("T31 tokens, guessed", guessing, 1_000, 100_000, 2 * MIB, tokens=True)
T32 = Attack("T32 connect and reset", connect_and_reset, 3_000, 51_000, 2 * MIB)
T34 = Attack("T34 half an upgrade, held open", half_done, 300, 300, 2 * MIB, PER_CONNECTION)

ALL = (T22, T22_COMES, T23, T24, T26, T31, T32, T34)
