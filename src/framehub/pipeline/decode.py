"""Recorded bytes decoded again, a batch at a time: no Python for each row (spec/audit.md, section 6).

``decode`` takes a record batch of journal rows and gives, protocol by protocol, what ``raw`` says;
``decoded`` is the same as one record batch for people.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from framehub.journal.record import DIRECTIONS, KINDS, PROTOCOLS, RECORDED, WHOLE
from framehub.pipeline import decode_hub, decode_mfp, decode_rpc
from framehub.pipeline.decoded import NONE, UNLAWFUL, VERDICTS, WRONG_SUM, Decoded
from framehub.pipeline.spans import Flags, Numbers, Spans, numbers, present

NOT_FRAMES: Final = ("refused", "link_opened", "link_closed")
"""Kinds of rows that are never decoded."""
COLUMNS: Final = ("protocol", "version", "direction", "kind", "ref", "refused", "recorded", "raw")
"""What ``decode`` needs of the rows."""

_NUMBERS: Final = {
    "head": pa.int16(),
    "id": pa.int64(),
    "ref": pa.int64(),
    "key": pa.int64(),
    "code": pa.int16(),
    "payload_at": pa.int32(),
    "payload_bytes": pa.int32(),
    "files": pa.int32(),
}
DECODED: Final = pa.schema(
    [
        pa.field("node", pa.string()),
        pa.field("seq", pa.int64()),
        pa.field("protocol", pa.string()),
        pa.field("verdict", pa.string()),
        pa.field("kind", pa.string()),
        *(pa.field(name, type_) for name, type_ in _NUMBERS.items()),
        pa.field("query", pa.binary()),
        pa.field("endpoint", pa.string()),
    ]
)
"""Columns of ``decoded``; all but the first three are read from the bytes, and null if they are unlawful."""
DECODED_COLUMNS: Final = ("node", "seq", *COLUMNS)

_SKIPPED: Final = np.array([kind in NOT_FRAMES for kind in KINDS] + [False])
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "protocol": PROTOCOLS,
    "direction": DIRECTIONS,
    "kind": KINDS,
    "recorded": RECORDED,
}
_WHOLE: Final = np.array([how in WHOLE for how in RECORDED])


class Columns:
    """Columns of a batch as numbers, each made once; words are told by their position, null is ``NONE``."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self._made: dict[str, Numbers] = {}

    def __getitem__(self, name: str) -> Numbers:
        found = self._made.get(name)
        if found is None:
            column = self.batch.column(name)
            found = words(column, _WORDS[name]) if name in _WORDS else numbers(column)
            self._made[name] = found
        return found


class Group(NamedTuple):
    """The frames of one protocol in a batch."""

    protocol: str
    rows: Numbers
    """Their places in the batch."""
    raw: Spans
    decoded: Decoded


def decode(columns: Columns) -> Iterator[Group]:
    """Decode every row whose bytes were recorded whole, but those that were not taken and links' own."""
    batch = columns.batch
    raw = Spans.of(batch.column("raw"))
    looked_at = ~_SKIPPED[columns["kind"]] & _WHOLE[columns["recorded"]]
    if batch.column("refused").null_count < batch.num_rows:
        looked_at &= ~present(batch.column("refused"))
    for number, protocol in enumerate(PROTOCOLS):
        rows = np.flatnonzero(looked_at & (columns["protocol"] == number))
        if len(rows):
            frames = raw.take(rows)
            yield Group(protocol, rows, frames, _decode(columns, protocol, rows, frames))


def _decode(columns: Columns, protocol: str, rows: Numbers, raw: Spans) -> Decoded:
    if protocol == "mfp":
        return decode_mfp.decode(raw)
    direction = columns["direction"][rows]
    if protocol == "rpc":
        return decode_rpc.decode(raw, direction)
    return decode_hub.decode(raw, columns["version"][rows], direction, columns["ref"][rows] != NONE)


def reason(columns: Columns, group: Group, place: int) -> str:
    """Why one frame of a group is unlawful, or what is wrong with its checksum."""
    frame, row = group.raw.bytes(place), group.rows[place]
    if group.decoded.verdict[place] == WRONG_SUM:
        return decode_mfp.wrong_sum(frame)
    if group.protocol == "mfp":
        return decode_mfp.reason(frame)
    direction = int(columns["direction"][row])
    if group.protocol == "rpc":
        return decode_rpc.reason(frame, direction)
    at_service = bool(columns["ref"][row] != NONE)
    return decode_hub.reason(frame, int(columns["version"][row]), direction, at_service=at_service)


def words(column: pa.Array, known: tuple[str, ...]) -> Numbers:
    """A column of words as positions in a list of them; ``NONE`` for others."""
    # Not ``index_in``: making it a list of words would load all of pandas.
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    places = {word: place for place, word in enumerate(known)}
    found = [places.get(word, NONE) for word in encoded.dictionary.to_pylist()]
    return np.array([*found, NONE]).take(numbers(encoded.indices))


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What the bytes of a batch say (``DECODED``), in the order of its rows."""
    pieces, places = [], []
    for group in decode(Columns(batch)):
        pieces.append(_columns(batch, group))
        places.append(group.rows)
    if not pieces:
        return empty(DECODED)
    whole = pa.Table.from_batches(pieces).combine_chunks()
    if len(pieces) > 1:
        whole = whole.take(pa.array(np.argsort(np.concatenate(places))))
    return whole.combine_chunks().to_batches()[0]


def empty(schema: pa.Schema) -> pa.RecordBatch:
    """No rows of this schema."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _columns(batch: pa.RecordBatch, group: Group) -> pa.RecordBatch:
    verdict, said, texts = group.decoded.verdict, group.decoded.numbers, group.decoded.texts
    hidden: Any = verdict == UNLAWFUL
    at = pa.array(group.rows)
    count = len(group.rows)
    columns = [batch.column(name).take(at) for name in ("node", "seq")]
    columns.append(pa.repeat(pa.scalar(group.protocol), count))
    columns.append(pa.array(VERDICTS).take(pa.array(verdict)))
    columns.append(pa.array(KINDS).take(_nullable(said["kind"], pa.int64(), hidden)))
    columns += [
        _nullable(said[name], type_, hidden) if name in said else pa.nulls(count, type_)
        for name, type_ in _NUMBERS.items()
    ]
    for name, type_ in (("query", pa.binary()), ("endpoint", pa.string())):
        if name in texts:
            shown = texts[name].within(texts[name].start, np.where(hidden, NONE, texts[name].size))
            columns.append(shown.to_arrow().cast(type_))
        else:
            columns.append(pa.nulls(count, type_))
    return pa.RecordBatch.from_arrays(columns, schema=DECODED)


def _nullable(values: Numbers, type_: pa.DataType, hidden: Flags) -> pa.Array:
    return pa.array(values, mask=hidden | (values == NONE)).cast(type_)
