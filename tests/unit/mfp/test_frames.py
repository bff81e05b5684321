"""Frames are values: equal when they say the same, and never changed."""

import pytest

from framehub.codes import BinaryKind, Service
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame

FRAMES: list[Frame] = [
    ServiceFrame(id=1, code=Service.ACK, ref=2),
    MessageFrame(id=1),
    RequestFrame(id=1),
    ResponseFrame(id=1, ref=2),
    BinaryFrame(id=1, ref=2),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_cannot_be_changed(frame: Frame) -> None:
    with pytest.raises(AttributeError):
        frame.id = 2  # type: ignore[misc]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_has_a_checksum_only_when_asked(frame: Frame) -> None:
    assert frame.checksum is False


def test_two_types_with_the_same_fields_are_not_the_same() -> None:
    request: Frame = RequestFrame(id=1, payload=b"x")
    message: Frame = MessageFrame(id=1, payload=b"x")
    assert request != message


def test_a_binary_frame_is_the_last_one_unless_said_otherwise() -> None:
    frame = BinaryFrame(id=1, ref=2)
    assert (frame.kind, frame.key, frame.final) == (BinaryKind.NONE, None, True)
