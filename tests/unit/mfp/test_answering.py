"""Requests that the peer asked: each is answered at most once."""

from typing import Any

import pytest

from framehub.codes import Service
from framehub.errors import LimitExceeded
from framehub.mfp.answering import Answering
from framehub.mfp.events import RequestCancelled, RequestReceived
from framehub.mfp.frames import Frame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Desk:
    """The peer's requests with our outbox and memory."""

    def __init__(self, **limits: Any) -> None:
        settings = Settings(**limits, request_timeout=10.0)
        self.outbox = Outbox(settings, lambda _: False, first_id=1)
        self.past = Remembered(8)
        self.answering = Answering(settings, self.outbox, self.past)

    def open(self, id_: int, now: float = 0.0) -> RequestReceived | None:
        return self.answering.opened(RequestFrame(id=id_), id_ * 10, now)

    def respond(self, ref: int, payload: bytes = b"") -> tuple[int, int] | None:
        return self.answering.respond(ref, payload, (), need_ack=False, checksum=False)

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.outbox.drain()]


def test_a_request_is_answered_once() -> None:
    desk = Desk()
    assert desk.open(5) == RequestReceived(RequestFrame(id=5), 50)
    assert 5 in desk.answering.working
    assert desk.respond(5) == (1, 50)
    assert desk.respond(5) is None
    assert desk.sent() == [ResponseFrame(id=1, ref=5)]
    assert desk.past.get(5) == 50


def test_a_refusal_is_an_abort_about_the_peers_id() -> None:
    """[MFP-8.2.4]"""
    desk = Desk()
    desk.open(5)
    assert desk.answering.refuse(5)
    assert not desk.answering.refuse(5)
    assert desk.sent() == [ServiceFrame(id=1, code=Service.ABORT, ref=5)]


def test_after_the_peer_gave_up_nothing_is_sent() -> None:
    """[MFP-8.2.5]"""
    desk = Desk()
    desk.open(5)
    assert desk.answering.cancelled(5, Service.TIMEOUT) == RequestCancelled(5, Service.TIMEOUT, True, 50)
    assert desk.answering.cancelled(5, Service.TIMEOUT) is None
    assert desk.respond(5) is None
    assert desk.sent() == []


def test_our_own_time_limit_is_said_without_the_own_bit() -> None:
    """[MFP-8.2.4] [MFP-8.3.1]"""
    desk = Desk()
    desk.open(5, now=1.0)
    assert desk.answering.next_deadline == pytest.approx(11.0)
    assert desk.answering.due(10.99) == []
    assert desk.answering.due(11.0) == [RequestCancelled(5, Service.TIMEOUT, False, 50)]
    assert desk.sent() == [ServiceFrame(id=1, code=Service.TIMEOUT, ref=5)]


def test_as_many_requests_as_allowed_and_one_more() -> None:
    """[MFP-8.2.6]"""
    desk = Desk(max_requests=2)
    assert desk.open(1)
    assert desk.open(2)
    assert desk.open(3) is None
    assert desk.sent() == [ServiceFrame(id=1, code=Service.ABORT, ref=3)]
    assert len(desk.answering) == 2
    assert desk.past.get(3) == 30


def test_an_answer_too_big_leaves_the_request_open() -> None:
    """[MFP-9.3.1] So that an error can be sent in its place."""
    desk = Desk(max_frame_bytes=64)
    desk.open(5)
    with pytest.raises(LimitExceeded):
        desk.respond(5, b"x" * 64)
    assert desk.respond(5, b"too big") == (1, 50)


def test_clearing_forgets_requests_and_their_deadlines() -> None:
    desk = Desk()
    desk.open(5)
    desk.answering.clear()
    assert (len(desk.answering), desk.answering.due(99.0)) == (0, [])
