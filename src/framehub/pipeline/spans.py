"""Byte strings where they lie in a column's memory: read by numpy for all rows at once, nothing is copied."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Flags: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
_Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
_Words: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"

NULL: Final = -1
"""The size of a string that is not there."""
_LEAST: Final = 32
"""Memory that is shorter is copied into this much, so that every read of a few bytes has room."""
_LONG: Final = 256
"""Longer strings are few, and looked at one by one."""
_MASKS: Final = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
_NOT_ASCII: Final = np.uint64(0x8080808080808080)


def present(column: pa.Array) -> Flags:
    """Which rows of a column are not null.

    Arrow would tell too (``is_null().to_numpy()``), but loads all of pandas to do it.
    """
    bits = column.buffers()[0]
    if bits is None:
        return np.full(len(column), column.null_count == 0)
    begin, end = column.offset, column.offset + len(column)
    flags = np.unpackbits(np.frombuffer(bits, np.uint8), count=end, bitorder="little")
    return flags[begin:].view(np.bool_)


def numbers(column: pa.Array) -> Numbers:
    """A column of numbers, none of them below zero, with -1 for null."""
    width = np.dtype(f"i{column.type.byte_width}")
    found: Numbers = np.frombuffer(column.buffers()[1], width, len(column), column.offset * width.itemsize)
    if column.null_count:
        found = found | (present(column).view(np.int8) - np.int8(1))  # which has every bit of -1, or none
    return found


class Spans:
    """One byte string for each row: where it begins in ``data``, and its size.

    What is asked at a place beyond the end of a string is some number: whoever asks knows the sizes.
    """

    __slots__ = ("data", "size", "start")

    def __init__(self, data: _Bytes, start: Numbers, size: Numbers) -> None:
        self.data = data
        self.start = start
        self.size = size

    @classmethod
    def of(cls, column: pa.Array) -> "Spans":
        """Those of a column of bytes or text."""
        if pa.types.is_dictionary(column.type):
            words, places = cls.of(column.dictionary), numbers(column.indices)  # -1, of null, is the last
            return cls(words.data, np.append(words.start, 0)[places], np.append(words.size, NULL)[places])
        is_large = pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type)
        _, offsets, data = column.buffers()
        count, skipped = len(column), column.offset
        if offsets is None or not count:
            none = np.zeros(count, np.int64)
            return cls(np.zeros(_LEAST, np.uint8), none, none)
        ends = np.frombuffer(offsets, np.int64 if is_large else np.int32)[skipped : skipped + count + 1]
        start: Numbers = ends[:-1].astype(np.int64)
        size: Numbers = ends[1:].astype(np.int64) - start
        if column.null_count:
            size[~present(column)] = NULL
        found = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        if len(found) < _LEAST:
            found = np.concatenate((found, np.zeros(_LEAST - len(found), np.uint8)))
        return cls(found, start, size)

    def take(self, rows: Numbers) -> "Spans":
        """Those of some rows."""
        return Spans(self.data, self.start[rows], self.size[rows])

    def within(self, start: Numbers, size: Numbers) -> "Spans":
        """Others in the same memory."""
        return Spans(self.data, start, size)

    def bytes(self, row: int) -> bytes:
        """The string of one row."""
        start = int(self.start[row])
        return self.data[start : start + max(int(self.size[row]), 0)].tobytes()

    def byte(self, at: Numbers) -> Numbers:
        """The bytes that stand at these places of ``data``."""
        return self.data[np.minimum(at, len(self.data) - 1)].astype(np.int64)

    def number(self, at: Numbers) -> Numbers:
        """The 32-bit numbers, big-endian, that begin at these places."""
        words = np.ndarray((len(self.data) - 3,), ">u4", self.data, strides=(1,))
        return words[np.minimum(at, len(self.data) - 4)].astype(np.int64)

    def text(self, size: int, rows: Numbers) -> "np.ndarray[Any, np.dtype[np.bytes_]]":
        """The strings of rows that all have this size."""
        texts = np.ndarray((len(self.data) - size + 1,), f"S{size}", self.data, strides=(1,))
        return texts[self.start[rows]]

    def equals(self, other: "Spans") -> Flags:
        """Whether the strings of two columns are equal, row by row; null equals null."""
        same: Flags = self.size == other.size
        for row in np.flatnonzero(same & (self.size > _LONG)).tolist():
            same[row] = self.bytes(row) == other.bytes(row)
        short = np.flatnonzero(same & (self.size > 0) & (self.size <= _LONG))
        for rows, at, mask in self._steps(short):
            differ = (self._eight(rows, at) ^ other._eight(rows, at)) & mask != 0
            same[rows[differ]] = False
        return same

    def are_text(self) -> Flags:
        """Whether each is UTF-8; null is."""
        suspect = self.size > _LONG
        for rows, at, mask in self._steps(np.flatnonzero((self.size > 0) & ~suspect)):
            suspect[rows[self._eight(rows, at) & mask & _NOT_ASCII != 0]] = True
        good = np.ones(len(self.size), np.bool_)
        for row in np.flatnonzero(suspect).tolist():
            good[row] = _is_text(self.bytes(row))
        return good

    def to_arrow(self) -> pa.Array:
        """A column of their bytes; this copies them."""
        sizes = np.maximum(self.size, 0)
        ends = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=ends[1:])
        places = np.arange(ends[-1]) + np.repeat(self.start - ends[:-1], sizes)
        present = pa.py_buffer(np.packbits(self.size != NULL, bitorder="little"))
        buffers = [present, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(self.data[places])]
        return pa.Array.from_buffers(pa.binary(), len(sizes), buffers)

    def _steps(self, rows: Numbers) -> Iterator[tuple[Numbers, int, _Words]]:
        """Eight bytes at a time: rows that have some at this place, and a mask of the bytes they have."""
        at = 0
        while len(rows):
            left = self.size[rows] - at
            yield rows, at, _MASKS[np.minimum(left, 8)]
            at += 8
            rows = rows[left > 8]

    def _eight(self, rows: Numbers, at: int) -> _Words:
        words: _Words = np.ndarray((len(self.data) - 7,), "<u8", self.data, strides=(1,))
        wanted = self.start[rows] + at
        there = np.minimum(wanted, len(self.data) - 8)
        return words[there] >> ((wanted - there) * 8).astype(np.uint64)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
