"""Answers that are the same, and those that are not."""

from typing import Any

import pytest

from framehub.journal.answers import EXCERPT, Attached, of_exception, of_failure, of_reply, of_result, without

PICTURE = Attached(b"png", "me.png", "image/png")


def test_the_order_of_keys_says_nothing() -> None:
    one = of_reply({"data": {"a": 1, "b": [2, {"c": 3, "d": 4}]}}, {})
    assert one.is_as(of_reply({"data": {"b": [2, {"d": 4, "c": 3}], "a": 1}}, {}))
    assert one.text == '{"data":{"a":1,"b":[2,{"c":3,"d":4}]}}'


@pytest.mark.parametrize(
    ("said", "files"),
    [
        ({"data": {"a": 2}}, {}),
        ({"data": [1]}, {}),
        ({"error": {"a": 1}}, {}),
        ({"data": {"a": 1}}, {0: PICTURE}),
    ],
)
def test_what_is_said_differs(said: dict[str, Any], files: dict[int, Attached]) -> None:
    assert not of_reply({"data": {"a": 1}}, {}).is_as(of_reply(said, files))


@pytest.mark.parametrize(
    "other", [PICTURE._replace(data=b"gif"), PICTURE._replace(name=""), PICTURE._replace(type="")]
)
def test_bytes_name_and_type_of_a_file_count(other: Attached) -> None:
    one = of_reply({"data": 1}, {3: PICTURE})
    assert one.is_as(of_reply({"data": 1}, {3: PICTURE}))
    assert not one.is_as(of_reply({"data": 1}, {3: other}))
    assert not one.is_as(of_reply({"data": 1}, {4: PICTURE}))
    assert (
        one.is_as(of_reply({"data": 1}, {3: other}, [("files", "3")])) is False
    )  # only one side left it out
    ignored = [("files",)]
    assert of_reply({"data": 1}, {3: PICTURE}, ignored).is_as(of_reply({"data": 1}, {3: other}, ignored))


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("a", {"b": [{"c": 1, "d": 2}, {"c": 3}], "e": 5}),
        ("b.*.c", {"a": 0, "b": [{"d": 2}, {}], "e": 5}),
        ("b.0", {"a": 0, "b": [None, {"c": 3}], "e": 5}),
        ("b.1.c", {"a": 0, "b": [{"c": 1, "d": 2}, {}], "e": 5}),
        ("b.*", {"a": 0, "b": [None, None], "e": 5}),
        ("*.0", {"a": 0, "b": [None, {"c": 3}], "e": 5}),
        ("*", {}),
        ("x", {"a": 0, "b": [{"c": 1, "d": 2}, {"c": 3}], "e": 5}),
        ("e.x", {"a": 0, "b": [{"c": 1, "d": 2}, {"c": 3}], "e": 5}),
    ],
)
def test_a_place_is_left_out(path: str, left: object) -> None:
    value = {"a": 0, "b": [{"c": 1, "d": 2}, {"c": 3}], "e": 5}
    assert without(value, path.split(".")) == left
    assert value == {"a": 0, "b": [{"c": 1, "d": 2}, {"c": 3}], "e": 5}


def test_a_result_is_compared_by_what_its_coder_means() -> None:
    assert of_result(b'{"a":1, "b":2}', "json").is_as(of_result(b'{"b":2,"a":1}', "json"))
    assert not of_result(b'{"a":1, "b":2}', "bytes").is_as(of_result(b'{"b":2,"a":1}', "bytes"))
    assert of_result(b"not json", "json").is_as(of_result(b"not json", "bytes"))
    time = [("data", "t")]
    assert of_result(b'{"t":1}', "json", time).is_as(of_result(b'{"t":2}', "json", time))


def test_two_places_of_one_list() -> None:
    ignored = [("data", "0"), ("data", "1")]
    one = of_reply({"data": ["t1", "t2", 5]}, {}, ignored)
    assert one.is_as(of_reply({"data": ["T1", "T2", 5]}, {}, ignored))
    assert not one.is_as(of_reply({"data": ["t1", "t2", 6]}, {}, ignored))


def test_an_exception_is_what_it_says() -> None:
    assert of_exception("no").is_as(of_exception("no"))
    assert not of_exception("no").is_as(of_exception("never"))
    assert not of_exception("no").is_as(of_result(b'"no"', "json"))
    words = [("error", "message")]
    assert of_exception("at 10:00", words).is_as(of_exception("at 10:01", words))


@pytest.mark.parametrize("depth", [900, 990, 998, 999, 1000, 1010, 5000])
def test_a_result_that_is_nested_too_deeply_is_bytes(depth: int) -> None:
    payload = b"[" * depth + b"]" * depth
    assert of_result(payload, "json").is_as(of_result(payload, "json"))


def test_a_failure_is_its_kind_and_its_words() -> None:
    assert of_failure("error", "no").is_as(of_failure("error", "no"))
    assert not of_failure("error", "no").is_as(of_failure("error", "never"))
    assert not of_failure("error", "no").is_as(of_failure("timeout", "no"))


def test_a_long_answer_is_shown_in_part_and_compared_whole() -> None:
    one, other = of_reply({"data": "x" * 5000}, {}), of_reply({"data": "x" * 5000 + "y"}, {})
    assert one.text == other.text
    assert len(one.text) == EXCERPT + 3
    assert not one.is_as(other)
    long = of_failure("error", "x" * 5000)
    assert len(long.text) == EXCERPT
    assert not long.is_as(of_failure("error", "x" * 5001))
