"""Events say which exchange they belong to."""

from typing import get_args

import pytest

from framehub.codes import Service
from framehub.mfp import events
from framehub.mfp.events import Event, RequestFailed


@pytest.mark.parametrize("event", get_args(Event))
def test_every_event_names_its_exchange(event: type) -> None:
    assert "exchange" in event.__annotations__


def test_every_event_class_is_an_event() -> None:
    classes = {
        value
        for value in vars(events).values()
        if isinstance(value, type) and value.__module__ == events.__name__
    }
    assert classes == set(get_args(Event))


def test_an_event_cannot_be_changed() -> None:
    event = RequestFailed(1, Service.TIMEOUT, True, 1)
    with pytest.raises(AttributeError):
        event.id = 2  # type: ignore[misc]
