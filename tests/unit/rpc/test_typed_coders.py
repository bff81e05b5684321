import datetime
from typing import Any

import msgspec
import numpy as np
import pytest

from framehub.errors import DecodingError, EncodingError
from framehub.rpc.typed_coders import BytesCoder, JsonCoder, MsgpackCoder


class Point(msgspec.Struct):
    x: int
    tags: list[str] = []


JSON, MSGPACK = JsonCoder(), MsgpackCoder()


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "é", [1, [2]], {"a": {"b": None}}, 2**70])
def test_json_is_json(value: Any) -> None:
    assert JSON.decode(JSON.encode(value)) == value
    assert JSON.encode(value) == msgspec.json.encode(value)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "truncated"),
        (b"NaN", "invalid character"),
        (b"1e400", "number out of range"),
        (b'"\\ud800"', "truncated"),
        (b'"\xff"', "utf-8"),
        (b"\xef\xbb\xbf1", "invalid character"),
        (b'{"a":1,"a":2}', "duplicate key"),
        (b"[" * 65 + b"]" * 65, "nested deeper than 64"),
        (b"[" * 100_000 + b"]" * 100_000, "recursion"),
        (b"1 2", "trailing"),
        (b"9" * 5000, "out of range"),
    ],
)
def test_what_is_not_strict_json_is_refused(data: bytes, why: str) -> None:
    """[RPC-6.7]"""
    with pytest.raises(DecodingError) as caught:
        JSON.decode(data)
    assert why.lower() in caught.value.message.lower()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("\ud800", "surrogates not allowed"),
        ([b"x"], "[0]: bytes are no JSON"),
        (float("nan"), "expected a finite number"),
        (object(), "cannot write object"),
    ],
)
def test_what_json_cannot_carry_is_refused(value: Any, why: str) -> None:
    """[RPC-6.8]"""
    with pytest.raises(EncodingError) as caught:
        JSON.encode(value)
    assert why in caught.value.message


@pytest.mark.parametrize("coder", [JsonCoder, MsgpackCoder])
def test_a_typed_coder_reads_its_type_and_names_the_place_of_another(coder: Any) -> None:
    """[RPC-6.10]"""
    typed, plain = coder(list[Point]), coder()
    assert typed.decode(plain.encode([Point(1)])) == [Point(1)]
    for wrong, why in [
        ([{"x": "1"}], "[0].x: expected int, got str"),
        ({}, "expected array, got object"),
        ([{"x": 1, "tags": ["a", 2]}], "[0].tags[1]: expected str, got int"),
    ]:
        with pytest.raises(DecodingError) as caught:
            typed.decode(plain.encode(wrong))
        assert caught.value.message == why


@pytest.mark.parametrize("coder", [JSON, MSGPACK])
def test_numbers_of_numpy_are_numbers(coder: JsonCoder | MsgpackCoder) -> None:
    assert coder.decode(coder.encode({"a": np.float64(1.5), "b": np.arange(2)})) == {"a": 1.5, "b": [0, 1]}


@pytest.mark.parametrize("value", [b"x", {"a": [b"", None]}, 2**64 - 1, float("inf"), {1: 2}])
def test_msgpack_carries_bytes_too(value: Any) -> None:
    assert MSGPACK.decode(MSGPACK.encode(value)) == value


def test_msgpack_knows_timestamps_and_no_other_extension() -> None:
    """[RPC-6.9]"""
    when = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
    assert MSGPACK.decode(MSGPACK.encode(when)) == when
    with pytest.raises(DecodingError, match="extension type 5 has no meaning here"):
        MSGPACK.decode(bytes.fromhex("d40561"))


@pytest.mark.parametrize(
    "data", ["", "c1", "ddffffffff", "dfffffffff01", "dbffffffff", "0101", "a1ff", "91" * 5000]
)
def test_other_bytes_are_no_msgpack(data: str) -> None:
    with pytest.raises(DecodingError):
        MSGPACK.decode(bytes.fromhex(data))


@pytest.mark.parametrize("value", [2**64, object(), "\ud800"])
def test_what_msgpack_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(EncodingError):
        MSGPACK.encode(value)


def test_bytes_stay_as_they_are() -> None:
    coder = BytesCoder()
    assert coder.encode(bytearray(b"a")) == coder.encode(memoryview(b"a")) == b"a"
    assert coder.decode(b"a") == b"a"
    with pytest.raises(EncodingError, match="expected bytes, got str"):
        coder.encode("a")
