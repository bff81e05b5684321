"""Messages by their parts; the vectors of spec/vectors/rpc have the rest."""

from typing import Any

import pytest

from framehub.codes import Message
from framehub.errors import LocalProtocolError
from framehub.rpc import messages, words
from framehub.rpc.messages import FIELDS, MAX_DESCRIPTION, MAX_FUNCTIONS, MAX_PARTS, Way, counts, room

QUERY: dict[str, Any] = {"type": "QUERY", "id": "01", "argument": "", "function": "f"}


def test_the_type_is_the_first_part() -> None:
    assert messages.type_of([b"HEART_BEAT"]) is Message.HEART_BEAT
    assert messages.type_of([b"heart_beat"]) is None
    assert messages.type_of([]) is None


def test_every_type_goes_somewhere() -> None:
    assert {type_ for types in FIELDS.values() for type_ in types} == set(Message)


@pytest.mark.parametrize(
    ("part", "found"), [(b"", None), (b"x", b"x"), (b"x" * 64, b"x" * 64), (b"x" * 65, None)]
)
def test_an_id_is_read_where_one_could_be(part: bytes, found: bytes | None) -> None:
    assert messages.readable_id([b"NONSENSE", part]) == found
    assert messages.readable_id([b"NONSENSE"]) is None


def test_a_registration_of_1024_functions_is_lawful_and_one_more_is_not() -> None:
    """[RPC-2.4] And it has as many parts as any message may have."""
    most = messages.registration([(f"f{number}", "Int", "Int") for number in range(MAX_FUNCTIONS)])
    assert messages.fault(Way.WORKER_TO_PROXY, most) is None
    assert len(most) == MAX_PARTS
    more = messages.registration([(f"f{number}", "Int", "Int") for number in range(MAX_FUNCTIONS + 1)])
    assert "1025 functions are over the limit" in str(messages.fault(Way.WORKER_TO_PROXY, more))


def test_functions_of_a_registration_come_back() -> None:
    parts = messages.registration([("f", "Int", "Long"), ("g", "", "json")])
    assert messages.functions_of(parts) == [(b"f", b"Int", b"Long"), (b"g", b"", b"json")]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, "type None"),
        ({"type": 1}, "type 1"),
        ({"type": ["QUERY"]}, "type"),
        ({"type": "HEART_BEAT"}, "not sent by a client"),
        ({"type": "QUERY"}, "QUERY has type, id, argument, function, not type"),
        (QUERY | {"more": ""}, "not type, id, argument, function, more"),
        (QUERY | {"id": "0"}, "QUERY: non-hexadecimal"),
        (QUERY | {"id": 1}, "QUERY: fromhex"),
        (QUERY | {"function": None}, "QUERY: 'NoneType'"),
        (QUERY | {"function": "\ud800"}, "surrogates not allowed"),
        (QUERY | {"id": ""}, "an id has 1 to 64 bytes"),
        (QUERY | {"function": "f" * 256}, "1 to 255 bytes"),
    ],
)
def test_what_is_no_message_is_not_composed(said: dict[str, Any], reason: str) -> None:
    with pytest.raises(LocalProtocolError, match=reason):
        messages.compose(Way.CLIENT_TO_PROXY, said)


@pytest.mark.parametrize("functions", [None, 1, [1], [["f", "Int"]], [["f", 1, "Int"]], [["", "", ""]]])
def test_what_is_no_registration_is_not_composed(functions: Any) -> None:
    with pytest.raises(LocalProtocolError):
        messages.compose(Way.WORKER_TO_PROXY, {"type": "WORKER_REGISTER", "functions": functions})


def test_one_part_of_some_types_may_be_long() -> None:
    """[RPC-9.1]"""
    assert set(room(Way.CLIENT_TO_PROXY)) == {words.QUERY}
    assert room(Way.CLIENT_TO_PROXY)[words.QUERY][0] == 2
    assert {type_: place for type_, (place, _) in room(Way.WORKER_TO_PROXY).items()} == {
        words.RESPONSE_RESULT: 2,
        words.RESPONSE_EXCEPTION: 2,
        words.WORKER_DESCRIBE: 1,
    }
    assert room(Way.WORKER_TO_PROXY)[words.WORKER_DESCRIBE] == (1, MAX_DESCRIPTION)


@pytest.mark.parametrize(("size", "told"), [(1_024, "not 1024"), (1_025, "not over 1024")])
def test_of_a_part_that_was_cut_no_size_is_told(size: int, told: str) -> None:
    reason = messages.fault(Way.CLIENT_TO_PROXY, [words.CANCEL, bytes(size)])
    assert reason is not None
    assert reason.endswith(told)


def test_a_type_says_how_many_parts_its_message_has() -> None:
    assert counts(Way.CLIENT_TO_PROXY)[words.QUERY] == 4
    assert counts(Way.PROXY_TO_WORKER)[words.HEART_BEAT] == 1
    assert counts(Way.WORKER_TO_PROXY)[words.WORKER_REGISTER] == 1
