"""A message that has begun has to go on coming."""

import asyncio

from framehub.runtime.progress import Progress


class Watch:
    def __init__(self, patience: float = 0.05) -> None:
        self.slow = asyncio.Event()
        self.progress = Progress(patience, self.slow.set)

    async def is_slow(self, within: float = 0.3) -> bool:
        try:
            await asyncio.wait_for(self.slow.wait(), within)
        except TimeoutError:
            return False
        return True


async def test_a_message_that_never_ends_is_too_slow() -> None:
    watch = Watch()
    watch.progress.read(1, completed=False, unfinished=True)
    assert await watch.is_slow()


async def test_what_has_begun_is_unfinished_until_it_is_whole() -> None:
    watch = Watch()
    assert not watch.progress.unfinished
    watch.progress.read(1, completed=False, unfinished=True)
    assert watch.progress.unfinished
    watch.progress.read(1, completed=True, unfinished=False)
    assert not watch.progress.unfinished
    watch.progress.stop()


async def test_whole_messages_are_not() -> None:
    watch = Watch()
    watch.progress.read(1, completed=False, unfinished=True)
    watch.progress.read(1, completed=True, unfinished=False)
    assert not await watch.is_slow()


async def test_each_message_has_its_own_time() -> None:
    watch = Watch(0.1)
    for _ in range(10):
        watch.progress.read(1, completed=True, unfinished=True)
        assert not await watch.is_slow(0.03)
    assert await watch.is_slow()


async def test_much_may_take_longer_than_little() -> None:
    watch = Watch()
    watch.progress.read(2**20, completed=False, unfinished=True)
    assert not await watch.is_slow()


async def test_our_own_pauses_do_not_count() -> None:
    watch = Watch(0.1)
    watch.progress.forgive()
    watch.progress.read(1, completed=False, unfinished=True)
    for _ in range(10):
        assert not await watch.is_slow(0.03)
        watch.progress.forgive()
    assert await watch.is_slow()


async def test_a_pause_may_be_longer_than_any_patience() -> None:
    watch = Watch()
    watch.progress.hold()
    watch.progress.read(1, completed=False, unfinished=True)
    watch.progress.hold()
    assert not await watch.is_slow(0.2)
    watch.progress.forgive()
    assert await watch.is_slow()


async def test_what_begins_in_the_read_that_made_us_pause_has_to_wait_too() -> None:
    watch = Watch()
    watch.progress.hold()
    watch.progress.read(1, completed=True, unfinished=True)
    assert not await watch.is_slow(0.2)
    watch.progress.forgive()
    assert await watch.is_slow()


async def test_after_the_end_nothing_is_watched() -> None:
    watch = Watch()
    watch.progress.read(1, completed=False, unfinished=True)
    watch.progress.stop()
    watch.progress.stop()
    assert not await watch.is_slow(0.1)
