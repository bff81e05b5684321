"""Where the data of a binary frame ends, for every kind of checksum."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.codes import BinaryKind
from framehub.journal.carried import HEAD_BYTES, data_end, sum_of_opening
from framehub.mfp import codec
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import BinaryFrame, MessageFrame

algorithms = st.sampled_from(["crc32", "xor8"])


def opening(payload: bytes, keys: tuple[int, ...], checksum: bool, algorithm: Any) -> tuple[int, bytes]:
    frame = MessageFrame(id=1, payload=payload, expected=keys, streaming=not keys, checksum=checksum)
    raw = codec.encode(frame, Checksums(algorithm=algorithm))
    return raw[0], raw


@given(st.binary(max_size=30), st.sets(st.integers(0, 99), max_size=5), st.booleans(), algorithms)
def test_an_opening_tells_the_size_of_its_checksum(
    payload: bytes, keys: set[int], checksum: bool, algorithm: Any
) -> None:
    head, raw = opening(payload, tuple(keys), checksum, algorithm)
    found = sum_of_opening(head, len(raw), len(payload) or None, len(keys) or None)
    assert found == (Checksums(algorithm=algorithm).size if checksum else None)


def test_an_opening_whose_sizes_do_not_add_up_tells_nothing() -> None:
    head, raw = opening(b"payload", (), True, "crc32")
    assert sum_of_opening(head, len(raw) + 1, 7, None) is None


def test_a_payload_of_no_bytes_still_has_its_size() -> None:
    # The one form that is read and not written: a payload flag with size 0.
    raw = b"\x55\0\0\0\1\0\0\0\0" + b"sum?"
    assert sum_of_opening(raw[0], len(raw), None, None) == 4


@given(st.binary(max_size=40), st.booleans(), algorithms, st.booleans())
def test_data_is_what_was_sent(data: bytes, checksum: bool, algorithm: Any, told: bool) -> None:
    frame = BinaryFrame(id=1, ref=2, kind=BinaryKind.STREAMING, key=3, data=data, checksum=checksum)
    checksums = Checksums(algorithm=algorithm)
    raw = codec.encode(frame, checksums)
    end = data_end(raw[0], len(raw), raw, checksums.size if told else None)
    assert raw[HEAD_BYTES:end] == data


@pytest.mark.parametrize(("opening_sum", "end"), [(None, 16), (1, 19), (4, 16)])
def test_without_the_frame_the_opening_or_the_default_counts(opening_sum: int | None, end: int) -> None:
    assert data_end(0x95, 20, None, opening_sum) == end
    assert data_end(0x85, 20, None, opening_sum) == 20


def test_a_frame_too_short_for_its_checksum_has_no_data() -> None:
    assert data_end(0x95, 14, b"\x95" + bytes(13), 4) == HEAD_BYTES
