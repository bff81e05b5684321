"""Any payload is an envelope or refused; any JSON value survives in one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from framehub.errors import LocalProtocolError
from framehub.mfp import envelope
from framehub.mfp.envelope import BadEnvelope

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
filemaps = st.dictionaries(st.integers(0, 2**32 - 1), st.tuples(names, names), max_size=3)


@given(names.filter(bool), values, values, filemaps)
def test_decode_undoes_encode(
    endpoint: str, data: Any, error: Any, filemap: dict[int, tuple[str, str]]
) -> None:
    """[MFP-7.3]"""
    payload = envelope.encode(endpoint, data, error=error, names=filemap)
    read = envelope.decode(payload, tuple((key, b"") for key in filemap))
    assert (read.endpoint, read.data, read.error, read.names) == (endpoint, data, error, filemap)


class Pairs(list[tuple[str, Any]]):
    """A JSON object as it stands in a text: a key may stand in it twice."""


keys = st.sampled_from(["a", "b", ":", '"', "\\", "[", "\u00e4", "endpoint", "data"])
written = st.recursive(
    st.sampled_from([None, True, 7, -1.5, "", "a:b", "]]", '"{', "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(keys, inner), max_size=4).map(Pairs),
    max_leaves=12,
)


def text(value: Any, escape: bool) -> str:
    if isinstance(value, Pairs):
        inside = (f"{json.dumps(key, ensure_ascii=escape)}: {text(item, escape)}" for key, item in value)
        return "{" + ", ".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(text(item, escape) for item in value) + "]"
    return json.dumps(value, ensure_ascii=escape)


def is_unique(value: Any) -> bool:
    """Whether no key stands twice, anywhere."""
    if isinstance(value, Pairs):
        return len(dict(value)) == len(value) and all(is_unique(item) for _, item in value)
    return not isinstance(value, list) or all(is_unique(item) for item in value)


def meant(value: Any) -> Any:
    if isinstance(value, Pairs):
        return {key: meant(item) for key, item in value}
    return [meant(item) for item in value] if isinstance(value, list) else value


@given(written, st.none() | written, st.none() | written, st.booleans(), st.sampled_from([0, 60, 65]))
def test_an_envelope_is_refused_exactly_if_a_key_stands_twice_or_it_is_too_deep(
    data: Any, error: Any, other: Any, escape: bool, wraps: int
) -> None:
    """[MFP-7.7]"""
    for _ in range(wraps):
        data = [data]
    parts = {"data": data, "error": error, "other": other}
    given_parts = {name: part for name, part in parts.items() if part is not None}
    payload = text(Pairs([("endpoint", "e"), *given_parts.items()]), escape).encode()
    unique = all(is_unique(part) for part in given_parts.values())
    if not unique or depth(data) > 64 or depth(error) > 64 or depth(other) > 64:
        with pytest.raises(BadEnvelope):
            envelope.decode(payload)
        return
    read = envelope.decode(payload)
    assert read.data == (UNSET if data is None else meant(data))
    assert read.error == (UNSET if error is None else meant(error))


def depth(value: Any) -> int:
    if isinstance(value, Pairs):
        return 1 + max((depth(item) for _, item in value), default=0)
    return 1 + max((depth(item) for item in value), default=0) if isinstance(value, list) else 0


def judge(payload: bytes) -> None:
    try:
        read = envelope.decode(payload)
    except BadEnvelope:
        return
    assert read.endpoint


@given(st.binary(max_size=60))
def test_any_bytes_are_an_envelope_or_refused(payload: bytes) -> None:
    """[MFP-7.1] [MFP-7.5]"""
    judge(payload)


@given(
    st.binary(max_size=30),
    st.sampled_from([b'{"endpoint":', b'{"endpoint":"a","data":', b'{"endpoint":"a","filemap":[[']),
)
def test_bytes_that_begin_like_one_are_too(rest: bytes, begin: bytes) -> None:
    """[MFP-7.1]"""
    judge(begin + rest)
    judge(begin + rest + b"}")


@given(
    st.text(max_size=8), st.lists(st.floats() | st.text() | st.binary() | st.complex_numbers(), max_size=3)
)
def test_any_value_is_sent_or_refused(endpoint: str, data: Any) -> None:
    try:
        envelope.encode(endpoint, data)
    except LocalProtocolError:
        return
    assert endpoint
