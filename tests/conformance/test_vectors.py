"""Every vector holds, both ways: bytes to values and values to bytes."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from framehub import errors
from framehub.errors import LocalProtocolError, MalformedFrame
from framehub.mfp import codec, envelope, plain
from framehub.mfp.checksum import Checksums
from framehub.mfp.envelope import BadEnvelope
from framehub.mfp.frames import BinaryFrame, ServiceFrame

SCHEMA = Path(__file__).parents[2] / "spec" / "vectors" / "SCHEMA.json"


def agreed(case: Any) -> Checksums:
    return Checksums(case.checksum.mode, case.checksum.algorithm)


def test_frames_are_read_as_the_vectors_say(frame_case: Any) -> None:
    frame = codec.decode(
        bytes.fromhex(frame_case.hex), agreed(frame_case), verify_always=frame_case.verify_always
    )
    assert plain.to_plain(frame) == frame_case.frame
    assert frame == plain.from_plain(frame_case.frame)


def test_frames_are_written_as_the_vectors_say(frame_case: Any) -> None:
    data = bytes.fromhex(frame_case.hex)
    written = codec.encode(plain.from_plain(frame_case.frame), agreed(frame_case))
    assert (written == data) is frame_case.canonical
    if frame_case.asked is not None:
        assert codec.encode(plain.from_plain(frame_case.asked), agreed(frame_case)) == data


def test_other_bytes_are_refused_with_reason_and_offset(malformed_case: Any) -> None:
    most: dict[str, Any] = {"verify_always": malformed_case.verify_always}
    if malformed_case.max_files is not None:
        most["max_files"] = malformed_case.max_files
    if malformed_case.max_payload is not None:
        most["max_payload"] = malformed_case.max_payload
    with pytest.raises(MalformedFrame) as caught:
        codec.decode(bytes.fromhex(malformed_case.hex), agreed(malformed_case), **most)
    assert type(caught.value) is getattr(errors, malformed_case.error.type)
    assert malformed_case.error.reason in caught.value.reason
    assert caught.value.offset == malformed_case.error.offset


def test_what_no_frame_can_carry_is_not_sent(unsendable_case: Any) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        codec.encode(plain.from_plain(unsendable_case.frame), agreed(unsendable_case))
    assert unsendable_case.reason in str(caught.value)


def test_envelopes_say_what_the_vectors_say(envelope_case: Any) -> None:
    case = envelope_case
    payload = bytes.fromhex(case.payload_hex) if case.payload is None else case.payload.encode()
    files = tuple((key, b"") for key in case.files)
    if case.envelope is None:
        with pytest.raises(BadEnvelope) as caught:
            envelope.decode(payload, files)
        assert case.reason in str(caught.value)
        return
    assert json.loads(msgspec.json.encode(envelope.decode(payload, files))) == case.envelope
    names = {key: (name, type_) for key, name, type_ in case.envelope.get("filemap", [])}
    given = {key: case.envelope[key] for key in ("data", "error") if key in case.envelope}
    written = envelope.encode(case.envelope["endpoint"], **given, names=names)
    assert (written == payload) is case.canonical


def test_envelopes_are_found_in_their_frames(envelope_case: Any) -> None:
    if envelope_case.hex is not None:
        frame = codec.decode(bytes.fromhex(envelope_case.hex), agreed(envelope_case))
        assert not isinstance(frame, ServiceFrame | BinaryFrame)
        assert frame.payload == envelope_case.payload.encode()
        assert [key for key, _ in frame.files] == envelope_case.files
        assert codec.encode(frame, agreed(envelope_case)) == bytes.fromhex(envelope_case.hex)


def test_the_schema_is_that_of_the_files(vector_schema: dict[str, Any]) -> None:
    """Other languages check the files with it; here the classes in conftest.py do."""
    assert json.loads(SCHEMA.read_text()) == json.loads(json.dumps(vector_schema))


def test_no_two_cases_have_one_name_or_one_body(vector_files: dict[str, Any]) -> None:
    for kind in {type(file) for file in vector_files.values()}:
        cases = [case for file in vector_files.values() if type(file) is kind for case in file.cases]
        names = [case.name for case in cases]
        assert len(set(names)) == len(names)
        bodies = [msgspec.json.encode(msgspec.structs.replace(case, name="", rules=[])) for case in cases]
        assert len(set(bodies)) == len(bodies)


def shape(value: Any) -> Any:
    """What is left of a case without its numbers: of bytes the head of the frame and how many there are."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if key != "name"}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    if isinstance(value, str):
        if re.fullmatch("[0-9a-f]{2}( ?[0-9a-f]{2})*", value):
            return f"{value[:2]} and {len(value.replace(' ', ''))} digits"
        return re.sub("[0-9]+", "#", value) if not value.startswith("MFP-") else value
    return 0 if type(value) in (int, float) else value


def test_no_two_cases_differ_only_in_numbers(vector_files: dict[str, Any]) -> None:
    """Two of one shape are there for different rules."""
    for kind in {type(file) for file in vector_files.values()}:
        cases = [case for file in vector_files.values() if type(file) is kind for case in file.cases]
        shapes = [json.dumps(shape(msgspec.to_builtins(case)), sort_keys=True) for case in cases]
        again = [case.name for case, own in zip(cases, shapes, strict=True) if shapes.count(own) > 1]
        assert again == []
