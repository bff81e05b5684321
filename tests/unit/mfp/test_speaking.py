"""What the owner of a connection can ask, tell, answer and give up."""

from typing import Any

import pytest

from framehub.codes import Service
from framehub.errors import ConnectionClosed, LimitExceeded, LocalProtocolError
from framehub.mfp import codec
from framehub.mfp.connection import Connection, Received
from framehub.mfp.events import Acknowledged
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ServiceFrame
from framehub.mfp.outbox import FRAME_OVERHEAD
from framehub.mfp.settings import Settings


class Machine(Connection):
    """A connection that is fed with frames instead of bytes."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(Settings(**limits))

    def take(self, frame: Frame, now: float = 0.0) -> Received:
        return self.receive(codec.encode(frame), now)

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.drain()]


def about(code: Service, ref: int, *, own: bool = False) -> ServiceFrame:
    return ServiceFrame(id=77, code=code, ref=ref, own=own)


def test_nothing_over_a_limit_is_sent() -> None:
    """[MFP-9.3.1]"""
    machine = Machine(max_frame_bytes=64, max_files=1)
    big = b"x" * (65 - FRAME_OVERHEAD)
    ref = machine.message(b"", expected=(1,))
    machine.sent()
    with pytest.raises(LimitExceeded):
        machine.message(big)
    with pytest.raises(LimitExceeded):
        machine.request(big, now=0.0)
    with pytest.raises(LimitExceeded):
        machine.message(b"", expected=(1, 2))
    with pytest.raises(LimitExceeded):
        machine.file(ref, 1, big)
    assert machine.sent() == []
    assert machine.file(ref, 1, big[:-1]) == 2


def test_a_message_that_cannot_be_changes_nothing() -> None:
    machine = Machine()
    with pytest.raises(LocalProtocolError):
        machine.message(b"", ((1, b""),), expected=(2,))
    assert (machine.sent(), machine.pending) == ([], 0)


def test_the_last_missing_file_ends_the_message() -> None:
    """[MFP-6.4]"""
    machine = Machine()
    id_ = machine.message(b"", expected=(1, 2))
    machine.file(id_, 2, b"b", need_ack=True)
    machine.file(id_, 1, b"a")
    finals = [frame.final for frame in machine.sent() if isinstance(frame, BinaryFrame)]
    assert finals == [False, True]
    assert machine.take(about(Service.ACK, 2)).event == Acknowledged(2, 1)
    with pytest.raises(LocalProtocolError, match="does not wait for file 1"):
        machine.file(id_, 1, b"a")


def test_an_answer_may_be_acknowledged() -> None:
    machine = Machine()
    machine.take(RequestFrame(id=9))
    id_ = machine.respond(9, b"", need_ack=True)
    assert id_ is not None
    assert machine.take(about(Service.ACK, id_)).event == Acknowledged(id_, 1)


def test_an_answer_that_nobody_waits_for_is_not_sent() -> None:
    machine = Machine()
    assert machine.respond(9, b"") is None
    assert machine.sent() == []


def test_an_id_of_ours_that_lives_is_not_used_again() -> None:
    """[MFP-8.1.1]"""
    machine = Connection(Settings(), first_id=2**32 - 1)
    announced = machine.message(b"", expected=(1,))
    asked = machine.request(b"", now=0.0)
    acknowledged = machine.message(b"", need_ack=True)
    ping = machine.ping(0.0)
    assert [announced, asked, acknowledged, ping] == [2**32 - 1, 1, 2, 3]
    machine.outbox._ids._next = 2**32 - 1
    assert machine.message(b"") == 4


def test_closing_forgets_everything_and_ends_sending() -> None:
    """[MFP-9.3]"""
    machine = Machine()
    machine.request(b"", now=0.0, need_ack=True)
    machine.message(b"", expected=(1,))
    machine.ping(0.0)
    machine.take(RequestFrame(id=1))
    machine.take(MessageFrame(id=2, expected=(1,)))
    machine.take(MessageFrame(id=3, streaming=True))
    machine.message(b"", streaming=True)
    assert (machine.pending, machine.taken) == (8, 2)
    machine.close()
    assert (machine.pending, machine.next_deadline, machine.drain(), machine.tick(99.0)) == (0, None, [], [])
    with pytest.raises(ConnectionClosed):
        machine.message(b"")


def test_what_nobody_waits_for_any_more_is_forgotten_and_its_late_answer_ignored() -> None:
    ours = Connection(Settings())
    ping = ours.ping(0.0)
    told = ours.message(b"x", need_ack=True)
    assert ours.pending == 2
    ours.forget(ping)
    ours.forget(told)
    ours.forget(99)
    assert ours.pending == 0
    for ref, exchange in ((ping, 1), (told, 2)):
        late = ours.receive(codec.encode(ServiceFrame(id=7, code=Service.ACK, ref=ref)), 1.0)
        assert (late.exchange, late.event) == (exchange, None)
    assert ours.ignored == 0


def test_a_stream_that_is_given_up_waits_for_no_ack_of_its_opening() -> None:
    """[MFP-8.6.5]"""
    machine = Machine()
    ref = machine.message(b"", streaming=True, need_ack=True)
    assert machine.give_up(ref)
    assert not machine.give_up(ref)
    assert machine.sent()[1:] == [ServiceFrame(id=2, code=Service.ABORT, ref=ref, own=True)]
    assert machine.pending == 0


def test_an_announced_message_is_telling_until_it_is_refused() -> None:
    ours = Connection(Settings())
    ref = ours.message(b"x", expected=(1, 2))
    assert ours.is_telling(ref)
    ours.receive(codec.encode(ServiceFrame(id=7, code=Service.ABORT, ref=ref)), 1.0)
    assert not ours.is_telling(ref)


def test_sizes_are_enough_to_know_what_does_not_fit() -> None:
    """[MFP-9.3.1]"""
    machine = Machine(max_frame_bytes=100)
    machine.check_sizes(100 - FRAME_OVERHEAD - 8, [0])
    with pytest.raises(LimitExceeded, match="101 is over the limit of 100"):
        machine.check_sizes(100 - FRAME_OVERHEAD - 8, [1])


def test_an_announced_message_that_can_never_be_whole_is_known_before_it_begins() -> None:
    """[MFP-9.3.1] Whatever else waits at present."""
    machine = Machine(max_frame_bytes=100, max_waiting_bytes=100)
    machine.message(b"x" * 60, expected=(1,))
    machine.check_announced(10, [45, 45])
    with pytest.raises(LimitExceeded, match=r"101 is over the limit of 100 \(max_waiting_bytes"):
        machine.check_announced(10, [45, 46])
    with pytest.raises(LimitExceeded, match=r"max_frame_bytes"):
        machine.check_announced(10, [101 - FRAME_OVERHEAD])
