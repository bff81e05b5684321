"""Services that come back after a disconnection, and those that were there all the time."""

import pytest

from framehub.hub.holding import MOST_NOTICES
from tests.unit.hub.desk import COMMAND, PING, PONG, Desk, configuration


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_service_that_came_back_has_lost_its_streams(desk: Desk) -> None:
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.switch.service_disconnected(desk.now)
    assert [told[2] for told in desk.to_services()] == ["PING"]
    desk.configure("s")
    assert [told[1:3] for told in desk.to_services()] == [(0, "READY")]
    assert desk.to_clients() == [("c", 1, "SERVICE_DISCONNECT")]
    desk.agree()


def test_a_service_that_came_back_gets_nothing_of_what_waited_but_its_answer(desk: Desk) -> None:
    """However much that was: it waits for READY."""
    instance = desk.service()
    for _ in range(MOST_NOTICES):
        desk.answers("s", 0, COMMAND, PING)
    desk.deliver(instance)
    assert len(instance.held) == MOST_NOTICES
    desk.switch.service_disconnected(desk.now)
    desk.configure("s")
    desk.deliver(instance)
    assert [told[1] for told in desk.waits_for(instance)] == ["PING", "READY"]
    desk.agree()


def test_a_service_that_was_there_all_the_time_keeps_its_streams(desk: Desk) -> None:
    """Another's connection ended: this one answers the PING before it configures itself anew."""
    client, _, other = desk.client(), desk.service(), desk.service("other")
    stream = desk.opens(client, 1)
    desk.switch.service_disconnected(desk.now)
    pings = {told[0]: told[3] for told in desk.to_services()}
    desk.switch.service_gone(other, desk.now)
    desk.answers("s", 0, COMMAND, PONG, b"something else")
    desk.answers("s", 0, COMMAND, PONG, pings["s"])
    desk.configure("s", number=8)
    assert not stream.is_over
    assert desk.to_clients() == []


def test_an_answer_to_what_was_asked_before_a_disconnection_says_nothing_of_after(desk: Desk) -> None:
    """It was on its way when the connection ended; so soon after another's, the hub has not asked again."""
    client, _ = desk.client(), desk.service()
    desk.opens(client, 1)
    desk.switch.service_disconnected(desk.now)
    ((_, _, _, ping),) = desk.to_services()
    desk.switch.service_disconnected(desk.now)
    assert desk.to_services() == []
    desk.answers("s", 0, COMMAND, PONG, ping)
    desk.configure("s")
    assert desk.to_clients() == [("c", 1, "SERVICE_DISCONNECT")]


def test_an_answer_that_comes_late_takes_nothing_back(desk: Desk) -> None:
    client, _ = desk.client(), desk.service()
    desk.switch.service_disconnected(desk.now)
    ((_, _, _, ping),) = desk.to_services()
    desk.switch.service_disconnected(desk.now)
    desk.configure("s")
    stream = desk.opens(client, 1)
    desk.answers("s", 0, COMMAND, PONG, ping)
    desk.configure("s")
    assert not stream.is_over


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_a_service_may_come_back_in_the_other_version(desk: Desk, before: int, after: int) -> None:
    client, _ = desk.client(), desk.service(version=before)
    desk.opens(client, 1)
    assert desk.service_sends("s", configuration(version=after)[:-1]) != ""
    assert desk.switch.instances[b"s"].version == before, "that was no configuration"
    desk.take()
    assert desk.configure("s", version=after) is None
    assert desk.switch.instances[b"s"].version == after
    told, to_services = desk.take()
    assert told == [("c", 1, "SERVICE_DISCONNECT")]
    assert [words[1:3] for words in to_services] == [(0, "READY")]
    assert [joined for joined, _ in desk.switch.changes] == [True, False, True]
    desk.agree()
