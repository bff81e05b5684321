"""Deadlines never fire early, and at most a grain late."""

import pytest

from framehub.mfp.deadlines import FAR, GRAIN, Deadlines


def test_nothing_is_due_before_its_time() -> None:
    """[MFP-8.3.1]"""
    deadlines = Deadlines()
    deadlines.add(7, 1.0)
    assert deadlines.due(0.999) == []
    assert deadlines.due(1.0 + GRAIN) == [7]
    assert deadlines.due(100.0) == []


def test_the_earliest_comes_first() -> None:
    deadlines = Deadlines()
    for key, deadline in ((1, 3.0), (2, 1.0), (3, 2.0), (4, 1.001)):
        deadlines.add(key, deadline)
    assert deadlines.due(2.5) == [2, 4, 3]
    assert len(deadlines) == 1


def test_a_new_deadline_replaces_the_old_one() -> None:
    deadlines = Deadlines()
    deadlines.add(1, 1.0)
    deadlines.add(1, 5.0)
    assert deadlines.due(4.0) == []
    assert len(deadlines) == 1
    assert deadlines.due(6.0) == [1]


def test_a_dropped_key_is_never_due() -> None:
    deadlines = Deadlines()
    deadlines.add(1, 1.0)
    deadlines.drop(1)
    deadlines.drop(1)
    assert deadlines.due(9.0) == []
    assert len(deadlines) == 0


def test_the_next_time_to_ask_passes_over_what_was_dropped() -> None:
    deadlines = Deadlines()
    assert deadlines.next is None
    deadlines.add(1, 1.0)
    deadlines.add(2, 2.0)
    deadlines.drop(1)
    assert deadlines.next == pytest.approx(2.0 + GRAIN)
    deadlines.drop(2)
    assert deadlines.next is None


def test_asking_at_the_next_time_always_gives_something() -> None:
    deadlines = Deadlines()
    for key in range(100):
        deadlines.add(key, 0.1 + key * 0.0373)
    taken: list[int] = []
    while (time := deadlines.next) is not None:
        due = deadlines.due(time)
        assert due
        taken += due
    assert taken == list(range(100))


@pytest.mark.parametrize("never", [float("inf"), 1e300, float("nan")])
def test_a_deadline_that_never_comes_is_far_away(never: float) -> None:
    deadlines = Deadlines()
    deadlines.add(1, never)
    assert deadlines.due(FAR - 1) == []
