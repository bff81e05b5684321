"""A few rounds of ``make buffers`` in this process, where what is left can be counted: objects and bytes."""

import asyncio

from framehub.runtime.listen import listen
from framehub.runtime.read_buffers import buffers_of
from tests.chaos.buffers.__main__ import MIB, rounds
from tests.chaos.buffers.app import endpoints
from tests.unit.runtime.leftovers import uncollected

LARGE = bytes(MIB - 1_000)


async def test_connections_that_had_a_large_frame_leave_nothing() -> None:
    buffers = buffers_of(asyncio.get_running_loop())
    async with listen("ws://127.0.0.1:0/mfp", endpoints) as server:
        await rounds(server.url, 1, LARGE)
        with uncollected() as left:
            await asyncio.gather(*(rounds(server.url, 10, LARGE) for _ in range(4)))
            await left.gone()
        assert server.opened == 41
        assert buffers.bytes == 0
