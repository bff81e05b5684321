"""The hub's own numbers of streams."""

import pytest

from framehub.hub import numbers
from framehub.hub.numbers import FIRST_V2, LAST_V1, LAST_V2, Numbers


def test_numbers_for_v2_services_count_from_2_to_the_20() -> None:
    given = Numbers(set(), 60.0)
    assert [given.take(2, 0.0) for _ in range(3)] == [FIRST_V2, FIRST_V2 + 1, FIRST_V2 + 2]


def test_a_number_in_use_is_passed_over() -> None:
    given = Numbers({FIRST_V2, FIRST_V2 + 1}, 60.0)
    assert given.take(2, 0.0) == FIRST_V2 + 2


def test_after_the_last_number_they_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "FIRST_V2", LAST_V2 - 1)
    given = Numbers({LAST_V2 - 1}, 60.0)
    assert [given.take(2, 0.0) for _ in range(3)] == [LAST_V2, LAST_V2, LAST_V2]


def test_a_last_number_in_use_is_passed_over_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "FIRST_V2", LAST_V2 - 1)
    given = Numbers({LAST_V2}, 60.0)
    assert [given.take(2, 0.0) for _ in range(2)] == [LAST_V2 - 1, LAST_V2 - 1]


def test_an_ended_number_of_a_v2_service_does_not_come_back_soon() -> None:
    given = Numbers(set(), 60.0)
    given._fresh = FIRST_V2  # those for V1 services have all been used
    for number in (FIRST_V2, FIRST_V2 + 1):
        given.release(number, 0.0)
    assert given.take(1, 1_000.0) is None
    assert given.take(2, 1_000.0) == FIRST_V2


def test_numbers_for_v1_services_fit_20_bits() -> None:
    """[HUB-7.5]"""
    given = Numbers(set(), 60.0)
    taken = [given.take(1, 0.0) for _ in range(LAST_V1)]
    assert (taken[0], taken[-1]) == (1, 2**20 - 1)
    assert len(set(taken)) == LAST_V1
    assert given.take(1, 0.0) is None, "all are in use"
    given.release(5, 10.0)
    given.release(4, 11.0)
    assert given.take(1, 69.9) is None, "the ended one rests"
    assert given.take(1, 70.0) == 5
    assert given.take(1, 70.0) is None
    assert given.take(1, 71.0) == 4
