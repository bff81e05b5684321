"""The one timer of a peer."""

import asyncio
from time import monotonic

from framehub.runtime.alarm import Alarm


async def test_it_rings_at_the_earliest_deadline_and_once() -> None:
    rung: list[float] = []
    alarm = Alarm(lambda: rung.append(monotonic()))
    start = monotonic()
    alarm.set(None)
    alarm.set(start + 60)
    alarm.set(start + 0.02)
    alarm.set(start + 0.5)  # an earlier one is set
    await asyncio.sleep(0.08)
    assert len(rung) == 1
    assert rung[0] >= start + 0.015


async def test_a_deadline_of_the_past_rings_at_once() -> None:
    rung = asyncio.Event()
    Alarm(rung.set).set(monotonic() - 5)
    await asyncio.wait_for(rung.wait(), 1)


async def test_cancelled_it_is_silent_and_can_be_set_again() -> None:
    rung: list[int] = []
    alarm = Alarm(lambda: rung.append(1))
    alarm.set(monotonic() + 0.01)
    alarm.cancel()
    alarm.cancel()
    await asyncio.sleep(0.03)
    assert rung == []
    alarm.set(monotonic())
    await asyncio.sleep(0.01)
    assert rung == [1]


async def test_stopped_it_is_silent_for_ever_and_knows_nobody() -> None:
    rung: list[int] = []
    alarm = Alarm(lambda: rung.append(1))
    alarm.set(monotonic() + 0.01)
    alarm.stop()
    alarm.set(monotonic())
    await asyncio.sleep(0.05)
    assert rung == []
