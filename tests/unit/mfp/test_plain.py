"""Frames as JSON values."""

import json
from typing import Any

import pytest

from framehub.codes import BinaryKind, Service
from framehub.errors import LocalProtocolError
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.plain import from_plain, to_plain

FRAMES: list[Frame] = [
    ServiceFrame(id=1, code=Service.PING, ref=1, own=True, checksum=True),
    MessageFrame(id=1),
    MessageFrame(id=1, payload=b"hi", files=((2, b"x"), (1, b""))),
    MessageFrame(id=1, expected=(5, 0), need_ack=True),
    MessageFrame(id=1, streaming=True),
    RequestFrame(id=1, payload=b"hi", checksum=True),
    ResponseFrame(id=1, ref=2, payload=b"hi"),
    BinaryFrame(id=1, ref=2, kind=BinaryKind.STREAMING, key=0, data=b"hi", final=False),
    BinaryFrame(id=1, ref=2),
]
REQUEST: dict[str, Any] = {"type": "request", "id": 1}
BINARY: dict[str, Any] = {"type": "binary", "id": 1, "ref_id": 2, "kind": "none"}


@pytest.mark.parametrize("frame", FRAMES, ids=repr)
def test_a_frame_survives_being_printed_and_read(frame: Frame) -> None:
    assert from_plain(json.loads(json.dumps(to_plain(frame)))) == frame


def test_absent_fields_are_left_out() -> None:
    assert to_plain(RequestFrame(id=1)) == {
        "type": "request",
        "id": 1,
        "flags": {"checksum": False, "need_ack": False},
    }


def test_flags_that_are_not_given_are_false() -> None:
    assert from_plain(REQUEST) == RequestFrame(id=1)
    assert from_plain(BINARY) == BinaryFrame(id=1, ref=2, final=False)


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        ([], "a frame is a JSON object"),
        ({}, "type: want one of service, message"),
        ({"type": "question"}, "type: want one of"),
        ({"type": ["request"]}, "type: want one of"),
        ({"type": "request"}, "id: want a number of 32 bits, got None"),
        (REQUEST | {"id": -1}, "id: want a number"),
        (REQUEST | {"id": 2**32}, "id: want a number"),
        (REQUEST | {"id": True}, "id: want a number"),
        (REQUEST | {"id": 1.0}, "id: want a number"),
        (REQUEST | {"flags": []}, "flags: want an object"),
        (REQUEST | {"flags": {"need_ack": 1}}, "flags.need_ack: want true or false, got 1"),
        (REQUEST | {"flags": {"loud": True}}, "unknown field flags.loud"),
        (REQUEST | {"zeal": 1, "noise": 1}, "unknown field noise"),
        (REQUEST | {"streaming": True}, "unknown field streaming"),
        (REQUEST | {"payload": "xyz"}, "payload: want hex digits"),
        (REQUEST | {"payload": 7}, "payload: want hex digits"),
        (REQUEST | {"files": {}}, "files: want a list"),
        (REQUEST | {"files": [[1, 0]]}, r"files: want \[key, size, hex\]"),
        (REQUEST | {"files": [7]}, r"files: want \[key, size, hex\]"),
        (REQUEST | {"files": [[1, 2, "aa"]]}, "files: size 2 declared, 1 bytes given"),
        (REQUEST | {"files": [["1", 1, "aa"]]}, "files: want a number"),
        (REQUEST | {"type": "message", "expected": 5}, "expected: want a list of numbers"),
        (REQUEST | {"type": "message", "expected": ["5"]}, "expected: want a number"),
        (REQUEST | {"type": "response"}, "ref_id: want a number"),
        (REQUEST | {"type": "service", "code": "ACK"}, "code: want one of ack, timeout"),
        (BINARY | {"kind": "file"}, "kind: want one of none, expected"),
        (BINARY | {"key": None}, "key: want a number"),
    ],
)
def test_a_wrong_field_is_named(plain: Any, reason: str) -> None:
    with pytest.raises(LocalProtocolError, match=f"^{reason}"):
        from_plain(plain)
