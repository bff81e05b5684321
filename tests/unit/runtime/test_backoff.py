"""Waiting longer each time, and not all at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.errors import ConfigError
from framehub.runtime.backoff import Backoff


def test_each_wait_may_be_twice_as_long_until_the_longest() -> None:
    """[MFP-9.5.2]"""
    longest = [Backoff().longest(tries) for tries in range(9)]
    assert longest == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_wait_is_any_part_of_the_longest() -> None:
    """[MFP-9.5.2] Full jitter: also none at all."""
    backoff = Backoff(first=1, most=8, factor=2)
    assert [backoff.delay(2, lambda part=part: part) for part in (0.0, 0.25, 0.5)] == [0.0, 1.0, 2.0]  # type: ignore[misc]


@given(
    st.floats(0.001, 10),
    st.floats(1, 1_000),
    st.floats(1.001, 1e6),
    st.integers(0, 10**9),
    st.floats(0, 1, exclude_max=True),
)
def test_no_wait_is_over_the_longest(
    first: float, times: float, factor: float, tries: int, part: float
) -> None:
    backoff = Backoff(first=first, most=first * times, factor=factor)
    assert 0 <= backoff.delay(tries, lambda: part) <= backoff.longest(tries) <= backoff.most
    assert backoff.longest(tries) <= backoff.longest(tries + 1)


@pytest.mark.parametrize(
    "options", [{"first": 0}, {"first": -1}, {"first": 11}, {"most": 0.05}, {"factor": 1}, {"factor": 0.5}]
)
def test_a_back_off_that_cannot_be_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"first|factor"):
        Backoff(**options)
