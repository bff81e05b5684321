"""What a fast JSON decoder lets pass."""

import pytest

from framehub.mfp import strict


@pytest.mark.parametrize("payload", [b"{}", b'{"a":{"a":1}}', b'[{"a":1},{"a":1}]'])
def test_strict_json_has_no_fault(payload: bytes) -> None:
    assert strict.fault(payload) is None


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b'{"a":1,"a":1}', "duplicate key"),
        (b'{"a":"\xff"}', "unicode"),
        (b'{"a":NaN}', "expected value"),
        (b"[" * 300 + b"]" * 300, "recursion limit"),
    ],
)
def test_a_fault_is_named(payload: bytes, why: str) -> None:
    """[MFP-7.7]"""
    assert why in (strict.fault(payload) or "")


def test_a_fault_does_not_repeat_a_long_key() -> None:
    key = b'"' + b"k" * 10_000 + b'":1'
    fault = strict.fault(b"{" + key + b"," + key + b"}")
    assert fault is not None
    assert fault.startswith("Detected duplicate key")
    assert len(fault) == 103


@pytest.mark.parametrize("inside", [b"", b'"]]]]"', b'"\\"]]]]"', b'"[[[[\\\\"', b'"[[[[",{},[],""'])
@pytest.mark.parametrize(("levels", "deep"), [(64, False), (65, True), (10_000, True)])
def test_depth_is_counted_outside_of_strings(inside: bytes, levels: int, deep: bool) -> None:
    """[MFP-7.7] Inside of the outermost object."""
    if levels == 64 and inside.endswith(b'""'):
        levels = 63  # there is one level more in it
    payload = b'{"a":' + b"[" * levels + inside + b"]" * levels + b"}"
    assert strict.is_too_deep(payload) is deep


def test_few_brackets_are_not_deep_wherever_they_are() -> None:
    assert not strict.is_too_deep(b'{"a":"' + b"[" * 64 + b'"}')
    assert not strict.is_too_deep(b'{"a":"' + b"[" * 640 + b'"}')
