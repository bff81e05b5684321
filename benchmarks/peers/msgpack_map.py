"""msgpack, the library of that name: a map of named fields, packed and unpacked."""

import asyncio
import timeit
from functools import partial
from typing import Any

import msgpack

from benchmarks.driving import Order, obey


async def act(order: Order) -> dict[str, Any]:
    """Time ``calls`` of each; ``fields`` are as they are, ``bytes`` names those of so many bytes."""
    fields = order["fields"] | {name: b"x" * size for name, size in order["bytes"].items()}
    packer = msgpack.Packer()  # made once: its fastest way
    packed = packer.pack(fields)
    assert msgpack.unpackb(packed) == fields
    calls = order["calls"]
    return {
        "encode": timeit.timeit(partial(packer.pack, fields), number=calls) / calls * 1e9,
        "decode": timeit.timeit(partial(msgpack.unpackb, packed), number=calls) / calls * 1e9,
    }


if __name__ == "__main__":
    asyncio.run(obey(act))
