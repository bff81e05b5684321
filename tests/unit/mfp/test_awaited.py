"""Acknowledgements and pongs that we wait for."""

from framehub.codes import Service
from framehub.mfp.awaited import Awaited
from framehub.mfp.events import Acknowledged, PongReceived
from framehub.mfp.frames import Frame, ServiceFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Desk:
    """What is awaited, with an outbox and a memory."""

    def __init__(self) -> None:
        self.outbox = Outbox(Settings(), lambda _: False, first_id=1)
        self.past = Remembered(8)
        self.awaited = Awaited(self.outbox, self.past)

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.outbox.drain()]


def test_a_pong_says_how_long_it_took() -> None:
    """[MFP-4.4] [MFP-4.5]"""
    desk = Desk()
    assert desk.awaited.ping(10.0) == 1
    assert desk.sent() == [ServiceFrame(id=1, code=Service.PING, ref=1, own=True)]
    assert 1 in desk.awaited
    assert desk.awaited.came(1, 10.5) == PongReceived(1, 0.5, 1)
    assert desk.awaited.came(1, 10.6) is None
    assert len(desk.awaited) == 0


def test_an_acknowledgement_comes_once() -> None:
    desk = Desk()
    desk.awaited.acks[7] = 70
    assert (7 in desk.awaited, 8 in desk.awaited) == (True, False)
    assert desk.awaited.came(7, 0.0) == Acknowledged(7, 70)
    assert desk.awaited.came(7, 0.0) is None


def test_a_knock_is_not_waited_for_and_its_pong_is_known() -> None:
    """[MFP-8.7.1]"""
    desk = Desk()
    desk.awaited.knock()
    assert desk.sent() == [ServiceFrame(id=1, code=Service.PING, ref=1, own=True)]
    assert (len(desk.awaited), desk.awaited.came(1, 0.0), desk.past.get(1)) == (0, None, 1)


def test_what_is_forgotten_may_come_late() -> None:
    desk = Desk()
    ping = desk.awaited.ping(0.0)
    desk.awaited.acks[7] = 70
    for id_ in (ping, 7, 99):
        desk.awaited.forget(id_)
    assert (len(desk.awaited), desk.past.get(ping), desk.past.get(7)) == (0, 1, 70)


def test_clearing_forgets_everything() -> None:
    desk = Desk()
    desk.awaited.ping(0.0)
    desk.awaited.acks[7] = 70
    desk.awaited.clear()
    assert len(desk.awaited) == 0
