"""Pages become the columns of a block (spec/journal.md, section 3), all rows at once. Pure.

By ``_fold`` where that was compiled, by numpy where it was not: the same bytes.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from framehub.journal.brief import (
    BRIEF,
    BRIEF_BYTES,
    READ_BEYOND,
    WHOLE,
    Numbers,
    unfold,
    wall_offset,
    words_of,
)
from framehub.journal.labels import Labels
from framehub.journal.message import HEAD, Body, Buffer, Column, assemble
from framehub.journal.page import Page
from framehub.journal.record import DIRECTIONS, DTYPE, KINDS, PROTOCOLS, RECORDED, SCHEMA, Row

folding: ModuleType | None = None
"""What is compiled, if there was a compiler."""
with suppress(ImportError):
    from framehub.journal import _fold as folding

_NOTHING: Final = b""
_BEYOND: Final = bytes(READ_BEYOND)


def encode(page: Page) -> Body:
    """The rows of a page, to which none is added any more, as the body of one block."""
    count, size = page.rows, page.frames.tell()
    page.frames.write(_BEYOND)
    joined = page.frames.getbuffer()[: size + READ_BEYOND]
    briefs = page.briefs.getbuffer()[: count * BRIEF_BYTES]
    if folding is not None:
        labels_ = page.labels
        folded = folding.fold(briefs, joined, labels_.records, labels_.texts, wall_offset(), page.whole)
        if folded is not None:
            front = folding.join(folded, count, size, HEAD)
            return Body(count, size, front, joined[: size + -size % 8])
    packed = np.frombuffer(briefs, dtype=BRIEF)
    sizes = np.maximum(packed["size"], 0)
    ends = _ends(sizes)
    begins = ends[:-1].astype(np.int64)
    frames = np.frombuffer(joined, dtype=np.uint8)
    labels = page.labels.of(packed["label"])
    is_whole = np.flatnonzero(labels["protocol"] == WHOLE) if page.whole else _NO_ROWS
    fixed = _fixed(page, packed, labels, frames, begins, is_whole)
    refused = np.zeros(count, dtype=np.uint16)
    refused[is_whole] = [row.refused for row in page.whole]
    coded = {**labels, "refused": refused}
    columns = []
    for name, make in _COLUMNS:
        if make is not None:
            columns.append(make(fixed[name]))
        elif name == "raw":
            nulls, present = _nulls(packed["size"] < 0)
            columns.append(Column(nulls, (present, ends, joined[:size])))
        elif name == "query":
            columns.append(_queries(page, labels["query_at"], frames, begins, is_whole))
        else:
            columns.append(_texts(coded[name], page.labels.texts))
    return assemble(count, columns, joined)


def to_batch(rows: Iterable[Row]) -> pa.RecordBatch:
    """Rows as one record batch of ``SCHEMA``."""
    page = Page(Labels())
    for row in rows:
        page.add(row)
    return encode(page).batch()


def _fixed(
    page: Page,
    packed: Numbers,
    labels: dict[str, Numbers],
    frames: Numbers,
    begins: Numbers,
    is_whole: Numbers,
) -> Any:
    """By name: the columns of fixed size."""
    if not page.whole:
        return unfold(packed, labels, frames, begins)
    whole = np.frombuffer(b"".join([row.fixed for row in page.whole]), dtype=DTYPE)
    if len(whole) == len(packed):
        return whole
    both = np.empty(len(packed), dtype=DTYPE)
    both[is_whole] = whole
    brief = np.flatnonzero(labels["protocol"] != WHOLE)
    of_brief = page.labels.of(packed["label"][brief])
    for name, values in unfold(packed[brief], of_brief, frames, begins[brief]).items():
        both[name][brief] = values
    return both


# --- numbers and words -------------------------------------------------------------------------------------


def _number(dtype: Any, *, nullable: bool) -> Callable[[Numbers], Column]:
    def make(values: Numbers) -> Column:
        nulls, present = _nulls(values == -1) if nullable else (0, _NOTHING)
        return Column(nulls, (present, np.ascontiguousarray(values, dtype=dtype)))

    return make


def _word(words: tuple[str, ...]) -> Callable[[Numbers], Column]:
    """Positions in a list of words become the words."""
    encoded = [word.encode() for word in words]
    lengths = np.array([len(word) for word in encoded], dtype=np.int32)
    assert len(words) < min(min(word) for word in encoded)  # so a position is no letter of a word

    def make(values: Numbers) -> Column:
        used = np.flatnonzero(np.bincount(values)).tolist()
        if len(used) == 1:  # as in most blocks
            word, count = encoded[used[0]], len(values)
            return Column(0, (_NOTHING, _steps(count, len(word)), word * count))
        letters = values.astype(np.uint8).tobytes()
        for position in used:
            letters = letters.replace(bytes((position,)), encoded[position])
        return Column(0, (_NOTHING, _ends(lengths[values]), letters))

    return make


def _name(*, nullable: bool) -> Callable[[Numbers], Column]:
    """Fixed-width ids as plain binary (Spark reads no fixed-size binary); zeros are null."""

    def make(values: Numbers) -> Column:
        values = np.ascontiguousarray(values)
        count, width = len(values), values.dtype.itemsize
        if not nullable:
            return Column(0, (_NOTHING, _steps(count, width), values))
        halves = values.view(np.uint64)
        nulls, present = _nulls(halves[::2] | halves[1::2] == 0)
        return Column(nulls, (present, _steps(count, width), values))

    return make


# --- texts -------------------------------------------------------------------------------------------------


def _texts(codes: Numbers, texts: Sequence[bytes]) -> Column:
    """Numbers of texts become the texts, 0 null: most are null, or the same few over and over."""
    count = len(codes)
    nulls, present = _nulls(codes == 0)
    if nulls == count:
        return Column(count, (present, np.zeros(count + 1, dtype=np.int32), _NOTHING))
    if not nulls and (codes == codes[0]).all():
        text = texts[codes[0]]
        return Column(0, (_NOTHING, _steps(count, len(text)), text * count))
    used = np.flatnonzero(np.bincount(codes))
    lengths = np.zeros(used[-1] + 1, dtype=np.int32)
    lengths[used] = [len(texts[code]) for code in used.tolist()]
    data = b"".join(map(texts.__getitem__, codes.tolist()))
    return Column(nulls, (present, _ends(lengths[codes]), data))


def _queries(page: Page, query_at: Numbers, frames: Numbers, begins: Numbers, is_whole: Numbers) -> Column:
    """Ids of queries: of brief rows they stand in the frame, after their length."""
    places = query_at.astype(np.int64)
    if not places.any() and not any(row.query is not None for row in page.whole):
        count = len(places)
        return Column(count, (bytes((count + 7) // 8), np.zeros(count + 1, dtype=np.int32), _NOTHING))
    sizes = np.where(places > 0, words_of(frames)[begins + places - 4], 0).astype(np.int32)
    absent = places == 0
    for at, row in zip(is_whole.tolist(), page.whole, strict=True):
        absent[at] = row.query is None
        sizes[at] = len(row.query or _NOTHING)
    ends = _ends(sizes)
    data: Numbers = np.empty(ends[-1], dtype=np.uint8)
    taken = np.flatnonzero(places > 0)
    lengths = sizes[taken]
    steps = np.arange(lengths.sum()) - np.repeat(_ends(lengths)[:-1], lengths)  # 0 1 2 ... of each
    data[np.repeat(ends[taken], lengths) + steps] = frames[
        np.repeat((begins + places)[taken], lengths) + steps
    ]
    for at, row in zip(is_whole.tolist(), page.whole, strict=True):
        data[ends[at] : ends[at + 1]] = np.frombuffer(row.query or _NOTHING, dtype=np.uint8)
    nulls, present = _nulls(absent)
    return Column(nulls, (present, ends, data))


# --- pieces ------------------------------------------------------------------------------------------------


def _nulls(absent: Numbers) -> tuple[int, Buffer]:
    """How many are null, and Arrow's bits of those that are not; no bits if there are none."""
    nulls = int(np.count_nonzero(absent))
    return nulls, np.packbits(~absent, bitorder="little") if nulls else _NOTHING


def _ends(sizes: Numbers) -> Numbers:
    """Where each value ends, after a zero: Arrow's offsets."""
    ends = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=ends[1:])
    return ends


def _steps(count: int, width: int) -> Numbers:
    """The same for values of one size."""
    return np.arange(count + 1, dtype=np.int32) * np.int32(width)


_NO_ROWS: Final = np.zeros(0, dtype=np.int64)
_WORDS: Final = {"protocol": PROTOCOLS, "direction": DIRECTIONS, "kind": KINDS, "recorded": RECORDED}
_NAMES: Final = ("link", "exchange", "parent")
_LONG: Final = ("endpoint", "query", "error", "refused", "coder", "raw")


def _maker(field: pa.Field) -> Callable[[Numbers], Column] | None:
    if field.name in _WORDS:
        return _word(_WORDS[field.name])
    if field.name in _NAMES:
        return _name(nullable=field.nullable)
    if field.name in _LONG:
        return None
    return _number(np.dtype(str(field.type)), nullable=field.nullable)


_COLUMNS: Final = [(field.name, _maker(field)) for field in SCHEMA]
