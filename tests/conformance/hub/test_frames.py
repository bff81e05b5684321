"""Every frame vector holds, both ways; what is no frame is refused; the files are as the schema says."""

import json
from typing import Any

import msgspec
import pytest
from msgspec import structs

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import MalformedFrame
from framehub.hub.headers import Way, decode, encode
from tests.conformance.hub import vectors
from tests.conformance.hub.vectors import BadFrameCase, FrameCase


def test_frames_are_read_as_the_vectors_say(hub_frame_case: FrameCase) -> None:
    data = bytes.fromhex(hub_frame_case.hex)
    assert decode(data, hub_frame_case.version, Way(hub_frame_case.way)) == hub_frame_case.frame.frame()


def test_frames_are_written_as_the_vectors_say(hub_frame_case: FrameCase) -> None:
    written = encode(hub_frame_case.frame.frame(), hub_frame_case.version, Way(hub_frame_case.way))
    assert written == bytes.fromhex(hub_frame_case.hex)


def test_other_bytes_are_refused_with_a_reason(bad_hub_frame_case: BadFrameCase) -> None:
    case = bad_hub_frame_case
    with pytest.raises(MalformedFrame) as caught:
        decode(bytes.fromhex(case.hex), case.version, Way(case.way))
    assert case.reason in caught.value.reason
    assert caught.value.offset == case.offset


def test_every_state_goes_each_way_that_it_may(hub_files: dict[str, Any]) -> None:
    there = {(case.version, case.way, case.frame.state) for case in hub_files["frames.json"].cases}
    both = {HubState.FIRST, HubState.MESSAGE, HubState.LAST, HubState.COMMAND}
    ways = {
        "client-hub": both,
        "service-hub": both | {HubState.SERVICE_ERROR},
        "hub-service": both,
        "hub-client": both - {HubState.FIRST} | {HubState.SERVICE_ERROR, HubState.STREAM_ERROR},
    }
    wanted = {
        (version, way, state.name) for version in (1, 2) for way, states in ways.items() for state in states
    }
    assert wanted <= there


def test_every_command_and_every_error_has_a_vector(hub_files: dict[str, Any]) -> None:
    there = {
        (case.version, case.frame.state, case.frame.parameter) for case in hub_files["frames.json"].cases
    }
    commands = {(version, "COMMAND", int(command)) for version in (1, 2) for command in HubCommand}
    errors = {(version, "STREAM_ERROR", int(code)) for version in (1, 2) for code in HubError}
    assert commands | errors <= there


def test_the_schema_is_that_of_the_files() -> None:
    """Other languages check the files with it; here the classes in vectors.py do."""
    text = (vectors.VECTORS / "SCHEMA.json").read_text()
    assert json.loads(text) == json.loads(json.dumps(vectors.schema()))


def test_no_two_cases_have_one_name_or_one_body(hub_files: dict[str, Any]) -> None:
    for file in hub_files.values():
        names = [case.name for case in file.cases]
        assert len(set(names)) == len(names)
        bodies = [msgspec.json.encode(structs.replace(case, name="", rules=[])) for case in file.cases]
        assert len(set(bodies)) == len(bodies)
