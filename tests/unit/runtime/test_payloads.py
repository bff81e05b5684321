"""Envelopes with their files, packed and opened."""

import pytest

from framehub.codes import BinaryKind, Service
from framehub.mfp.envelope import BadEnvelope, Envelope
from framehub.mfp.events import MessageReceived
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.runtime.files import File
from framehub.runtime.payloads import labels, open_payload, pack, unpack

FILES = {4: File(b"four", "four.txt", "text/plain"), 2: File(b"")}


def test_what_was_packed_is_unpacked() -> None:
    payload, blobs = pack("chat", {"n": 1}, FILES)
    assert blobs == ((4, b"four"), (2, b""))
    opened = open_payload(RequestFrame(1, payload, blobs), None)
    assert isinstance(opened, Envelope)
    assert (opened.endpoint, opened.data) == ("chat", {"n": 1})
    assert unpack(blobs, opened) == FILES


def test_without_files_there_is_nothing_to_name() -> None:
    payload, blobs = pack("chat", 5, None)
    assert (payload, blobs) == (b'{"endpoint":"chat","data":5}', ())


@pytest.mark.parametrize(
    "frame",
    [
        ServiceFrame(id=1, code=Service.ACK, ref=2),
        BinaryFrame(id=1, ref=2, kind=BinaryKind.DATA, data=b'{"endpoint":"chat"}'),
    ],
)
def test_some_frames_have_no_payload_to_look_into(frame: Frame) -> None:
    assert open_payload(frame, None) is None
    assert labels(None) == (None, None)


@pytest.mark.parametrize("frame", [RequestFrame(1), ResponseFrame(1, 2), MessageFrame(id=1)])
def test_others_should_have_one(frame: Frame) -> None:
    assert isinstance(open_payload(frame, None), BadEnvelope)


def test_files_that_are_yet_to_come_may_be_named_ahead() -> None:
    payload, blobs = pack("chat", 1, FILES)
    ahead = MessageFrame(id=1, payload=payload, expected=(2, 4))
    assert isinstance(open_payload(ahead, None), Envelope)
    assert isinstance(open_payload(MessageFrame(id=1, payload=payload, streaming=True), None), Envelope)
    assert isinstance(open_payload(MessageFrame(id=1, payload=payload), None), BadEnvelope)
    whole = MessageFrame(id=1, payload=payload, files=blobs)
    assert isinstance(open_payload(ahead, MessageReceived(whole, 1)), Envelope)


def test_the_journal_is_told_the_endpoint_and_the_name_of_an_error() -> None:
    payload, _ = pack("chat", None, None, error={"code": "busy", "message": "later"})
    assert labels(open_payload(ResponseFrame(1, 2, payload), None)) == ("chat", "busy")
