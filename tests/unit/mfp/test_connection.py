"""The rules of one connection. Most conversations are in the vectors; here is what its owner sees."""

from math import inf
from typing import Any

import pytest

from framehub.codes import BinaryKind, CloseCode, Service
from framehub.errors import (
    MalformedFrame,
    RemoteProtocolError,
)
from framehub.mfp import codec
from framehub.mfp.checksum import BY_FLAG, Checksums
from framehub.mfp.connection import Connection, Received
from framehub.mfp.events import (
    ConnectionOver,
    MessageReceived,
    MessageRefused,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    StreamChunk,
)
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.settings import Settings


class Machine(Connection):
    """A connection that is fed with frames instead of bytes."""

    def __init__(self, checksums: Checksums = BY_FLAG, **limits: Any) -> None:
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


def test_the_next_deadline_is_that_of_whatever_comes_first() -> None:
    machine = Machine(keepalive=inf)
    assert machine.next_deadline is None
    machine.take(MessageFrame(id=1, expected=(1,)), now=5.0)
    assert machine.next_deadline == pytest.approx(35.0)
    machine.take(RequestFrame(id=2), now=4.0)
    assert machine.next_deadline == pytest.approx(34.0)
    machine.request(b"", now=0.0, timeout=1.0)
    assert machine.next_deadline == pytest.approx(1.0)


def test_the_first_look_at_a_connection_is_due_at_once() -> None:
    """[MFP-8.7.1] So that the silence of a peer that never said anything is counted too."""
    machine = Machine(keepalive=5.0)
    assert machine.next_deadline == 0.0
    assert machine.tick(100.0) == []
    assert machine.next_deadline == 105.0


def test_the_time_of_every_frame_counts_and_only_that() -> None:
    """[MFP-8.7.1]"""
    frames: list[Frame] = [
        MessageFrame(id=1),
        RequestFrame(id=2),
        ResponseFrame(id=3, ref=9),
        BinaryFrame(id=4, ref=9),
        about(Service.PING, 77, own=True),
        about(Service.ACK, 9),
    ]
    for frame in frames:
        machine = Machine(keepalive=5.0)
        machine.tick(0.0)
        machine.take(frame, now=4.0)
        machine.sent()
        machine.tick(8.9)
        assert machine.sent() == []
        machine.tick(9.0)
        assert [sent.code for sent in machine.sent() if isinstance(sent, ServiceFrame)] == [Service.PING]


def test_requests_that_wait_keep_a_connection_from_being_idle() -> None:
    """[MFP-8.7.4] They have a time limit of their own."""
    machine = Machine(keepalive=inf, idle_timeout=5.0, request_timeout=1000.0)
    asked = machine.request(b"", now=0.0)
    machine.take(RequestFrame(id=1), now=0.0)
    for now in range(0, 50, 5):
        assert machine.tick(now) == []
    machine.take(ResponseFrame(id=2, ref=asked), now=45.0)
    assert machine.tick(50.0) == []
    machine.respond(1, b"")
    assert machine.tick(55.0) == []
    assert machine.tick(60.0) == [ConnectionOver(CloseCode.OK, "not used for 5 s")]


def test_a_refusal_is_of_what_used_the_id_last() -> None:
    """[MFP-8.2.7] Also when ids have wrapped and a message had it before."""
    machine = Machine()
    told = machine.message(b"")
    machine.outbox._ids._next = told
    assert machine.request(b"", now=0.0) == told
    assert machine.cancel(told)
    late = about(Service.ABORT, told)
    assert machine.take(late) == Received(late, 2, None)


def test_what_is_asked_of_us_and_by_us_comes_as_events() -> None:
    machine = Machine()
    assert machine.take(MessageFrame(id=1)).event == MessageReceived(MessageFrame(id=1), 1)
    assert machine.take(RequestFrame(id=2)).event == RequestReceived(RequestFrame(id=2), 2)
    asked = machine.request(b"", now=0.0)
    answer = ResponseFrame(id=3, ref=asked)
    assert machine.take(answer).event == ResponseReceived(asked, answer, 3)


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


def test_a_late_ack_of_a_chunk_is_ignored_and_not_counted_against_the_peer() -> None:
    machine = Machine()
    stream = machine.message(b"", streaming=True, need_ack=True)
    chunk = machine.chunk(stream, b"x", need_ack=True)
    for id_ in (stream, chunk):
        machine.forget(id_)
        assert machine.take(about(Service.ACK, id_)) == Received(about(Service.ACK, id_), 1, None)
    assert machine.ignored == 0


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
