"""Streams come up when their time has come, or a little later."""

from hypothesis import given
from hypothesis import strategies as st

from framehub.hub.parties import Client, Stream
from framehub.hub.timers import GRAIN, Timers

CLIENT = Client(b"c", 2, 0, None, 0.0)


def stream(number: int = 1) -> Stream:
    return Stream(CLIENT, None, number, number, 7, 1, 30.0, 0.0)


def test_nothing_comes_up_before_its_time() -> None:
    timers, one = Timers(0.0), stream()
    timers.add(one, 10.0)
    assert timers.due(9.99) == []
    assert timers.due(10.0) == [one]
    assert timers.due(11.0) == []
    assert len(timers) == 0


def test_what_is_due_already_comes_up_at_the_next_look() -> None:
    timers, one = Timers(100.0), stream()
    timers.add(one, 50.0)
    assert timers.due(100.0) == []
    assert timers.due(100.0 + GRAIN) == [one]


def test_what_was_taken_out_does_not_come_up() -> None:
    timers, one, other = Timers(0.0), stream(1), stream(2)
    timers.add(one, 1.0)
    timers.add(other, 1.0)
    timers.discard(one)
    assert len(timers) == 1
    assert timers.due(1.0) == [other]


def test_taking_out_what_is_not_there_changes_nothing() -> None:
    timers, one, other = Timers(0.0), stream(1), stream(2)
    timers.add(one, 1.0)
    other.place = one.place
    timers.discard(other)
    assert len(timers) == 1
    timers.discard(one)
    timers.discard(one)
    assert len(timers) == 0


def test_after_a_long_sleep_all_come_up_in_order() -> None:
    timers, streams = Timers(0.0), [stream(number) for number in range(5)]
    for one in streams[::-1]:
        timers.add(one, 1.0 + one.id % 3)
    assert timers.due(1_000_000.0) == streams


@given(st.lists(st.floats(0.1, 50.0)), st.lists(st.floats(0.01, 3.0)))
def test_each_comes_up_once_and_in_time(times: list[float], steps: list[float]) -> None:
    timers, now = Timers(0.0), 0.0
    at = {stream(number): time for number, time in enumerate(times)}
    for one, time in at.items():
        timers.add(one, time)
    waiting = set(at)
    for step in [*steps, 60.0]:
        now += step
        found = timers.due(now)
        assert len(set(found)) == len(found)
        assert set(found) <= waiting
        assert all(at[one] <= now for one in found)
        waiting -= set(found)
        assert all(at[one] > now - GRAIN for one in waiting)
        assert len(timers) == len(waiting)
    assert not waiting
