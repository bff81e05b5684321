from framehub.errors import JournalError
from framehub.journal.waiters import Waiters


def test_who_waits_is_told_in_order_and_once() -> None:
    waiters = Waiters(4)
    told: list[tuple[int, JournalError | None]] = []

    def wait(seq: int) -> bool:
        return waiters.add(seq, lambda error: told.append((seq, error)))

    assert not wait(4)
    assert told == [(4, None)]
    assert wait(5)
    assert not wait(7)
    waiters.tell(6)
    assert told == [(4, None), (5, None)]
    assert waiters
    waiters.tell(9)
    assert told[-1] == (7, None)
    assert not waiters


def test_after_a_failure_everybody_is_told_why() -> None:
    waiters = Waiters(0)
    told: list[JournalError | None] = []
    waiters.add(3, told.append)
    gone = JournalError("disk gone")
    waiters.tell(2, gone)
    waiters.add(3, told.append)
    waiters.add(2, told.append)
    assert told == [gone, gone, None]


def test_one_that_fails_does_not_keep_others_waiting() -> None:
    waiters = Waiters(0)
    told: list[JournalError | None] = []
    waiters.add(1, lambda _: 1 / 0)  # type: ignore[arg-type]
    waiters.add(1, told.append)
    waiters.tell(1)
    assert told == [None]
