"""32-bit ids that wrap past the living."""

import pytest

from framehub.errors import LimitExceeded
from framehub.ids import LAST, Ids


def nothing(_id: int) -> bool:
    return False


def everything(_id: int) -> bool:
    return True


def test_ids_count_from_one() -> None:
    ids = Ids()
    assert [ids.take(nothing) for _ in range(3)] == [1, 2, 3]


def test_before_the_first_wrap_nobody_is_asked_who_lives() -> None:
    assert Ids().take(everything) == 1


def test_after_the_last_id_comes_one_never_zero() -> None:
    ids = Ids(first=LAST)
    assert [ids.take(nothing) for _ in range(3)] == [LAST, 1, 2]


def test_living_ids_are_passed_over_after_a_wrap() -> None:
    ids = Ids(first=LAST)
    assert [ids.take({LAST, 1, 3}.__contains__) for _ in range(3)] == [2, 4, 5]


def test_a_count_that_began_at_one_knows_when_it_has_wrapped() -> None:
    ids = Ids()
    ids._next = LAST
    assert ids.take(everything) == LAST
    assert ids.take({1}.__contains__) == 2


def test_how_many_were_taken() -> None:
    ids = Ids()
    assert [ids.taken, ids.take(nothing), ids.take(nothing), ids.taken] == [0, 1, 2, 2]
    late = Ids(first=LAST)
    assert [late.take(nothing), late.take(nothing), late.taken] == [LAST, 1, 2]


def test_which_ids_were_given() -> None:
    ids = Ids()
    ids.take(nothing)
    assert [ids.has_given(id_) for id_ in (1, 2)] == [True, False]
    assert Ids(first=LAST).has_given(7)


@pytest.mark.parametrize(("living", "free"), [(3, 4), (4, None)])
def test_so_many_living_ids_in_a_row_are_too_many(living: int, free: int | None) -> None:
    ids = Ids(first=LAST, tries=5)
    alive = {LAST, *range(1, living + 1)}
    if free is not None:
        assert ids.take(alive.__contains__) == free
        return
    with pytest.raises(LimitExceeded) as caught:
        ids.take(alive.__contains__)
    assert (caught.value.limit, caught.value.allowed) == ("live ids", 5)
