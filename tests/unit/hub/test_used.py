"""Which numbers a client has used."""

from hypothesis import given
from hypothesis import strategies as st

from framehub.hub.used import UsedNumbers


def test_a_client_that_counts_costs_one_interval() -> None:
    used = UsedNumbers()
    assert all(used.add(number, 1) for number in range(1, 10_001))
    assert len(used) == 1
    assert 1 in used and 10_000 in used  # noqa: PT018
    assert 0 not in used
    assert 10_001 not in used


def test_counting_down_costs_one_interval_too() -> None:
    used = UsedNumbers()
    assert all(used.add(number, 1) for number in range(100, 0, -1))
    assert len(used) == 1


def test_a_number_between_two_intervals_joins_them() -> None:
    used = UsedNumbers()
    assert used.add(1, 2)
    assert used.add(3, 2)
    assert len(used) == 2
    assert used.add(2, 2)
    assert len(used) == 1


def test_one_interval_too_many_is_not_added() -> None:
    used = UsedNumbers()
    assert all(used.add(number, 3) for number in (10, 20, 30))
    assert not used.add(40, 3)
    assert 40 not in used
    assert used.add(31, 3), "what joins an interval needs no room"


@given(st.lists(st.integers(0, 40)), st.integers(1, 12))
def test_it_is_a_set(numbers: list[int], most: int) -> None:
    used, there = UsedNumbers(), set[int]()
    for number in numbers:
        if number not in there and used.add(number, most):
            there.add(number)
        assert len(used) <= most
    assert {number for number in range(-1, 42) if number in used} == there
