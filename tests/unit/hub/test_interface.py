"""What a service says of itself."""

import json

import pytest

from framehub.errors import MalformedFrame
from framehub.hub.interface import MOST_NAME, Interface, read_interface


def test_nothing_is_an_interface_without_a_name() -> None:
    assert read_interface(b"") == Interface("", {})


def test_only_the_numbers_of_functions_are_required() -> None:
    assert read_interface(b"{}") == Interface("", {})
    assert read_interface(b'{"functions": [{"number": 3}]}') == Interface("", {})


def test_functions_are_known_by_their_names() -> None:
    told = {
        "name": "weather",
        "doc": "of tomorrow",
        "functions": [
            {"number": 1, "name": "rain", "doc": "mm", "parameters": {}, "result": {}, "more": None},
            {"number": 255, "name": "sun"},
            {"number": 0},
            {"number": 4, "name": ""},
            {"number": 5, "name": 7},
        ],
        "more": [1],
    }
    assert read_interface(json.dumps(told).encode()) == Interface("weather", {"rain": 1, "sun": 255})


def test_of_two_functions_with_one_name_the_first_has_it() -> None:
    body = b'{"functions": [{"number": 2, "name": "f"}, {"number": 1, "name": "f"}]}'
    assert read_interface(body).functions == {"f": 2}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "is no JSON"),
        (b"\xff", "is no JSON"),
        (b'{"a": NaN}', "is no JSON"),
        (b'"\\ud800"', "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"1" * 100_000, "is no JSON"),
        (b"[]", "is no JSON object"),
        (b"null", "is no JSON object"),
        (b'{"name": 1}', '"name" is a text'),
        (b'{"name": null}', '"name" is a text'),
        (b'{"functions": {}}', '"functions" a list'),
        (b'{"functions": [1]}', 'has a "number"'),
        (b'{"functions": [{}]}', 'has a "number"'),
        (b'{"functions": [{"number": true}]}', 'has a "number"'),
        (b'{"functions": [{"number": 1.0}]}', 'has a "number"'),
        (b'{"functions": [{"number": -1}]}', 'has a "number"'),
        (b'{"functions": [{"number": 256}]}', 'has a "number"'),
        (b'{"functions": [{"number": 1}, {"number": 1}]}', 'has a "number" of its own'),
    ],
    ids=range(18),
)
def test_what_is_no_interface_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedFrame) as caught:
        read_interface(body)
    assert reason in caught.value.reason


def test_a_name_has_so_many_bytes_at_most() -> None:
    name = "я" * (MOST_NAME // 2)
    assert read_interface(json.dumps({"name": name + "a"}).encode()).name == name + "a"
    with pytest.raises(MalformedFrame, match="over 255 bytes"):
        read_interface(json.dumps({"name": name + "ab"}).encode())


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"name": "a/b"}, "the service's name: / cannot stand in a name"),
        ({"name": "."}, "the service's name: a name is not . or .."),
        ({"functions": [{"number": 7, "name": "a\u2066"}]}, "the name of function 7: U+2066 cannot stand"),
    ],
)
def test_some_names_nothing_can_have(told: object, reason: str) -> None:
    """[HUB-11.3]"""
    with pytest.raises(MalformedFrame) as caught:
        read_interface(json.dumps(told).encode())
    assert reason in caught.value.reason
