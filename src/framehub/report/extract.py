"""Files that went through the gateway: which the tables know, and their bytes out of the journal.

Only pyarrow: this needs no Spark. A file is written under a name of ours; what a stranger called it is data,
and goes into ``files.jsonl`` beside it. Nothing is overwritten, and no link is followed.
"""

import json
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from framehub.codes import BinaryKind
from framehub.errors import PipelineError
from framehub.journal.carried import HEAD_BYTES, data_end, sum_of_opening
from framehub.journal.reader import OnDamage, nodes, read_part, snapshot
from framehub.journal.record import WHOLE
from framehub.report.outfiles import OutDirectory, OutFile

_COLUMNS: Final = [
    *("node", "seq", "last_seq", "time", "link", "user", "protocol", "direction", "endpoint", "exchange"),
    *("how", "key", "name", "type", "bytes", "frames", "complete", "sha256"),
]
_ROWS: Final = [
    *("seq", "protocol", "direction", "kind", "head", "key", "bytes", "payload_at", "payload_bytes", "files"),
    *("exchange", "recorded", "raw"),
]
_AT_ONCE: Final = 4096
"""Files that are looked for in one pass over a stretch of the journal."""
_NEAR: Final = 65_536
"""Rows between two files that are rather read than skipped: a group of rows in a sealed segment."""
_TWO_U32: Final = struct.Struct(">II")
_HEX: Final = re.compile(r"[0-9a-f]{1,32}")

Row = dict[str, Any]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Files of the tables, by (node, seq, key)."""

    table: pa.Table
    journal: Path
    """What the tables were made of."""

    @property
    def bytes(self) -> int:
        """Of those that can be written."""
        whole = pc.and_(self.table["complete"], pc.is_valid(self.table["sha256"]))
        return int(pc.sum(self.table["bytes"].filter(whole)).as_py() or 0)

    def rows(self) -> Iterator[Row]:
        """One after the other."""
        for batch in self.table.to_batches(_AT_ONCE):
            yield from batch.to_pylist()


class Written(NamedTuple):
    """What became of a file."""

    row: Row
    file: str | None
    """Its name in the directory; None if it was not written."""
    error: str | None = None
    """Why not, if it should have been."""


def listed(
    out: Path, *, endpoint: str | None = None, exchange: str | None = None, limit: int | None = None
) -> Listed:
    """The files that the tables in ``out`` know; of one endpoint, or of an exchange whose id begins so.

    Raises:
        PipelineError: there are no tables, they cannot be read, or ``exchange`` is none.
    """
    place = (out / "current").resolve()
    try:
        manifest = json.loads((place / "manifest.json").read_bytes())
        source = ds.dataset(place / "files", format="parquet", partitioning="hive")
    except (OSError, ValueError) as exc:
        hint = f"make them with `framehub pipeline run JOURNAL {out}`"
        raise PipelineError(f"no table of files in {out}: {hint}") from exc
    chosen = pc.scalar(True)
    if endpoint is not None:
        chosen &= pc.field("endpoint") == endpoint
    if exchange is not None:
        if not _HEX.fullmatch(exchange.lower()):
            raise PipelineError(f"{exchange!r} is no exchange: want up to 32 hex digits")
        chosen &= pc.starts_with(pc.field("exchange"), exchange.lower())
    try:
        table = source.to_table(columns=_COLUMNS, filter=chosen)
    except (OSError, pa.ArrowException) as exc:
        raise PipelineError(f"the tables in {place} cannot be read: {exc}") from exc
    ordered = table.sort_by([(name, "ascending") for name in ("node", "seq", "key")])
    return Listed(table=ordered.slice(0, limit), journal=Path(manifest["journal"]))


def extract(
    files: Listed,
    target: Path,
    *,
    journal: Path | None = None,
    progress: Progress | None = None,
    on_damage: OnDamage | None = None,
) -> Iterator[Written]:
    """Write every complete file whose bytes were recorded to ``target``, and tell of each file in order.

    ``progress`` is told of bytes as they are written. A file that is not what the tables say is removed.

    Raises:
        JournalError: there is no journal.
        PipelineError: the directory cannot be written, or has an index already.
    """
    place = files.journal if journal is None else journal
    nodes(place)  # a wrong path must not leave a directory behind
    with OutDirectory(target) as directory:
        for rows in _windows(files):
            yield from _Pass(directory, rows, progress or _silently).run(place, on_damage)


def _windows(files: Listed) -> Iterator[list[Row]]:
    """A bounded number of files at a time, all of one node."""
    window: list[Row] = []
    for row in files.rows():
        if window and (len(window) == _AT_ONCE or row["node"] != window[0]["node"]):
            yield window
            window = []
        window.append(row)
    if window:
        yield window


class _Stream:
    """A streamed file and what its opening says."""

    def __init__(self, row: Row, out: OutFile) -> None:
        self.row = row
        self.out = out
        self.sum: int | None = None

    def take(self, frame: Row) -> bytes | None:
        """What a frame of its exchange carries of it."""
        if frame["seq"] == self.row["seq"]:
            self.sum = sum_of_opening(frame["head"], frame["bytes"], frame["payload_bytes"], frame["files"])
            return None
        chunk = frame["kind"] == "binary" and frame["head"] >> 1 & 3 == BinaryKind.STREAMING
        ours = chunk and frame["key"] == self.row["key"] and frame["direction"] == self.row["direction"]
        if not ours or not self.row["seq"] < frame["seq"] <= self.row["last_seq"]:
            return None
        raw: bytes = frame["raw"]
        return raw[HEAD_BYTES : data_end(frame["head"], frame["bytes"], raw, self.sum)]


class _Pass:
    """One pass over a stretch of a node's journal, for some files."""

    def __init__(self, directory: OutDirectory, rows: list[Row], progress: Progress) -> None:
        self._rows = rows
        self._progress = progress
        self._outs: list[OutFile | None] = []
        self._in_frames: dict[int, list[tuple[Row, OutFile]]] = {}
        self._streams: dict[bytes, list[_Stream]] = {}
        for row in rows:
            out = None
            if row["complete"] and row["sha256"] is not None:
                out = directory.file(f"{row['exchange'] or 'none'}-{row['seq']}-{row['key']}", row)
                if row["how"] == "streamed":
                    streams = self._streams.setdefault(bytes.fromhex(row["exchange"]), [])
                    streams.append(_Stream(row, out))
                else:
                    self._in_frames.setdefault(row["seq"], []).append((row, out))
            self._outs.append(out)

    def run(self, journal: Path, on_damage: OnDamage | None) -> Iterator[Written]:
        """Read and write, then tell."""
        try:
            for first, last in self._spans():
                node = self._rows[0]["node"]
                for part in snapshot(journal, after={node: first - 1}, upto={node: last}):
                    for batch in read_part(part, columns=_ROWS, on_damage=on_damage):
                        self._read(batch)
            for row, out in zip(self._rows, self._outs, strict=True):
                error = None if out is None else out.finish()
                yield Written(row, None if out is None or error else out.name, error)
        finally:
            for out in self._outs:
                if out is not None:
                    out.abandon()

    def _spans(self) -> list[tuple[int, int]]:
        """Stretches of rows that hold the files, in order."""
        spans: list[tuple[int, int]] = []
        for row, out in zip(self._rows, self._outs, strict=True):
            if out is None:
                continue
            if spans and row["seq"] <= spans[-1][1] + _NEAR:
                spans[-1] = (spans[-1][0], max(spans[-1][1], row["last_seq"]))
            else:
                spans.append((row["seq"], row["last_seq"]))
        return spans

    def _read(self, batch: pa.RecordBatch) -> None:
        frames = pc.is_in(batch.column("seq"), pa.array(list(self._in_frames), pa.int64()))
        streams = pc.is_in(batch.column("exchange"), pa.array(list(self._streams), pa.binary()))
        whole = pc.is_in(batch.column("recorded"), pa.array(WHOLE))
        recorded = pc.and_(whole, pc.is_valid(batch.column("raw")))
        for frame in batch.filter(pc.and_(recorded, pc.or_(frames, streams))).to_pylist():
            for row, out in self._in_frames.get(frame["seq"], ()):
                self._write(out, _file_in(frame, row))
            for stream in self._streams.get(frame["exchange"], ()):
                self._write(stream.out, stream.take(frame))

    def _write(self, out: OutFile, data: bytes | None) -> None:
        if data is not None:
            out.write(data)
            self._progress(len(data))


def _file_in(frame: Row, row: Row) -> bytes | None:
    """The file in a frame that carries all of it; None if it is not there."""
    raw: bytes = frame["raw"]
    if row["how"] == "announced":
        return raw[HEAD_BYTES : HEAD_BYTES + row["bytes"]]
    try:
        if frame["protocol"] == "rpc":
            size, table = _TWO_U32.unpack_from(raw, frame["payload_at"])
            at, count = frame["payload_at"] + 8 + size, table // 8
        else:
            before = (9 if frame["kind"] == "response" else 5) + 4 * (frame["head"] & 1) + 4
            at, count = before + (frame["payload_bytes"] or 0), frame["files"]
        body = at + 8 * count
        for place in range(count):
            key, size = _TWO_U32.unpack_from(raw, at + 8 * place)
            if key == row["key"]:
                return raw[body : body + size]
            body += size
    except (struct.error, TypeError):
        pass  # another journal's row
    return None


def _silently(size: int) -> None:
    """Tell nobody."""
