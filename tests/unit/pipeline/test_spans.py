"""Byte strings in a column's memory: sliced, short, at the end, null, and long."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.pipeline.spans import NULL, Spans, numbers, present

strings = st.lists(st.none() | st.binary(max_size=40) | st.binary(min_size=250, max_size=262), max_size=8)


@given(strings, st.integers(0, 3))
def test_they_are_the_columns_strings_however_it_is_sliced(texts: list[bytes | None], skipped: int) -> None:
    spans = Spans.of(pa.array(texts, pa.binary())[skipped:])
    found = [None if size == NULL else spans.bytes(row) for row, size in enumerate(spans.size)]
    assert found == texts[skipped:]
    assert spans.to_arrow().to_pylist() == texts[skipped:]


@given(strings, st.integers(0, 3))
def test_those_of_a_dictionary_are_the_same(texts: list[bytes | None], skipped: int) -> None:
    spans = Spans.of(pa.array(texts, pa.binary()).dictionary_encode()[skipped:])
    found = [None if size == NULL else spans.bytes(row) for row, size in enumerate(spans.size)]
    assert found == texts[skipped:]


@given(st.lists(st.none() | st.integers(0, 2**15 - 1), max_size=30), st.integers(0, 9))
def test_a_column_of_numbers_has_minus_one_for_null(values: list[int | None], skipped: int) -> None:
    for kind in (pa.int16(), pa.int32(), pa.int64()):
        column = pa.array(values, kind)[skipped:]
        assert numbers(column).tolist() == [-1 if value is None else value for value in values[skipped:]]
        assert present(column).tolist() == [value is not None for value in values[skipped:]]
    assert not present(pa.nulls(3)).any()


@given(strings, st.data())
def test_strings_are_equal_where_they_are(texts: list[bytes | None], data: st.DataObject) -> None:
    others = [
        text if not text or data.draw(st.booleans()) else text[:-1] + bytes((text[-1] ^ 1,)) for text in texts
    ]
    left, right = (Spans.of(pa.array(column, pa.binary())) for column in (texts, others))
    assert left.equals(right).tolist() == [one == other for one, other in zip(texts, others, strict=True)]


@given(st.lists(st.text(max_size=12).map(str.encode) | st.binary(max_size=12) | st.none(), max_size=8))
def test_text_is_told_from_bytes(texts: list[bytes | None]) -> None:
    def is_text(data: bytes | None) -> bool:
        try:
            (data or b"").decode()
        except UnicodeDecodeError:
            return False
        return True

    assert Spans.of(pa.array(texts, pa.binary())).are_text().tolist() == [is_text(text) for text in texts]


def test_numbers_are_read_up_to_the_last_byte() -> None:
    spans = Spans.of(pa.array([b"\0" * 40, b"\1\2\3\4\5\6\7\x08"], pa.binary()))
    assert spans.number(spans.start + 4).tolist() == [0, 0x05060708]
    assert spans.byte(spans.start + 7).tolist() == [0, 8]
    assert spans.take(np.array([1])).text(8, np.array([0])).tolist() == [b"\1\2\3\4\5\6\7\x08"]


@pytest.mark.parametrize("kind", [pa.large_binary(), pa.string(), pa.large_string()])
def test_other_columns_of_strings_do_too(kind: pa.DataType) -> None:
    assert Spans.of(pa.array(["ab", "c"], kind)).bytes(1) == b"c"
    encoded = pa.array(["ab", "c", "ab"], pa.string()).dictionary_encode()
    assert Spans.of(encoded).bytes(2) == b"ab"
