"""A bounded memory of ids."""

import pytest

from framehub.mfp.remembered import Remembered


def test_what_is_remembered_is_found_until_it_is_taken() -> None:
    memory = Remembered(4)
    memory.add(7, 70)
    assert memory.get(7) == 70
    assert memory.pop(7) == 70
    assert (memory.get(7), memory.pop(7)) == (0, 0)


@pytest.mark.parametrize("bound", [1, 3])
def test_the_last_ones_are_kept_and_never_more_than_twice_the_bound(bound: int) -> None:
    memory = Remembered(bound)
    for id_ in range(1, 50):
        memory.add(id_, id_ * 10)
        assert all(memory.get(kept) == kept * 10 for kept in range(max(1, id_ - bound + 1), id_ + 1))
        assert len(memory) <= 2 * bound
    assert memory.get(49 - 2 * bound) == 0


def test_the_newer_of_two_wins_and_both_are_forgotten_together() -> None:
    memory = Remembered(1)
    memory.add(5, 1)
    memory.add(5, 2)
    assert memory.get(5) == 2
    assert memory.pop(5) == 2
    assert memory.get(5) == 0


def test_an_older_one_can_be_taken_too() -> None:
    memory = Remembered(1)
    memory.add(5, 1)
    memory.add(6, 2)
    assert memory.pop(5) == 1


def test_clearing_forgets_everything() -> None:
    memory = Remembered(1)
    memory.add(5, 1)
    memory.add(6, 2)
    memory.clear()
    assert len(memory) == 0
