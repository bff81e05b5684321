"""Traffic for ``framehub demo``: remote functions called by ZeroMQ and over MFP, well and badly."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Any

from framehub.errors import (
    EncodingError,
    EndpointError,
    RemoteFunctionError,
    RemoteTimeout,
    RequestTimeout,
    UnsupportedFunctionName,
)
from framehub.runtime.connect import connect
from framehub.runtime.files import File
from framehub.runtime.functions import Functions

PATIENCE = 0.3
DOCUMENT = File(b"The quick brown fox jumps over the lazy dog", "fox.txt", "text/plain")


async def drive_functions(url: str, clients: str, *, rounds: int = 25) -> tuple[Counter[str], str]:
    """Call the sample functions; how often each thing happened, and the link of the MFP client.

    The first thing that the MFP client does is a ping; the second, ``math.factor`` of 360.
    """
    seen: Counter[str] = Counter()
    async with Functions(clients) as functions, connect(url, checksum="crc32") as peer:
        await peer.ping()
        await _count(seen, peer.request("math.factor", 360))
        calls = [_count(seen, functions.call("math.factor", number)) for number in range(1, rounds + 1)]
        await asyncio.gather(*calls)
        for doing in (
            functions.call("math.divide", 1, 3),
            functions.call("math.divide", a=1),
            functions.call("math.divide", 1, 0),
            functions.call("math.divide", "one"),
            functions.call("math.multiply", 1),
            functions.call("files.sum", DOCUMENT),
            functions.call("nap", 30, timeout=PATIENCE),
            peer.request("math.divide", {"a": 9, "b": 4}),
            peer.request("math.divide", [1, 0]),
            peer.request("math.divide", {"a": "nine"}),
            peer.request("files.sum", files={0: DOCUMENT}),
            peer.request("nap", 30, timeout=PATIENCE),
        ):
            await _count(seen, doing)
        link = peer.link
    return seen, link


async def _count(seen: Counter[str], doing: Awaitable[Any]) -> None:
    try:
        await doing
    except (RemoteFunctionError, EndpointError):
        seen["failed"] += 1
    except (RemoteTimeout, RequestTimeout):
        seen["timed out"] += 1
    except EncodingError:
        seen["refused before being sent"] += 1
    except UnsupportedFunctionName:
        seen["to nobody"] += 1
    else:
        seen["answered"] += 1
