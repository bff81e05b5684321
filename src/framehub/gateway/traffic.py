"""Traffic for ``framehub demo``: a few clients that do what clients do, well and badly."""

import asyncio
import random
import struct
import zlib
from collections import Counter
from collections.abc import Awaitable
from typing import Any

from framehub.errors import (
    ConnectionClosed,
    EndpointError,
    RequestAborted,
    RequestTimeout,
)
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File
from framehub.runtime.peer import Peer

CHECKSUMS = (None, "crc32", "xor8", "crc32.always")
WORDS = ("hello", "anyone here?", "look at this", "back in five", "bye")


async def drive(url: str, *, clients: int = 4, rounds: int = 25, seed: int = 7) -> tuple[Counter[str], str]:
    """Run all clients; how often each thing happened, and the link of the first of them."""
    seen: Counter[str] = Counter()
    links: list[str] = []
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(_client(url, number, rounds, random.Random(seed + number), seen, links))  # noqa: S311
    return seen, links[0]


async def _client(
    url: str, number: int, rounds: int, dice: random.Random, seen: Counter[str], links: list[str]
) -> None:
    me = Endpoints()

    @me.on("who.are.you")
    def who(_call: Call) -> str:
        return f"client {number}"

    uploaded = asyncio.Event()

    @me.on("upload.done")
    def done(_call: Call) -> None:
        uploaded.set()

    async with connect(url, checksum=CHECKSUMS[number % len(CHECKSUMS)], endpoints=me) as peer:
        await peer.ping()
        links.append(peer.link)
        for _ in range(rounds):
            said = {"room": dice.choice(("lobby", "garden")), "text": dice.choice(WORDS)}
            shown = {0: File(picture(dice), "me.png", "image/png")} if dice.random() < 0.2 else None
            await _count(seen, peer.request("chat", said, files=shown))
            await _count(seen, peer.request("stock.price", dice.choice(("apple", "pear", "unicorn"))))
        album = {key: File(picture(dice), f"{key}.png", "image/png") for key in (0, 7)}
        await _count(seen, peer.request("files.store", {"album": number}, files=album))
        await _count(seen, peer.announce("files.store", {"album": number}, album, ack=True))
        await _count(seen, _upload(peer, dice.randbytes(300_000)))
        await asyncio.wait_for(uploaded.wait(), 10)
        await _count(seen, peer.send("chat", {"text": "a message, acknowledged"}, ack=True))
        await _count(seen, peer.send("nobody.home", "a message that nobody takes"))
        await _count(seen, peer.request("ask.back"))
        await _count(seen, peer.request("broken"))
        await _count(seen, peer.request("nobody.home", "a request that nobody takes"))
        await _count(seen, peer.request("report.build", {"seconds": 30}, timeout=0.3))
        await _count(seen, _cancelled(peer))
        await peer.ping()
        if number == 0:
            # Left behind when the connection goes: it ends as "disconnected".
            left = asyncio.create_task(_count(seen, peer.request("report.build", {"seconds": 30})))
            await asyncio.sleep(0.05)
    if number == 0:
        await left


def picture(dice: random.Random) -> bytes:
    """A small PNG: stripes of one colour, more or less bright."""
    red, green, blue = (dice.randrange(64, 256) for _ in range(3))
    rows = b"".join(
        b"\0" + bytes((red * step // 32, green * step // 32, blue * step // 32)) * 48
        for step in (dice.randrange(8, 33) for _ in range(48))
    )
    head = struct.pack(">IIBBBBB", 48, 48, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


async def _upload(peer: Peer, data: bytes) -> None:
    """Send a file as a stream."""
    async with peer.stream("files.upload", {"name": "big.bin"}) as out:
        await out.write(data)


async def _cancelled(peer: Peer) -> None:
    """Ask, and lose interest."""
    task = asyncio.create_task(peer.request("report.build", {"seconds": 30}))
    await asyncio.sleep(0.05)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        raise RequestAborted("cancelled by the caller") from None


async def _count(seen: Counter[str], doing: Awaitable[Any]) -> None:
    try:
        await doing
    except EndpointError:
        seen["answered with an error"] += 1
    except RequestTimeout:
        seen["timed out"] += 1
    except RequestAborted:
        seen["cancelled by the caller"] += 1
    except ConnectionClosed:
        seen["cut off by a closing connection"] += 1
    else:
        seen["answered or taken"] += 1
