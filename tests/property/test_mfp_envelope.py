"""Any payload is an envelope or refused; any JSON value survives in one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

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
