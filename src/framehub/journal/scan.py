"""Reading one segment of blocks, sound or damaged (spec/journal.md, section 5).

Everything is read by offset and never mapped: a writer that cuts a torn tail while we read must not kill us.
No length is believed before it fits the block limit and the file.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import pyarrow as pa

from framehub.errors import JournalError
from framehub.journal import block
from framehub.journal.block import HEADER_BYTES, Header, Opening
from framehub.journal.segments import Segment, load_node
from framehub.private import open_file

_STEP: Final = 1 << 20
_LEAST_ROW: Final = 64
"""No row takes fewer bytes on disk: bounds which numbers a block found after damage may carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A stretch of a segment that cannot be read, and the rows lost with it: those between the two seqs."""

    segment: str
    offset: int
    bytes: int
    after_seq: int | None
    before_seq: int | None
    reason: str
    torn: bool = False
    """Nothing readable follows: what a crash leaves at the end of a segment."""

    def __str__(self) -> str:
        what = "torn tail" if self.torn else "damage"
        return (
            f"{self.segment}: {what} at byte {self.offset}, {self.bytes} bytes: {self.reason} ({self.lost})"
        )

    @property
    def lost(self) -> str:
        """Which rows are lost with it, in words."""
        after, before = self.after_seq, self.before_seq
        if after is None:
            return (
                "nothing of it can be read" if before is None else f"nothing before row {before} can be read"
            )
        if before is None:
            return f"nothing after row {after} can be read"
        count = before - after - 1
        if count > 1:
            return f"rows {after + 1} to {before - 1} are lost"
        return f"row {after + 1} is lost" if count == 1 else "no row is lost"


class Block(NamedTuple):
    """One sound block of a segment."""

    offset: int
    header: Header
    body: bytes

    @property
    def end(self) -> int:
        """Where the next block begins."""
        return self.offset + HEADER_BYTES + self.header.length

    def rows(self) -> pa.RecordBatch:
        """Its rows (``record.SCHEMA``)."""
        return block.decode_rows(self.body, rows=self.header.rows)


class Extent(NamedTuple):
    """A run of whole blocks: where it lies, and its first and last row."""

    start: int
    end: int
    first_seq: int
    last_seq: int


class SegmentFile:
    """One ``.fhj`` opened for reading, up to the size it had then."""

    def __init__(self, file: Path, *, salt: int | None = None, end: int | None = None) -> None:
        self.file = file
        self._fd = open_file(file, os.O_RDONLY)
        size = os.fstat(self._fd).st_size
        self.size = size if end is None else min(size, end)
        self.salt = 0
        self.limit = block.BLOCK_LIMIT
        self.opening: Opening | None = None
        self.opening_error: str | None = None
        try:
            self._read_opening(salt)
        except BaseException:
            self.close()
            raise

    def _read_opening(self, salt: int | None) -> None:
        first = self.block_at(0)
        if first is not None and first.header.rows == 0:
            try:
                self.opening = block.decode_opening(first.body)
            except JournalError as exc:
                self.opening_error = str(exc)
        if self.opening is not None:
            self.salt, self.limit = self.opening.salt, self.opening.block_limit
        elif salt is not None:
            self.salt = salt
        elif (node := load_node(self.file.parent)) is not None:
            self.salt = node.salt

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def header_at(self, offset: int) -> Header | None:
        """The header there, if it could begin a block that lies wholly in the file."""
        header = block.read_header(os.pread(self._fd, HEADER_BYTES, offset), limit=self.limit)
        if header is None or offset + HEADER_BYTES + header.length > self.size:
            return None
        return header

    def block_at(self, offset: int) -> Block | None:
        """The block there, if its sum is right."""
        if (header := self.header_at(offset)) is None:
            return None
        data = os.pread(self._fd, HEADER_BYTES + header.length, offset)
        body = data[HEADER_BYTES:]
        if len(body) != header.length or not block.is_sound(data[:HEADER_BYTES], body, salt=self.salt):
            return None
        return Block(offset, header, body)

    def resync(self, offset: int, *, after_seq: int | None) -> Block | None:
        """The first sound block of rows after the bad one at ``offset``."""
        if (header := self.header_at(offset)) is not None:  # only its body is bad: the next is where it says
            found = self._candidate(offset + HEADER_BYTES + header.length, offset, after_seq)
            if found is not None:
                return found
        at = offset + 1
        while at < self.size:
            window = os.pread(self._fd, min(_STEP, self.size - at), at)
            place = window.find(block.MAGIC)
            while place >= 0:
                if (found := self._candidate(at + place, offset, after_seq)) is not None:
                    return found
                place = window.find(block.MAGIC, place + 1)
            if len(window) < _STEP:
                return None
            at += len(window) - len(block.MAGIC) + 1
        return None

    def _candidate(self, offset: int, bad: int, after_seq: int | None) -> Block | None:
        """The block there, unless its numbers are more than the lost bytes could have used."""
        if (header := self.header_at(offset)) is None or not header.rows:
            return None
        if after_seq is not None:
            most = after_seq + 1 + (offset - bad) // _LEAST_ROW
            if not after_seq < header.first_seq <= most:
                return None
        if header.length < header.rows * _LEAST_ROW:
            return None
        return self.block_at(offset)

    def whole_but_wrong(self, offset: int, *, after_seq: int | None) -> Header | None:
        """The header of an unsound block that was written to its end: no crash leaves that.

        A write that was cut short leaves a file that is too short, or zeros where data should be.
        """
        header = self.header_at(offset)
        if header is None or not header.rows or header.length < header.rows * _LEAST_ROW:
            return None
        if after_seq is not None and header.first_seq != after_seq + 1:
            return None
        end = offset + HEADER_BYTES + header.length
        tail = os.pread(self._fd, min(_LEAST_ROW, header.length), end - min(_LEAST_ROW, header.length))
        return header if tail.strip(b"\0") else None

    def end_of_wrong(self, offset: int, header: Header) -> int:
        """Where an unsound block ends that no sound one follows.

        Its length may be what is wrong: unless a header stands after it, it goes on to the end of the file.
        """
        end = offset + HEADER_BYTES + header.length
        return end if os.pread(self._fd, len(block.MAGIC), end) == block.MAGIC else self.size

    def why_bad(self, offset: int) -> str:
        """What is wrong with the bytes there, in words."""
        head = os.pread(self._fd, HEADER_BYTES, offset)
        if not head.strip(b"\0"):
            return "zeros where a block should begin"
        if len(head) < HEADER_BYTES:
            return "the header of a block is cut short"
        if head[:4] != block.MAGIC:
            return "no block begins here"
        length = int.from_bytes(head[4:8], "big")
        if length > self.limit:
            return f"a block of {length} bytes is over the limit of {self.limit}"
        if offset + HEADER_BYTES + length > self.size:
            return "the body of a block is cut short"
        if self.opening_error is not None and offset == 0:
            return self.opening_error
        return "the sum of a block is wrong"


def scan_segment(
    file: Path,
    *,
    salt: int | None = None,
    start: int = 0,
    start_seq: int | None = None,
    end: int | None = None,
) -> Iterator[Block | Damage]:
    """Every sound block of rows in a segment, and every stretch that is none, in order.

    ``start`` is where a block begins, with row ``start_seq``. A torn tail comes last, as a ``Damage`` with
    ``torn`` set. ``salt`` is only asked for when the opening block cannot be read; by default ``node.json``
    beside the segment is.
    """
    with SegmentFile(file, salt=salt, end=end) as segment:
        yield from _blocks(segment, start, start_seq)


def scan_listed(
    segment: Segment, *, salt: int, following: int | None, had_rows: bool
) -> Iterator[Block | Damage]:
    """As ``scan_segment``, of a segment of which more is known than what is in it.

    Where another one follows, which begins with row ``following``, or where it ``had_rows`` that were durable
    and none can be read, nothing of it is a torn tail.
    """
    lacks_rows = had_rows
    for found in scan_segment(segment.path, salt=salt):
        if isinstance(found, Damage) and found.torn and (lacks_rows or following is not None):
            yield replace(found, torn=False, before_seq=following)
        else:
            yield found
        lacks_rows = False
    if lacks_rows:
        yield Damage(
            segment=segment.path.name,
            offset=segment.path.stat().st_size,
            bytes=0,
            after_seq=segment.first_seq - 1,
            before_seq=following,
            reason="it had rows, and there are none",
        )


def _blocks(segment: SegmentFile, start: int = 0, start_seq: int | None = None) -> Iterator[Block | Damage]:
    name = segment.file.name
    named = int(segment.file.stem) if segment.file.stem.isdecimal() else None
    offset = start
    expected = start_seq if start else named
    last = expected - 1 if expected is not None else None
    if start == 0 and segment.size == 0:
        return
    if start == 0 and segment.opening is not None and (first := segment.header_at(0)) is not None:
        if named is not None and first.first_seq != named:
            reason = f"the file is named {named} and begins with row {first.first_seq}"
            yield Damage(
                segment=name, offset=0, bytes=0, after_seq=None, before_seq=first.first_seq, reason=reason
            )
        last = first.first_seq - 1
        offset = HEADER_BYTES + first.length
    while offset < segment.size:
        found = segment.block_at(offset)
        if found is not None and not found.header.rows:
            found = None  # an opening in the middle is nobody's
        reason = "" if found is not None else segment.why_bad(offset)
        if found is not None and last is not None and found.header.first_seq <= last:
            reason = f"row {found.header.first_seq} comes again"
            yield Damage(
                segment=name,
                offset=offset,
                bytes=found.end - offset,
                after_seq=last,
                before_seq=last + 1,
                reason=reason,
            )
            offset = found.end
            continue
        if found is None:
            found = segment.resync(offset, after_seq=last)
        if found is None and (whole := segment.whole_but_wrong(offset, after_seq=last)) is not None:
            after = segment.end_of_wrong(offset, whole)
            yield Damage(
                segment=name,
                offset=offset,
                bytes=after - offset,
                after_seq=last,
                before_seq=whole.last_seq + 1,
                reason=reason,
            )
            last, offset = whole.last_seq, after
            continue
        if found is None:
            yield Damage(
                segment=name,
                offset=offset,
                bytes=segment.size - offset,
                after_seq=last,
                before_seq=None,
                reason=reason,
                torn=True,
            )
            return
        first_seq = found.header.first_seq
        if reason or (last is not None and first_seq != last + 1):
            yield Damage(
                segment=name,
                offset=offset,
                bytes=found.offset - offset,
                after_seq=last,
                before_seq=first_seq,
                reason=reason or "rows are missing between two sound blocks",
            )
        yield found
        last, offset = found.header.last_seq, found.end


def extent(file: Path, *, salt: int | None = None, after_seq: int = 0) -> Extent | None:
    """What can be read of a segment now, beyond ``after_seq``: headers only, unless something is wrong."""
    with SegmentFile(file, salt=salt) as segment:
        hopped = _hop(segment, after_seq)
        if hopped is not None:
            return hopped if hopped.last_seq >= hopped.first_seq else None
        start, first, last = 0, 0, 0
        for found in _blocks(segment):
            if isinstance(found, Block) and found.header.last_seq > after_seq:
                first = first or found.header.first_seq
                last = found.header.last_seq
    return Extent(start, segment.size, first, last) if first else None


def _hop(segment: SegmentFile, after_seq: int) -> Extent | None:
    """From header to header; None when one of them leads nowhere but to more of the file."""
    if segment.opening is None or (header := segment.header_at(0)) is None:
        return None if segment.size else Extent(0, 0, 1, 0)
    offset = HEADER_BYTES + header.length
    start, first, last = offset, 0, header.last_seq
    while offset < segment.size:
        header = segment.header_at(offset)
        if header is None or not header.rows or header.first_seq != last + 1:
            whole = block.read_header(os.pread(segment._fd, HEADER_BYTES, offset), limit=segment.limit)
            short = segment.size - offset < HEADER_BYTES or (
                whole is not None and whole.first_seq == last + 1
            )
            if header is None and short:
                break  # being written, or torn
            return None
        last = header.last_seq
        offset += HEADER_BYTES + header.length
        if last <= after_seq:
            start = offset
        elif not first:
            first = header.first_seq
    return Extent(start, offset, first or last + 1, last)
