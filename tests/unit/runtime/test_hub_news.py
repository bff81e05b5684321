"""The hub's log: what happens now and then line by line, what floods in as a count."""

from collections import Counter

import pytest

from framehub.hub.parties import Instance
from framehub.runtime.hub_news import ONE_BY_ONE, TELL_EVERY, News


def service(number: int) -> Instance:
    instance = Instance(b"s", 2, 0.0)
    instance.number, instance.name = number, "calc"
    return instance


@pytest.fixture(autouse=True)
def _all_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")


def test_services_that_come_and_go_are_told_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    news = News(Counter())
    news.of_service(service(7), 0.0, has_come=True)
    news.of_service(service(7), 1.0, has_come=False)
    news.tick(2.0)
    assert caplog.messages == ["service 7 'calc' came", "service 7 'calc' has gone"]


def test_crowds_of_them_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    news = News(Counter())
    for number in range(ONE_BY_ONE + 5):
        news.of_service(service(number), 1.0, has_come=number % 2 == 0)
    assert len(caplog.messages) == ONE_BY_ONE
    news.tick(2.0)
    news.tick(3.0)
    assert caplog.messages[ONE_BY_ONE:] == ["service came: 3, service has gone: 2"]
    news.of_service(service(99), 1.0 + TELL_EVERY, has_come=True)
    assert caplog.messages[-1] == "service 99 'calc' came"


def test_what_was_counted_is_told_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    counts: Counter[str] = Counter()
    news = News(counts)
    news.tick(0.0)
    counts["b"] += 1
    counts["a"] += 2
    news.tick(1.0)
    counts["a"] += 3
    news.tick(2.0)
    assert caplog.messages == ["a: 2, b: 1"]
    news.tick(1.0 + TELL_EVERY)
    assert caplog.messages == ["a: 2, b: 1", "a: 3"]
