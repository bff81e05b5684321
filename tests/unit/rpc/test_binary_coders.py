import struct
from enum import IntEnum
from typing import Any

import pytest

from framehub.errors import DecodingError, EncodingError
from framehub.rpc import binary_coders
from framehub.rpc.binary_coders import DOUBLE, INT, LONG, STRING, ULONG, BinaryCoder, ListOf, Tuple

PAIR = Tuple("Pair", [INT, ListOf(STRING)])


class Level(IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("coder", "value", "data"),
    [
        (INT, -1, "ffffffff"),
        (INT, Level.LOW, "00000001"),
        (LONG, 2**40, "0000010000000000"),
        (ULONG, 2**64 - 1, "ffffffffffffffff"),
        (DOUBLE, 1, "3ff0000000000000"),
        (STRING, "é", "00000002 c3a9"),
        (ListOf(INT), [1, 2], "00000002 00000001 00000002"),
        (ListOf(INT), [Level.LOW], "00000001 00000001"),
        (ListOf(DOUBLE), [1, 2.0], "00000002 3ff0000000000000 4000000000000000"),
        (ListOf(STRING), ["a", ""], "00000002 00000001 61 00000000"),
        (PAIR, (7, ["a"]), "00000007 00000001 00000001 61"),
        (Tuple("Triple", [INT, INT, INT]), (1, 2, 3), "00000001 00000002 00000003"),
    ],
)
def test_layouts(coder: BinaryCoder, value: Any, data: str) -> None:
    """[RPC-6.2] [RPC-6.3]"""
    assert coder.encode(value) == bytes.fromhex(data)
    assert coder.decode(bytes.fromhex(data)) == value


@pytest.mark.parametrize(
    ("coder", "value", "why"),
    [
        (INT, True, "expected an integer from -2147483648 to 2147483647, got bool"),
        (INT, 1.0, "expected an integer from -2147483648 to 2147483647, got float"),
        (INT, 2**31, "expected an integer from -2147483648 to 2147483647, got one out of range"),
        (ULONG, -1, "expected an integer from 0 to 18446744073709551615, got one out of range"),
        (DOUBLE, "1", "expected a number, got str"),
        (DOUBLE, 10**400, "expected a number, got one out of range"),
        (STRING, b"a", "expected a string, got bytes"),
        (STRING, "\ud800", "expected a string, got one with half a surrogate pair"),
        (ListOf(INT), "ab", "expected a list, got str"),
        (
            ListOf(INT),
            [1, 2**31],
            "[1]: expected an integer from -2147483648 to 2147483647, got one out of range",
        ),
        (ListOf(INT), [1, True], "[1]: expected an integer from -2147483648 to 2147483647, got bool"),
        (PAIR, (1,), "expected 2 values, got tuple of 1"),
        (PAIR, 1, "expected 2 values, got int"),
        (PAIR, (1, ["a", 2]), "[1][1]: expected a string, got int"),
    ],
)
def test_wrong_values_are_refused_with_their_place(coder: BinaryCoder, value: Any, why: str) -> None:
    """[RPC-6.6]"""
    with pytest.raises(EncodingError) as caught:
        coder.encode(value)
    assert (caught.value.function, caught.value.message) == ("", why)


@pytest.mark.parametrize(
    ("coder", "data", "why"),
    [
        (INT, "000000", "cut short inside Int at byte 3"),
        (INT, "0000000000", "1 bytes too many at byte 4"),
        (STRING, "0000", "cut short inside String at byte 2"),
        (STRING, "ffffffff", "String of negative size -1 at byte 0"),
        (STRING, "00000005 61", "String of 5 bytes, but 1 are left at byte 4"),
        (STRING, "00000002 61ff", "String is not UTF-8 at byte 5"),
        (ListOf(INT), "7fffffff", "List of 2147483647 items, but 0 bytes are left at byte 4"),
        (ListOf(PAIR), "00000001 00000000", "List of 1 items, but 4 bytes are left at byte 4"),
        (ListOf(STRING), "80000000", "List<String> of negative size -2147483648 at byte 0"),
        (PAIR, "00000007", "cut short inside List<String> at byte 4"),
    ],
)
def test_other_bytes_are_refused(coder: BinaryCoder, data: str, why: str) -> None:
    """[RPC-6.4] [RPC-6.5]"""
    with pytest.raises(DecodingError) as caught:
        coder.decode(bytes.fromhex(data))
    assert (caught.value.function, caught.value.message) == ("", why)


def test_sizes_have_31_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary_coders, "_MAX_I32", 2)
    assert STRING.encode("ab")
    with pytest.raises(EncodingError, match="3 bytes of UTF-8 are more than 2"):
        STRING.encode("abc")
    with pytest.raises(EncodingError, match="3 items are more than 2"):
        ListOf(INT).encode([1, 2, 3])


def test_a_million_numbers_are_read_at_once() -> None:
    coder = ListOf(LONG)
    data = coder.encode(list(range(1_000_000)))
    assert data == struct.pack(">i1000000q", 1_000_000, *range(1_000_000))
    assert coder.decode(data)[-1] == 999_999


def test_each_says_what_its_values_are() -> None:
    assert PAIR.schema["prefixItems"] == [INT.schema, {"type": "array", "items": {"type": "string"}}]
    assert ULONG.schema == {"type": "integer", "minimum": 0, "maximum": 2**64 - 1}
    assert DOUBLE.schema == {"type": "number"}


def test_the_bare_class_is_no_coder() -> None:
    with pytest.raises(TypeError, match="abstract"):
        BinaryCoder()  # type: ignore[abstract]
