"""Binary frames, in order, to the files that they carry: counted and hashed, one frame at a time in hand.

This runs in Python beside Spark: no function of Spark's hashes on from row to row.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from framehub.journal.carried import HEAD_BYTES, data_end, sum_of_opening

OPENING: Final = pa.struct(
    [
        ("seq", pa.int64()),
        ("time_ns", pa.int64()),
        ("direction", pa.string()),
        ("link", pa.binary()),
        ("user", pa.int32()),
        ("endpoint", pa.string()),
        ("how", pa.string()),
    ]
)
"""The message that announced files or opened a stream."""
CARRIED: Final = pa.struct(
    [
        ("seq", pa.int64()),
        ("time_ns", pa.int64()),
        ("link", pa.binary()),
        ("user", pa.int32()),
        ("last_seq", pa.int64()),
        ("frames", pa.int64()),
        ("bytes", pa.int64()),
        ("complete", pa.bool_()),
        ("sha256", pa.string()),
    ]
)
"""What has come of a file."""
DIGESTS: Final = pa.schema(
    [
        ("node", pa.string()),
        ("exchange", pa.binary()),
        ("key", pa.int64()),
        ("open", OPENING),
        ("carried", CARRIED),
    ]
)


def digests(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row per announced file that came, and per file of a stream (``DIGESTS``).

    The rows that come are openings and binary frames, by (node, exchange, key, seq): an opening, whose key
    is null, stands before the frames of its exchange. Its columns are ``about`` (``OPENING``), ``end`` (the
    last row of its stream, if that has come), ``complete`` and ``opening`` (head and sizes of the message); a
    frame's are ``seq``, ``time_ns``, ``link``, ``user``, ``direction``, ``how``, ``head``, ``bytes`` and
    ``raw``.
    """
    reading = _Reading()
    for batch in batches:
        yield _as_batch(reading.read(batch))
    yield _as_batch(reading.done())


def _as_batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=DIGESTS)


class _Reading:
    """Where we are: in an exchange, and in one of its files."""

    def __init__(self) -> None:
        self._exchange: tuple[str, bytes] | None = None
        self._opening: dict[str, Any] = {}
        self._sum: int | None = None
        self._file: _File | None = None

    def read(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """Files that ended in this batch."""
        found = []
        raws = batch.column("raw")
        for place, row in enumerate(batch.drop_columns(["raw"]).to_pylist()):
            exchange = (row["node"], row["exchange"])
            if row["about"] is not None:
                found += self.done()
                self._exchange, self._opening = exchange, row
                self._sum = sum_of_opening(**row["opening"])
            elif exchange == self._exchange and self._belongs(row):
                if self._file is None or not self._file.goes_on(row):
                    found += self.done()
                    self._file = _File(row, self._opening)
                self._file.add(row, raws[place].as_buffer(), self._sum)
        return found

    def done(self) -> list[dict[str, Any]]:
        """The file in hand, if there is one."""
        file, self._file = self._file, None
        return [] if file is None else [file.row()]

    def _belongs(self, row: dict[str, Any]) -> bool:
        """Whether a frame is one of those that the opening speaks of; a stream has nothing after its end."""
        about, end = self._opening["about"], self._opening["end"]
        fits = row["direction"] == about["direction"] and row["how"] == about["how"]
        return fits and (row["how"] == "announced" or end is None or row["seq"] <= end)


class _File:
    """One file on its way."""

    def __init__(self, first: dict[str, Any], opening: dict[str, Any]) -> None:
        self._first = first
        self._opening = opening
        self._last_seq = first["seq"]
        self._frames = self._bytes = 0
        self._complete = first["how"] == "announced" or bool(opening["complete"])
        self._hash = hashlib.sha256() if self._complete else None

    def goes_on(self, row: dict[str, Any]) -> bool:
        """Whether a frame of the same exchange is the next of this file: an announced one has but one."""
        return bool(row["how"] == "streamed" and row["key"] == self._first["key"])

    def add(self, row: dict[str, Any], raw: pa.Buffer | None, opening_sum: int | None) -> None:
        """One more frame; without all of its bytes there will be no hash."""
        whole = raw if raw is not None and raw.size == row["bytes"] else None
        end = data_end(row["head"], row["bytes"], whole, opening_sum)
        self._frames += 1
        self._bytes += max(0, end - HEAD_BYTES)
        self._last_seq = row["seq"]
        if whole is None:
            self._hash = None
        elif self._hash is not None:
            self._hash.update(memoryview(whole)[HEAD_BYTES:end])

    def row(self) -> dict[str, Any]:
        """What came of it."""
        carried = {
            **{name: self._first[name] for name in ("seq", "time_ns", "link", "user")},
            "last_seq": self._last_seq,
            "frames": self._frames,
            "bytes": self._bytes,
            "complete": self._complete,
            "sha256": None if self._hash is None else self._hash.hexdigest(),
        }
        about = {name: self._first[name] for name in ("node", "exchange", "key")}
        return about | {"open": self._opening["about"], "carried": carried}
