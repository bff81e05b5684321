"""The rules of one connection. Most conversations are in the vectors; here is what its owner sees."""

import pytest

from framehub.codes import BinaryKind, Service
from framehub.errors import (
    ConnectionClosed,
    LimitExceeded,
    LocalProtocolError,
    MalformedFrame,
    RemoteProtocolError,
)
from framehub.mfp import codec
from framehub.mfp.checksum import BY_FLAG, Checksums
from framehub.mfp.connection import Connection, Received
from framehub.mfp.events import (
    Acknowledged,
    MessageReceived,
    MessageRefused,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    StreamChunk,
)
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.outbox import FRAME_OVERHEAD
from framehub.mfp.settings import Settings


class Machine(Connection):
    """A connection that is fed with frames instead of bytes."""

    def __init__(self, checksums: Checksums = BY_FLAG, **limits: int) -> None:
        super().__init__(Settings(checksums=checksums, **limits))

    def take(self, frame: Frame, now: float = 0.0) -> Received:
        return self.receive(codec.encode(frame, self.settings.checksums), now)

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.drain()]


def about(code: Service, ref: int, *, own: bool = False) -> ServiceFrame:
    return ServiceFrame(id=77, code=code, ref=ref, own=own)


@pytest.mark.parametrize("size", [64, 65])
def test_a_frame_as_long_as_allowed_and_one_byte_more(size: int) -> None:
    """[MFP-9.3.2]"""
    machine = Machine(max_frame_bytes=64)
    data = codec.encode(MessageFrame(id=1, payload=b"x" * (size - 9)))
    if size == 64:
        assert machine.receive(data, 0.0).event
        return
    with pytest.raises(RemoteProtocolError, match="65 bytes, over max_frame_bytes"):
        machine.receive(data, 0.0)


def test_more_files_than_allowed_are_no_frame() -> None:
    machine = Machine(max_files=1)
    with pytest.raises(MalformedFrame, match="at most 1"):
        machine.take(MessageFrame(id=1, expected=(1, 2)))


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


def test_every_frame_of_an_exchange_has_its_number() -> None:
    machine = Machine()
    machine.message(b"other")
    asked = machine.request(b"", now=0.0, need_ack=True)
    assert machine.take(about(Service.ACK, asked)).exchange == 2
    assert machine.take(ResponseFrame(id=5, ref=asked, need_ack=True)).exchange == 2
    assert machine.take(ResponseFrame(id=6, ref=asked)).exchange == 2
    assert [outgoing.exchange for outgoing in machine.drain()] == [1, 2, 2, 2]


def test_frames_about_nothing_have_no_exchange() -> None:
    """[MFP-8.1.6]"""
    machine = Machine()
    assert machine.take(ResponseFrame(id=5, ref=9)).exchange == 0
    assert machine.take(BinaryFrame(id=6, ref=9)).exchange == 0
    assert machine.take(about(Service.ACK, 9)).exchange == 0
    assert machine.ignored == 1


def test_frames_about_the_past_are_known_and_harmless() -> None:
    machine = Machine()
    told = machine.message(b"")
    asked = machine.request(b"", now=0.0)
    machine.cancel(asked)
    for code in (Service.ACK, Service.TIMEOUT, Service.UNKNOWN):
        for ref, exchange in ((told, 1), (asked, 2)):
            received = machine.take(about(code, ref))
            assert (received.exchange, received.event) == (exchange, None)
    assert machine.ignored == 0


def test_a_refusal_of_a_message_is_told_once() -> None:
    """[MFP-8.2.7]"""
    machine = Machine()
    id_ = machine.message(b"", need_ack=True)
    assert machine.take(about(Service.ABORT, id_)).event == MessageRefused(id_, 1)
    assert machine.take(about(Service.ABORT, id_)).event is None
    assert machine.pending == 0


def test_a_message_can_be_refused_after_its_last_file() -> None:
    machine = Machine()
    id_ = machine.message(b"", expected=(1,))
    machine.file(id_, 1, b"")
    assert machine.take(about(Service.ABORT, id_)).event == MessageRefused(id_, 1)


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


def test_a_file_for_a_message_of_one_frame_is_unknown_in_its_exchange() -> None:
    """[MFP-8.4.3]"""
    machine = Machine()
    machine.take(MessageFrame(id=9))
    assert machine.take(BinaryFrame(id=10, ref=9)).exchange == 1
    assert [(out.frame, out.exchange) for out in machine.drain()] == [
        (ServiceFrame(id=1, code=Service.UNKNOWN, ref=9), 1)
    ]


def test_a_settled_request_waits_for_no_ack() -> None:
    machine = Machine()
    cancelled = machine.request(b"", now=0.0, need_ack=True)
    failed = machine.request(b"", now=0.0, need_ack=True)
    late = machine.request(b"", now=0.0, timeout=1.0, need_ack=True)
    machine.cancel(cancelled)
    machine.take(about(Service.ABORT, failed))
    assert machine.tick(2.0) == [RequestFailed(late, Service.TIMEOUT, False, 3)]
    assert machine.pending == 0


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


def test_the_next_deadline_is_that_of_whatever_comes_first() -> None:
    machine = Machine()
    assert machine.next_deadline is None
    machine.take(MessageFrame(id=1, expected=(1,)), now=5.0)
    assert machine.next_deadline == pytest.approx(35.01)
    machine.take(RequestFrame(id=2), now=4.0)
    assert machine.next_deadline == pytest.approx(34.0)
    machine.request(b"", now=0.0, timeout=1.0)
    assert machine.next_deadline == pytest.approx(1.01)


def test_an_id_of_ours_that_lives_is_not_used_again() -> None:
    """[MFP-8.1.1]"""
    machine = Connection(Settings(), first_id=2**32 - 1)
    announced = machine.message(b"", expected=(1,))
    asked = machine.request(b"", now=0.0)
    acknowledged = machine.message(b"", need_ack=True)
    ping = machine.ping(0.0)
    assert [announced, asked, acknowledged, ping] == [2**32 - 1, 1, 2, 3]
    machine._outbox._ids._next = 2**32 - 1
    assert machine.message(b"") == 4


def test_a_refusal_is_of_what_used_the_id_last() -> None:
    """[MFP-8.2.7] Also when ids have wrapped and a message had it before."""
    machine = Machine()
    told = machine.message(b"")
    machine._outbox._ids._next = told
    assert machine.request(b"", now=0.0) == told
    assert machine.cancel(told)
    late = about(Service.ABORT, told)
    assert machine.take(late) == Received(late, 2, None)


def test_an_exchange_is_of_what_used_the_id_last() -> None:
    """Also when the peer's ids have wrapped."""
    machine = Machine()
    machine.take(RequestFrame(id=9))
    machine.refuse(9)
    machine.take(MessageFrame(id=9))
    machine.refuse(9)
    machine.take(RequestFrame(id=9))
    machine.refuse(9)
    assert [out.exchange for out in machine.drain()] == [1, 2, 3]
    machine.take(BinaryFrame(id=10, ref=9))
    assert [out.exchange for out in machine.drain()] == [3]


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
    assert machine.pending == 8
    machine.close()
    assert (machine.pending, machine.next_deadline, machine.drain(), machine.tick(99.0)) == (0, None, [], [])
    with pytest.raises(ConnectionClosed):
        machine.message(b"")


def test_what_is_asked_of_us_and_by_us_comes_as_events() -> None:
    machine = Machine()
    assert machine.take(MessageFrame(id=1)).event == MessageReceived(MessageFrame(id=1), 1)
    assert machine.take(RequestFrame(id=2)).event == RequestReceived(RequestFrame(id=2), 2)
    asked = machine.request(b"", now=0.0)
    answer = ResponseFrame(id=3, ref=asked)
    assert machine.take(answer).event == ResponseReceived(asked, answer, 3)


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


def test_a_late_ack_of_a_chunk_is_ignored_and_not_counted_against_the_peer() -> None:
    machine = Machine()
    stream = machine.message(b"", streaming=True, need_ack=True)
    chunk = machine.chunk(stream, b"x", need_ack=True)
    for id_ in (stream, chunk):
        machine.forget(id_)
        assert machine.take(about(Service.ACK, id_)) == Received(about(Service.ACK, id_), 1, None)
    assert machine.ignored == 0


def test_a_stream_that_is_given_up_waits_for_no_ack_of_its_opening() -> None:
    """[MFP-8.6.5]"""
    machine = Machine()
    ref = machine.message(b"", streaming=True, need_ack=True)
    assert machine.give_up(ref)
    assert not machine.give_up(ref)
    assert machine.sent()[1:] == [ServiceFrame(id=2, code=Service.ABORT, ref=ref, own=True)]
    assert machine.pending == 0


def test_every_frame_of_a_stream_has_its_exchange() -> None:
    """[MFP-8.6.1]"""
    machine = Machine()
    machine.message(b"other")
    machine.take(MessageFrame(id=7, streaming=True))
    chunk = BinaryFrame(id=8, ref=7, kind=BinaryKind.STREAMING, key=0, data=b"x", final=False, need_ack=True)
    assert machine.take(chunk) == Received(chunk, 2, StreamChunk(chunk, 2))
    assert machine.abort_stream(7)
    assert machine.take(chunk) == Received(chunk, 2, None)
    assert [outgoing.exchange for outgoing in machine.drain()] == [1, 2, 2, 2]


def test_an_announced_message_is_telling_until_it_is_refused() -> None:
    ours = Connection(Settings())
    ref = ours.message(b"x", expected=(1, 2))
    assert ours.is_telling(ref)
    ours.receive(codec.encode(ServiceFrame(id=7, code=Service.ABORT, ref=ref)), 1.0)
    assert not ours.is_telling(ref)
