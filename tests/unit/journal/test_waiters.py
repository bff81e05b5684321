import asyncio

import pytest

from framehub.errors import JournalError
from framehub.journal.waiters import Waiters, told


def test_who_waits_is_told_in_order_and_once() -> None:
    waiters = Waiters(4)
    heard: list[tuple[int, JournalError | None]] = []

    def wait(seq: int) -> bool:
        return waiters.add(seq, lambda error: heard.append((seq, error)))

    assert not wait(4)
    assert heard == [(4, None)]
    assert wait(5)
    assert not wait(7)
    waiters.tell(6)
    assert heard == [(4, None), (5, None)]
    assert waiters
    waiters.tell(9)
    assert heard[-1] == (7, None)
    assert not waiters


def test_after_a_failure_everybody_is_told_why() -> None:
    waiters = Waiters(0)
    heard: list[JournalError | None] = []
    waiters.add(3, heard.append)
    gone = JournalError("disk gone")
    waiters.tell(2, gone)
    waiters.add(3, heard.append)
    waiters.add(2, heard.append)
    assert heard == [gone, gone, None]


def test_one_that_fails_does_not_keep_others_waiting() -> None:
    waiters = Waiters(0)
    heard: list[JournalError | None] = []
    waiters.add(1, lambda _: 1 / 0)  # type: ignore[arg-type]
    waiters.add(1, heard.append)
    waiters.tell(1)
    assert heard == [None]


async def test_a_coroutine_can_wait_and_a_failure_is_raised_in_it() -> None:
    waiters = Waiters(0)
    fine = asyncio.ensure_future(told(lambda tell: waiters.add(1, tell)))
    bad = asyncio.ensure_future(told(lambda tell: waiters.add(2, tell)))
    given_up = asyncio.ensure_future(told(lambda tell: waiters.add(3, tell)))
    await asyncio.sleep(0)
    given_up.cancel()
    waiters.tell(1)
    await fine
    assert not bad.done()
    waiters.tell(1, JournalError("disk gone"))
    with pytest.raises(JournalError, match="disk gone"):
        await bad
    await asyncio.sleep(0)
    assert given_up.cancelled()
    assert not waiters
