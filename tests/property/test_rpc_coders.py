"""Any value survives its coder; any bytes are a value or refused with the documented error."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.errors import ConfigError, DecodingError, EncodingError
from framehub.rpc.block import Attached, Block
from framehub.rpc.bound import BoundFunction
from framehub.rpc.calling import Calling
from framehub.rpc.coders import coder

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "Int": st.integers(-(2**31), 2**31 - 1),
    "Long": st.integers(-(2**63), 2**63 - 1),
    "ULong": st.integers(0, 2**64 - 1),
    "Double": st.floats(allow_nan=False),
    "String": text,
}
identities = st.recursive(
    st.sampled_from(sorted(SIMPLE)),
    lambda inner: (
        st.builds("List<{}>".format, inner)
        | st.builds("Pair<{}, {}>".format, inner, inner)
        | st.builds("Triple<{}, {}, {}>".format, inner, inner, inner)
    ),
    max_leaves=6,
)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
files = st.lists(
    st.builds(Attached, st.integers(0, 2**32 - 1), st.binary(max_size=9), text, text),
    max_size=3,
    unique_by=lambda file: file.key,
).map(tuple)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a fixed layout, by what it says of itself."""
    if "prefixItems" in schema:
        return st.tuples(*map(values, schema["prefixItems"]))
    if schema["type"] == "array":
        return st.lists(values(schema["items"]), max_size=3)
    if schema["type"] == "integer":
        return st.integers(schema["minimum"], schema["maximum"])
    return SIMPLE["Double"] if schema["type"] == "number" else text


@st.composite
def fixed(draw: st.DrawFn) -> tuple[Any, Any]:
    found: Any = coder(draw(identities))
    return found, draw(values(found.schema))


@given(fixed())
def test_decode_undoes_encode(given_: tuple[Any, Any]) -> None:
    own, value = given_
    assert own.decode(own.encode(value)) == value
    assert coder(own.identity.replace(" ", "")).identity == own.identity


@given(identities, st.binary(max_size=40))
def test_any_bytes_of_a_fixed_layout_decode_or_are_refused(identity: str, data: bytes) -> None:
    own = coder(identity)
    try:
        value = own.decode(data)
    except DecodingError:
        return
    if "Double" not in identity:  # not every NaN keeps its bits
        assert own.encode(value) == data


@given(fixed(), st.data())
def test_damaged_bytes_decode_or_are_refused(given_: tuple[Any, Any], data: st.DataObject) -> None:
    own, value = given_
    whole = bytearray(own.encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        if whole:
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        own.decode(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    except DecodingError:
        return


@pytest.mark.parametrize("identity", ["json", "msgpack"])
@given(plain)
def test_json_and_msgpack_carry_any_plain_value(identity: str, value: Any) -> None:
    assert coder(identity).decode(coder(identity).encode(value)) == value


@given(text.filter(bool), plain, files)
def test_envelopes_carry_data_and_files(endpoint: str, data: Any, attached: tuple[Attached, ...]) -> None:
    block = Block(endpoint, data, attached)
    assert coder("envelope").decode(coder("envelope").encode(block)) == block


@pytest.mark.parametrize("identity", ["json", "msgpack", "envelope", "arrow", "bytes"])
@given(st.binary(max_size=60))
def test_any_bytes_decode_or_are_refused(identity: str, data: bytes) -> None:
    try:
        coder(identity).decode(data)
    except DecodingError:
        return


@given(plain, files, st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_envelope_is_read_or_refused(
    data: Any, attached: tuple[Attached, ...], at: int, byte: int
) -> None:
    whole = bytearray(coder("envelope").encode(Block("f", data, attached)))
    whole[at % len(whole)] = byte
    try:
        coder("envelope").decode(bytes(whole))
    except DecodingError:
        return


odd = st.recursive(
    plain | st.floats() | st.binary() | st.complex_numbers() | st.text() | st.builds(object),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers() | st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(identities | st.sampled_from(["json", "msgpack", "bytes", "arrow", "envelope"]), odd)
def test_any_value_is_written_or_refused(identity: str, value: Any) -> None:
    own = coder(identity)
    try:
        data = own.encode(value)
    except EncodingError:
        return
    own.decode(data)


@given(st.text(alphabet="IntLogPairs<>, jx\u00e9\ud800", max_size=30) | st.text(max_size=30))
def test_any_text_is_an_identity_or_refused(identity: str) -> None:
    try:
        found = coder(identity)
    except ConfigError:
        return
    assert coder(found.identity).identity == found.identity


def add(a: int, b: list[float] | None = None, c: dict[str, int] = {}) -> None: ...  # noqa: B006


BOUND = {identity: BoundFunction(add, coders=(identity, identity)) for identity in ("json", "msgpack")}
CALLING = {
    identity: Calling("add", identity, identity, bound.signature.parameters, bound.signature.result_schema)
    for identity, bound in BOUND.items()
}


@given(
    st.sampled_from(["json", "msgpack"]),
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.lists(st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    st.dictionaries(text, st.integers(-9, 9), max_size=2),
    st.integers(0, 3),
)
def test_arguments_come_as_they_were_given(
    identity: str, a: int, b: list[float] | None, c: dict[str, int], by_place: int
) -> None:
    given_ = {"a": a, "b": b, "c": c}
    args = list(given_.values())[:by_place]
    kwargs = dict(list(given_.items())[by_place:])
    assert BOUND[identity].call(CALLING[identity].encode(args, kwargs)) == ((a, b, c), {})


@given(st.sampled_from(["json", "msgpack"]), st.lists(odd, max_size=4))
def test_what_the_caller_lets_pass_the_worker_takes(identity: str, args: list[Any]) -> None:
    try:
        data = CALLING[identity].encode(args, {})
    except EncodingError:
        return
    BOUND[identity].call(data)


@given(st.sampled_from(["json", "msgpack"]), st.binary(max_size=30) | plain.map(msgspec.json.encode))
def test_any_argument_is_taken_or_refused(identity: str, data: bytes) -> None:
    try:
        (args, kwargs) = BOUND[identity].call(data)
    except DecodingError:
        return
    assert (len(args), kwargs) == (3, {})
