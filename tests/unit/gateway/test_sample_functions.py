"""The demo's functions, called as plain functions."""

import pytest

from framehub.gateway import sample_functions as sample
from framehub.runtime.files import File


@pytest.mark.parametrize(
    ("number", "factors"), [(1, []), (2, [2]), (360, [2, 2, 2, 3, 3, 5]), (9_999_991, [9_999_991])]
)
def test_factors_multiply_to_the_number(number: int, factors: list[int]) -> None:
    assert sample.factor(number) == factors


@pytest.mark.parametrize("number", [0, -5, 10**13])
def test_what_has_no_factors_fails(number: int) -> None:
    with pytest.raises(ValueError, match="is not between"):
        sample.factor(number)


def test_a_division_has_a_default_and_fails_by_zero() -> None:
    assert sample.divide(9.0) == 4.5
    with pytest.raises(ZeroDivisionError):
        sample.divide(1.0, 0.0)


def test_a_files_sum_is_a_file() -> None:
    summed = sample.digest(File(b"abc", "a.txt"))
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (summed.data, summed.name) == (f"{digest}  a.txt\n".encode(), "sum.txt")


def test_a_nap_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    assert sample.nap(1e9) == "well rested"
    assert slept == [sample.LONGEST]


def test_all_of_them_are_offered() -> None:
    assert list(sample.worker.functions) == ["math.factor", "math.divide", "files.sum", "nap"]
