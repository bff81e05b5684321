from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from framehub.rpc.strict_json import MAX_DEPTH, cut, fault, foreign, is_plain, misfit


@dataclass
class Point:
    x: Any


def nested(levels: int, opened: bytes = b"[", closed: bytes = b"]") -> bytes:
    return opened * levels + closed * levels


@pytest.mark.parametrize(
    "data",
    [
        b"1",
        b'{"a":1,"b":{"a":2}}',
        nested(64),
        b"[" + b"[]," * 99 + b"[]]",
        b'["' + b"[" * 99 + b'"]',
        b'["' + b"[" * 70 + b'","' + b"]" * 70 + b'","a"]',
        b'["\\"' + b"[" * 99 + b'\\\\"]',
    ],
)
def test_strict_json_has_no_fault(data: bytes) -> None:
    assert fault(data) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a":1,"a":2}', "duplicate key"),
        (b'{"a":1,"\\u0061":2}', "duplicate key"),
        (nested(65), "nested deeper than 64"),
        (b'{"a":' + nested(64) + b"}", "nested deeper than 64"),
        (b'["]",' + nested(64) + b"]", "nested deeper than 64"),
    ],
)
def test_a_key_that_stands_twice_and_depth_are_faults(data: bytes, why: str) -> None:
    """[RPC-6.7]"""
    assert why in (fault(data) or "")


def test_a_reason_that_quotes_much_is_cut() -> None:
    key = b'"' + b"k" * 1000 + b'":1'
    assert len(fault(b"{" + key + b"," + key + b"}") or "") < 110
    assert cut("short") == "short"


@pytest.mark.parametrize(
    "value",
    [
        None,
        1.5,
        [1, 2.5, "a", None],
        {"a": [{}]},
        (1, (2,)),
        {1, 2},
        {1: "a", 2: "b"},
        Point(1),
        np.float64(1.5),
        np.arange(3),
        [[1.0], [2.0]],
    ],
)
def test_what_json_can_carry_is_no_misfit(value: Any) -> None:
    assert misfit(value) is None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "expected a finite number, got nan"),
        ([1.0, float("inf")], "[1]: expected a finite number, got inf"),
        (b"x", "bytes are no JSON"),
        ({"a": [0, bytearray(b"x")]}, "['a'][1]: bytes are no JSON"),
        (Point(memoryview(b"x")), "['x']: bytes are no JSON"),
        ({1: "a", "1": "b"}, "two keys are written alike"),
        ({(1, 2): "a"}, "a key: "),
        ([object()], "[0]: cannot write object"),
    ],
)
def test_what_json_cannot_carry_is_named_with_its_place(value: Any, why: str) -> None:
    assert (misfit(value) or "").startswith(why)


def test_depth_is_bounded_and_a_ring_ends() -> None:
    deep: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    assert misfit(deep) is None
    assert (misfit([deep]) or "").endswith("nested deeper than 64 levels")
    ring: list[Any] = []
    ring.append(ring)
    assert (misfit(ring) or "").endswith("nested deeper than 64 levels")


def test_what_has_a_list_is_written_as_that_list() -> None:
    assert foreign(np.int64(3)) == 3
    with pytest.raises(TypeError, match="cannot write object"):
        foreign(object())


@pytest.mark.parametrize(
    ("value", "sure"),
    [
        ([1, "a", None, 1.5, {"a": [True]}], True),
        ({"a": (1, [])}, True),
        ([1.5] * 50, True),
        ([1, "a"] * 50, True),
        ([1, 1.5] * 50, True),
        ([float("nan")] * 50, False),
        ([1, float("nan")], False),
        ({1: 2}, False),
        ([[b"x"]], False),
        ([Point(1)], False),
    ],
)
def test_a_quick_look_is_sure_only_of_plain_values(value: Any, sure: bool) -> None:
    assert is_plain(value) is sure


def test_a_quick_look_goes_as_deep_as_json_may() -> None:
    deep: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    assert is_plain(deep)
    assert not is_plain([deep])
