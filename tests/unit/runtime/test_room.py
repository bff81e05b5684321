"""Turns on a full link."""

import asyncio

import pytest

from framehub.runtime.room import Room


async def test_with_room_nobody_waits() -> None:
    room = Room()
    with pytest.raises(StopIteration):
        room.turn().send(None)


async def test_turns_go_round_one_frame_at_a_time() -> None:
    room = Room()
    sent: list[str] = []

    async def send(name: str) -> None:
        for n in range(3):
            await room.turn()
            sent.append(f"{name}{n}")
            room.full()  # every frame fills the link

    room.full()
    tasks = [asyncio.create_task(send(name)) for name in "abc"]
    for _ in range(9):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = len(sent)
        room.ready()
        for _ in range(4):
            await asyncio.sleep(0)
        assert len(sent) == before + 1
    await asyncio.gather(*tasks)
    assert sent == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


async def test_all_have_a_turn_when_the_link_stays_free() -> None:
    room = Room()
    room.full()
    waiting = [asyncio.create_task(room.turn()) for _ in range(5)]
    await asyncio.sleep(0)
    room.ready()
    room.ready()  # said twice: no harm
    late = asyncio.create_task(room.turn())
    await asyncio.gather(*waiting, late)


async def test_who_leaves_the_queue_holds_up_nobody() -> None:
    room = Room()
    room.full()
    first, second = asyncio.create_task(room.turn()), asyncio.create_task(room.turn())
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    room.ready()
    await asyncio.wait_for(second, 1)
