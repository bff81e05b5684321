"""What a client may do now and then."""

from collections.abc import Callable

import pytest

from framehub.hub.conduct import Bucket, Conduct, Window
from framehub.hub.settings import HubSettings

SETTINGS = HubSettings(max_strikes=3, max_cancels=4, max_pings=5, max_opens=2, opens_burst=6)


@pytest.mark.parametrize(
    ("count", "most", "seconds"),
    [(Conduct.strike, 3, 10.0), (Conduct.cancel, 4, 10.0), (Conduct.ping, 5, 1.0)],
)
def test_one_too_many_in_its_time_is_noticed(
    count: Callable[[Conduct, float], bool], most: int, seconds: float
) -> None:
    conduct = Conduct(SETTINGS, 0.0)
    assert all(count(conduct, 100.0) for _ in range(most))
    assert not count(conduct, 100.0 + seconds - 0.01)
    assert count(conduct, 100.0 + seconds)


def test_a_window_goes_along() -> None:
    window = Window(2, 10.0)
    assert [window.count(at) for at in (0.0, 6.0, 9.0, 10.0, 15.0, 16.0)] == [
        True, True, False, True, False, True,
    ]  # fmt: skip


def test_streams_may_be_opened_in_a_burst_and_steadily_after_that() -> None:
    conduct = Conduct(SETTINGS, 0.0)
    assert all(conduct.open(1.0) for _ in range(6))
    assert not conduct.open(1.0)
    assert not conduct.open(1.49)
    assert conduct.open(1.5)
    assert not conduct.open(1.5)
    assert [conduct.open(2.5) for _ in range(3)] == [True, True, False]


def test_a_long_rest_gives_no_more_than_a_burst() -> None:
    bucket = Bucket(3, 100, 0.0)
    assert [bucket.take(1_000.0) for _ in range(4)] == [True, True, True, False]
