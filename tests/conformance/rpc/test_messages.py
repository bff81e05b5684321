"""Every message vector holds, both ways; what is no message is refused; the files are as the schema says."""

import json
from typing import Any

import msgspec
from msgspec import structs

from framehub.codes import Message
from framehub.rpc import messages
from framehub.rpc.messages import FIELDS, Way
from tests.conformance.rpc import vectors


def parts_of(case: Any) -> list[bytes]:
    return [bytes.fromhex(part) for part in case.parts]


def test_messages_are_read_as_the_vectors_say(message_case: Any) -> None:
    way = Way(message_case.way)
    assert messages.fault(way, parts_of(message_case)) is None
    assert messages.explain(way, parts_of(message_case)) == message_case.message


def test_messages_are_written_as_the_vectors_say(message_case: Any) -> None:
    written = messages.compose(Way(message_case.way), message_case.message)
    assert (written == parts_of(message_case)) is message_case.canonical


def test_other_parts_are_refused_with_a_reason(bad_message_case: Any) -> None:
    reason = messages.fault(Way(bad_message_case.way), parts_of(bad_message_case))
    assert reason is not None
    assert bad_message_case.reason in reason


def test_every_message_has_a_vector_in_every_direction(vector_files: dict[str, Any]) -> None:
    there = {(case.way, case.message["type"]) for case in vector_files["messages.json"].cases}
    assert there == {(way.value, type_.value) for way, types in FIELDS.items() for type_ in types}


def test_every_message_is_refused_where_it_does_not_belong(vector_files: dict[str, Any]) -> None:
    refused = {(case.way, *case.parts[:1]) for case in vector_files["malformed.json"].cases}
    strays = {
        (way.value, type_.encode().hex())
        for way, types in FIELDS.items()
        for type_ in Message
        if type_ not in types
    }
    assert strays <= refused


def test_the_schema_is_that_of_the_files() -> None:
    """Other languages check the files with it; here the classes in vectors.py do."""
    text = (vectors.VECTORS / "SCHEMA.json").read_text()
    assert json.loads(text) == json.loads(json.dumps(vectors.schema()))


def test_no_two_cases_have_one_name_or_one_body(vector_files: dict[str, Any]) -> None:
    for file in vector_files.values():
        names = [case.name for case in file.cases]
        assert len(set(names)) == len(names)
        bodies = [msgspec.json.encode(structs.replace(case, name="", rules=[])) for case in file.cases]
        assert len(set(bodies)) == len(bodies)
