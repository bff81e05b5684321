"""A peer that takes nothing is not waited for; one that takes little is."""

import asyncio

from framehub.runtime.uptake import Uptake


class Full:
    def __init__(self) -> None:
        self.waiting = 100
        self.stuck = asyncio.Event()
        self.uptake = Uptake(0.03, lambda: self.waiting, self.stuck.set)

    async def is_stuck(self, within: float = 0.3) -> bool:
        try:
            await asyncio.wait_for(self.stuck.wait(), within)
        except TimeoutError:
            return False
        return True


async def test_nothing_is_taken() -> None:
    full = Full()
    full.uptake.begin()
    full.uptake.begin()
    assert await full.is_stuck()


async def test_more_that_waits_is_nothing_taken() -> None:
    full = Full()
    full.uptake.begin()
    full.waiting = 200
    assert await full.is_stuck()


async def test_a_little_at_a_time_is_something() -> None:
    full = Full()
    full.uptake.begin()
    for _ in range(20):
        full.waiting -= 1
        assert not await full.is_stuck(0.01)
    assert await full.is_stuck()


async def test_a_link_with_room_is_not_watched() -> None:
    full = Full()
    full.uptake.begin()
    full.uptake.end()
    full.uptake.end()
    assert not await full.is_stuck(0.1)
