"""Requests that we asked: each is settled exactly once."""

from typing import Any

import pytest

from framehub.codes import Service
from framehub.errors import LimitExceeded
from framehub.mfp.asked import Asked
from framehub.mfp.events import RequestFailed, ResponseReceived
from framehub.mfp.frames import Frame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Desk:
    """Requests with their outbox and memory."""

    def __init__(self, **limits: Any) -> None:
        settings = Settings(**limits)
        self.outbox = Outbox(settings, lambda _: False, first_id=1)
        self.past = Remembered(8)
        self.asked = Asked(settings, self.outbox, self.past)

    def ask(self, deadline: float = 10.0) -> int:
        return self.asked.ask(b"?", (), deadline=deadline, need_ack=False, checksum=False)[0]

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.outbox.drain()]


def test_a_request_waits_until_its_answer() -> None:
    desk = Desk()
    id_ = desk.ask()
    assert desk.sent() == [RequestFrame(id=id_, payload=b"?")]
    assert id_ in desk.asked.waiting
    answer = ResponseFrame(id=9, ref=id_)
    assert desk.asked.answered(answer) == ResponseReceived(id_, answer, 1)
    assert len(desk.asked) == 0
    assert desk.past.get(id_) == 1


def test_only_the_first_ending_counts() -> None:
    """[MFP-8.2.1]"""
    desk = Desk()
    id_ = desk.ask()
    assert desk.asked.failed(id_, Service.ABORT) == RequestFailed(id_, Service.ABORT, True, 1)
    assert desk.asked.answered(ResponseFrame(id=9, ref=id_)) is None
    assert desk.asked.failed(id_, Service.ABORT) is None
    assert desk.asked.cancel(id_) is False
    assert desk.asked.due(99.0) == []


def test_giving_up_is_said_with_the_own_bit() -> None:
    """[MFP-8.2.3]"""
    desk = Desk()
    cancelled, late = desk.ask(), desk.ask()
    desk.sent()
    assert desk.asked.cancel(cancelled)
    assert desk.asked.due(10.0) == [RequestFailed(late, Service.TIMEOUT, False, 2)]
    assert desk.sent() == [
        ServiceFrame(id=3, code=Service.ABORT, ref=cancelled, own=True),
        ServiceFrame(id=4, code=Service.TIMEOUT, ref=late, own=True),
    ]
    assert desk.asked.next_deadline is None


def test_what_may_not_be_said_waits_on_and_its_answer_is_nobodys_fault() -> None:
    """[MFP-8.2.3]"""
    desk = Desk()
    said, cancelled, late = desk.ask(), desk.ask(), desk.ask()
    desk.sent()
    left = [True]
    desk.asked.may_cancel = lambda: bool(left and left.pop())
    assert desk.asked.cancel(said)
    assert desk.asked.cancel(cancelled)
    assert desk.asked.due(10.0) == [RequestFailed(late, Service.TIMEOUT, False, 3)]
    assert desk.sent() == [ServiceFrame(id=4, code=Service.ABORT, ref=said, own=True)]
    assert (len(desk.asked), len(desk.asked.waiting), desk.asked.due(1e8)) == (2, 0, [])
    assert desk.asked.next_deadline is None
    assert desk.asked.cancel(cancelled) is False
    for id_, exchange in ((cancelled, 2), (late, 3)):
        answer = ResponseFrame(id=9, ref=id_)
        assert desk.asked.answered(answer) == ResponseReceived(id_, answer, exchange)
    assert len(desk.asked) == 0


def test_the_next_deadline_is_the_earliest() -> None:
    desk = Desk()
    desk.ask(7.0)
    desk.ask(5.0)
    assert desk.asked.next_deadline == pytest.approx(5.0)


def test_as_many_requests_as_allowed_and_one_more() -> None:
    """[MFP-9.3.1]"""
    desk = Desk(max_requests=2)
    desk.ask()
    desk.ask()
    desk.sent()
    with pytest.raises(LimitExceeded, match=r"3 is over the limit of 2 \(max_requests"):
        desk.ask()
    assert desk.sent() == []
    assert len(desk.asked) == 2


def test_a_request_too_big_for_a_frame_is_not_begun() -> None:
    """[MFP-9.3.1]"""
    desk = Desk(max_frame_bytes=64)
    with pytest.raises(LimitExceeded, match="stream"):
        desk.asked.ask(b"x" * 64, (), deadline=1.0, need_ack=False, checksum=False)
    assert (len(desk.asked), desk.sent(), desk.asked.next_deadline) == (0, [], None)


def test_a_request_may_wait_for_ever() -> None:
    desk = Desk()
    desk.ask(float("inf"))
    assert desk.asked.due(1e8) == []


def test_clearing_forgets_requests_and_their_deadlines() -> None:
    desk = Desk()
    desk.ask()
    desk.asked.clear()
    assert (len(desk.asked), desk.asked.due(99.0)) == (0, [])


def test_one_answer_to_what_we_gave_up_is_no_fault() -> None:
    """[MFP-8.8.2] Cancelled or timed out; not what the peer itself refused, or has answered."""
    desk = Desk()
    cancelled, timed_out, refused, answered = desk.ask(), desk.ask(), desk.ask(), desk.ask()
    desk.asked.failed(refused, Service.ABORT)
    desk.asked.answered(ResponseFrame(id=9, ref=answered))
    desk.asked.cancel(cancelled)
    desk.asked.due(99.0)
    late = [desk.asked.is_late(id_) for id_ in (cancelled, timed_out, refused, answered, 99)]
    assert late == [True, True, False, False, False]
    assert not desk.asked.is_late(cancelled)
    again = desk.ask()
    desk.asked.cancel(again)
    desk.asked.clear()
    assert not desk.asked.is_late(again)
