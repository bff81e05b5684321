"""Attacks on MFP itself. Each takes a port and a count, and says what it saw."""

import asyncio
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from zlib import crc32

from tests.attacks.arena import MIB, Attack, Seen, Throw
from tests.attacks.attacker import BINARY, Attacker, attacking, crowd, envelope, mfp
from tests.attacks.thrown_at_sockets import PATIENCE

JOINED = 1_000
"""Frames that are thrown in one go."""
KEYS = 65_536
UNREAD = 4
"""Connections of which nothing is read."""
DECLARED_PAYLOAD = "41 00000001 FFFFFFFF" + "41" * 11
DECLARED_MAP = "42 00000001 FFFFFFFC"
DECLARED_FILE = "46 00000001 00000008 00000001 FFFFFFFF"
RESERVED = ("00" * 5, "c0" + "00" * 4, "e0 00000001", "25 00000001 00000001", "40 00000000")
FROM_A_REQUEST = ("62 00000001 00000004 00000007", "64 00000001")
BOMBS = {
    "too deep": "[" * 100_000,
    "too long a number": "1" * 100_000,
    "a key twice": '{"a":1,"a":2}',
    "no number": "NaN",
    "half a character": '"\\ud800"',
}


def u32(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}I", *numbers)


def refused(*frames: str) -> Throw:
    """Each of these frames, on a connection of its own each time; the codes they were closed with."""

    async def throw(port: int, count: int) -> Seen:
        seen: Seen = Counter()

        async def one(frame: bytes) -> None:
            async with attacking(port) as attacker:
                await attacker.throw(frame)
                seen[await attacker.close_code()] += 1

        messages = [mfp(frame) for frame in frames]
        await crowd(partial(one, frame) for _ in range(count) for frame in messages)
        return seen

    return throw


async def flood(attacker: Attacker, frames: Iterable[bytes]) -> None:
    """As many as it takes until the server hears no more; nothing is read meanwhile."""
    waiting = iter(frames)
    while joined := b"".join(mfp(frame) for frame in islice(waiting, JOINED)):
        if not await attacker.throw(joined):
            return


def flooding(frames: Callable[[int], Iterator[bytes]]) -> Throw:
    """``frames(count)`` on one connection, as fast as it takes them, nothing read; how it ended."""

    async def throw(port: int, count: int) -> Seen:
        async with attacking(port) as attacker:
            await flood(attacker, frames(count))
            return Counter({await attacker.close_code(): 1})

    return throw


async def too_many_keys(port: int, count: int) -> Seen:
    """T6: 65,536 announced keys in a message; and as many lawful announcements as may be, and one more."""
    seen: Seen = Counter()
    many = mfp(b"\x42" + u32(1, 4 * KEYS) + u32(*range(KEYS)))
    for _ in range(count):
        async with attacking(port) as attacker:
            await attacker.throw(many)
            seen[await attacker.close_code()] += 1
    keys = u32(4 * 64, *range(64))
    async with attacking(port) as attacker:
        await attacker.throw(b"".join(mfp(b"\x42" + u32(id_) + keys) for id_ in range(1, 66)))
        for _ in range(65):
            aborted = bytes.fromhex(await attacker.message())
            seen["one too many" if aborted[5:] == u32(65) else "no file came"] += aborted[0] == 0x23
    return seen


async def silent_files(port: int, count: int) -> Seen:
    """T7: two files announced, one sent; and a stream that goes on, a byte at a time, slowly."""
    seen: Seen = Counter()

    async def announce() -> None:
        async with attacking(port) as attacker:
            await attacker.throw(mfp("42 00000001 00000008 00000001 00000002"))
            await attacker.throw(mfp("83 00000002 00000001 00000001" + "ff" * 1_000))
            seen[(await attacker.message())[:2]] += 1

    async def drip() -> None:
        async with attacking(port) as attacker:
            await attacker.throw(mfp(envelope(0x45, 1, '{"endpoint":"sink"}')))
            for id_ in range(2, 12):
                await attacker.throw(mfp(b"\x85" + u32(id_, 1, 0) + b"x"))
                await asyncio.sleep(PATIENCE / 5)
            await attacker.throw(mfp("80 0000000c 00000001"))
            taken = bytes.fromhex(await attacker.message())
            seen["whole" if b'"sink.done","data":[10,' in taken else "lost"] += 1

    await crowd([announce] * count + [drip] * count, at_once=2 * count)
    return seen


async def unread_streams(port: int, count: int) -> Seen:
    """T9: streams that are opened and never fed, to nobody: each is aborted, which is no fault."""
    seen: Seen = Counter()
    async with attacking(port) as attacker:
        throwing = asyncio.create_task(flood(attacker, (b"\x44" + u32(id_) for id_ in range(1, count + 1))))
        for _ in range(count):
            seen[(await attacker.message())[:2]] += 1
        await throwing
    return seen


def read_streams(count: int) -> Iterator[bytes]:
    """T9, to an endpoint that waits for what comes."""
    return (envelope(0x45, id_, '{"endpoint":"sink"}') for id_ in range(1, count + 1))


def given_up(text: str) -> Callable[[int], Iterator[bytes]]:
    """T10: requests that are given up at once."""

    def frames(count: int) -> Iterator[bytes]:
        ids = range(1, 2 * count, 2)
        return chain.from_iterable((envelope(0x61, id_, text), b"\x2b" + u32(id_ + 1, id_)) for id_ in ids)

    return frames


def wrong_keys(count: int) -> Iterator[bytes]:
    """T11: announced messages that a file with another key makes the server abort."""
    ids = range(1, 2 * count, 2)
    return chain.from_iterable(
        (b"\x42" + u32(id_, 4, 7), b"\x82" + u32(id_ + 1, id_, 8) + b"x") for id_ in ids
    )


def pings(count: int) -> Iterator[bytes]:
    """T12: pings, their pongs never read."""
    return (b"\x2f" + u32(id_, id_) for id_ in range(1, count + 1))


def forged_acks(count: int) -> Iterator[bytes]:
    """T14: acknowledgements of what was never sent."""
    return (b"\x21" + u32(id_, 0xDEADBEEF) for id_ in range(5, count + 5))


async def flipped(port: int, count: int) -> Seen:
    """T17: every frame with each of its bits flipped, where every frame must have a checksum."""
    seen: Seen = Counter()
    frames = [bytes.fromhex("50 00000001 89360840"), with_sum(b"\x93" + u32(2, 1, 7) + b"abc")]

    async def one(frame: bytes, bit: int) -> None:
        async with attacking(port, protocol="mfp.crc32.always") as attacker:
            flipped = bytearray(frame)
            flipped[bit // 8] ^= 0x80 >> bit % 8
            await attacker.throw(mfp(bytes(flipped)))
            seen[await attacker.close_code()] += 1

    cases = [(frame, bit) for frame in frames for bit in range(8 * len(frame))]
    await crowd(partial(one, *case) for case in cases * count)
    return seen


def with_sum(data: bytes) -> bytes:
    return data + u32(crc32(data))


async def bombs(port: int, count: int) -> Seen:
    """T20: payloads that hurt careless parsers, as they are and inside an envelope."""
    seen: Seen = Counter()

    async def one() -> None:
        async with attacking(port) as attacker:
            for id_, (name, bomb) in enumerate(BOMBS.items(), 1):
                for n, text in enumerate((bomb, f'{{"endpoint":"echo","data":{bomb}}}')):
                    await attacker.throw(mfp(envelope(0x61, 2 * id_ + n, text)))
                    kind, answer = await attacker.frame()
                    assert (kind, answer[:1]) == (BINARY, b"\xa1"), answer
                    seen[name] += b'"code":"bad_request"' in answer
            await attacker.throw(mfp("2f 00000063 00000063"))
            assert (await attacker.message()).startswith("21")  # and still there

    await crowd([one] * count, at_once=4)
    return seen


async def unread_acks(port: int, count: int) -> Seen:
    """Messages of nothing that ask to be acknowledged, on several connections; no acknowledgement is read."""
    seen: Seen = Counter()
    asked = b"".join(mfp(b"\x48" + u32(id_)) for id_ in range(1, count + 1))

    async def one() -> None:
        async with attacking(port) as attacker:
            throwing = asyncio.create_task(attacker.throw(asked))
            done, _ = await asyncio.wait([throwing], timeout=1.0)
            throwing.cancel()
            await asyncio.wait([throwing])
            seen["read to the end" if done and throwing.result() else "not read to the end"] += 1

    await crowd([one] * UNREAD, at_once=UNREAD)
    return seen


async def unread_answers(port: int, count: int) -> Seen:
    """Large requests that are echoed, by somebody who reads no answer."""
    async with attacking(port) as attacker:
        text = '{"endpoint":"echo","data":"%s"}' % ("x" * 200_000)
        sent = 0
        for id_ in range(1, count + 1):
            throwing = asyncio.create_task(attacker.throw(mfp(envelope(0x61, id_, text))))
            done, _ = await asyncio.wait([throwing], timeout=1.0)
            if not done:
                throwing.cancel()
                await asyncio.wait([throwing])
                break
            sent += 1
        return Counter({"not read to the end": sent < count})


T1 = Attack("T1 a payload of 4 GiB, declared", refused(DECLARED_PAYLOAD), 300, 10_000, MIB)
T2 = Attack("T2 a map of 4 GiB, declared", refused(DECLARED_MAP), 200, 10_000, MIB)
T4 = Attack("T4 a file of 4 GiB, declared", refused(DECLARED_FILE), 200, 10_000, MIB)
T6 = Attack("T6 too many announced keys", too_many_keys, 20, 200, settings={"progress_timeout": PATIENCE})
T7 = Attack(
    "T7 files that never come", silent_files, 20, 100, each=4096, settings={"progress_timeout": PATIENCE}
)
T8 = Attack("T8 files and streams from a request", refused(*FROM_A_REQUEST), 50, 5_000, MIB)
T9 = Attack("T9 streams to nobody", unread_streams, 10_000, 100_000)
T9_READ = Attack("T9 streams never fed", flooding(read_streams), 10_000, 100_000)
T10 = Attack("T10 rapid reset of nonsense", flooding(given_up("{}")), 10_000, 500_000)
T10_SLOW = Attack(
    "T10 rapid reset of slow requests", flooding(given_up('{"endpoint":"slow"}')), 10_000, 500_000
)
T11 = Attack("T11 aborts provoked", flooding(wrong_keys), 10_000, 100_000)
T12 = Attack("T12 pings, unread", flooding(pings), 50_000, 1_000_000)
T12_ACKS = Attack("T12 acknowledgements, unread", unread_acks, 1_500_000, 1_500_000)
T14_ACKS = Attack("T14 forged acks", flooding(forged_acks), 10_000, 1_000_000)
T17 = Attack("T17 flipped bits", flipped, 1, 10)
T19 = Attack("T19 reserved values", refused(*RESERVED), 40, 2_000, MIB)
T20 = Attack("T20 JSON bombs", bombs, 10, 1_000)
T41 = Attack("T41 answers, unread", unread_answers, 500, 1_000, (8 + 2) * MIB)

ALL = (T1, T2, T4, T6, T7, T8, T9, T9_READ, T10, T10_SLOW, T11, T12, T12_ACKS, T14_ACKS, T17, T19, T20, T41)
