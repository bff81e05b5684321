"""Whether the peer lives and the connection is used: only looks, no clock."""

from math import inf

import pytest

from framehub.codes import CloseCode
from framehub.mfp.awaited import Awaited
from framehub.mfp.events import ConnectionOver
from framehub.mfp.frames import MessageFrame
from framehub.mfp.liveness import Liveness
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings

DEAD = ConnectionOver(CloseCode.GOING_AWAY, "no sign of life for 16 s")
IDLE = ConnectionOver(CloseCode.OK, "not used for 8 s")


class Watch:
    """One connection to look at; the first look is at 0."""

    def __init__(self, *, keepalive: float = inf, idle_timeout: float = inf) -> None:
        settings = Settings(keepalive=keepalive, idle_timeout=idle_timeout)
        self.outbox = Outbox(settings, lambda _: False, first_id=1)
        self.liveness = Liveness(settings, self.outbox, Awaited(self.outbox, Remembered(8)))
        self.heard = self.heard_service = -inf
        self.deaf = self.waiting = False
        self.look(0.0)

    def look(self, now: float) -> ConnectionOver | None:
        return self.liveness.look(
            now, heard=self.heard, heard_service=self.heard_service, waiting=self.waiting, deaf=self.deaf
        )

    def pings(self) -> int:
        return len(self.outbox.drain())


def test_where_nothing_is_watched_nothing_is_ever_due() -> None:
    watch = Watch()
    assert watch.liveness.next == inf
    assert (watch.look(1e9), watch.pings()) == (None, 0)


def test_silence_is_asked_about_and_then_kills() -> None:
    """[MFP-8.7.1] [MFP-8.7.2] A tick early does nothing, one in time does it once."""
    watch = Watch(keepalive=8.0)
    assert watch.liveness.next == 8.0
    assert (watch.look(7.9), watch.pings()) == (None, 0)
    assert (watch.look(8.0), watch.pings(), watch.liveness.next) == (None, 1, 15.0)
    assert (watch.look(14.9), watch.liveness.next) == (None, 15.0)
    assert (watch.look(15.0), watch.liveness.next) == (None, 16.0)
    assert watch.look(15.9) is None
    assert (watch.look(16.0), watch.pings(), watch.liveness.next) == (DEAD, 0, inf)


@pytest.mark.parametrize("kind", ["heard", "heard_service"])
@pytest.mark.parametrize("at", [8.0, 15.9])
def test_any_frame_after_the_ping_is_a_sign_of_life(kind: str, at: float) -> None:
    """[MFP-8.7.2] Even one that came at the same time."""
    watch = Watch(keepalive=8.0)
    for now in (8.0, 15.0):
        watch.look(now)
    setattr(watch, kind, at)
    assert (watch.look(15.95), watch.pings(), watch.liveness.next) == (None, 1, at + 8.0)


@pytest.mark.parametrize("jump", [20.0, 1e6])
@pytest.mark.parametrize("before", [[], [8.0]], ids=["silent", "pinged"])
def test_a_clock_that_jumps_kills_nobody_before_what_came_meanwhile_is_read(
    jump: float, before: list[float]
) -> None:
    """[MFP-8.7.2]"""
    watch = Watch(keepalive=8.0)
    for now in before:
        watch.look(now)
    assert watch.look(jump) is None
    assert watch.pings() == 1
    watch.heard_service = jump + 0.01  # the pong lay there all the time
    assert watch.look(watch.liveness.next) is None


def test_who_does_not_read_judges_nobody_but_can_be_heard() -> None:
    """[MFP-8.7.3]"""
    watch = Watch(keepalive=8.0)
    watch.deaf = True
    for now in range(1, 81):
        assert watch.look(float(now)) is None
    assert watch.pings() == 10
    watch.deaf = False
    assert watch.look(87.0) is None
    assert watch.pings() == 0
    watch.look(88.0)
    assert watch.pings() == 1


def test_a_ping_does_not_count_against_a_peer_that_was_not_read_since() -> None:
    """[MFP-8.7.3]"""
    watch = Watch(keepalive=8.0)
    watch.look(8.0)
    watch.look(15.0)
    watch.deaf = True
    assert watch.look(16.0) is None
    watch.deaf = False
    assert watch.look(23.9) is None
    assert watch.pings() == 2


def test_a_connection_without_use_is_closed() -> None:
    """[MFP-8.7.4] Service frames are no use."""
    watch = Watch(idle_timeout=8.0)
    watch.heard = 3.0
    watch.heard_service = 9.0
    watch.outbox.ping()
    assert (watch.look(8.0), watch.liveness.next) == (None, 11.0)
    assert watch.look(10.9) is None
    assert (watch.look(11.0), watch.liveness.next) == (IDLE, inf)


def test_what_is_sent_is_use_from_the_look_that_sees_it() -> None:
    """[MFP-8.7.4] Between the idle timeout and twice as much."""
    watch = Watch(idle_timeout=8.0)
    watch.outbox.send(MessageFrame(id=watch.outbox.new_id()), 1)
    assert (watch.look(8.0), watch.liveness.next) == (None, 16.0)
    assert watch.look(16.0) == IDLE


@pytest.mark.parametrize("what", ["waiting", "deaf"])
def test_what_goes_on_is_use(what: str) -> None:
    """[MFP-8.7.4]"""
    watch = Watch(idle_timeout=8.0)
    setattr(watch, what, True)
    assert (watch.look(100.0), watch.liveness.next) == (None, 108.0)
    setattr(watch, what, False)
    assert watch.look(108.0) == IDLE


def test_whatever_is_due_first_is_next() -> None:
    assert Watch(keepalive=4.0, idle_timeout=8.0).liveness.next == 4.0
    assert Watch(keepalive=8.0, idle_timeout=4.0).liveness.next == 4.0


def test_after_the_end_nothing_is_looked_at() -> None:
    watch = Watch(keepalive=8.0)
    watch.liveness.stop()
    assert watch.liveness.next == inf
