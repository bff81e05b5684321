"""The one writer of a node's journal (spec/journal.md, section 7).

``append`` and ``gathering`` run on the caller's thread (one thread, the event loop's) and cost a copy of the
frame. A thread of the writer's waits for rows for at most 20 ms or 1 MiB, 2 ms or 256 KiB if somebody waits
for one of them, makes a block of them, writes and syncs it; only then are they durable. The first I/O error
ends the journal for good: after a failed sync nobody knows what the disk holds, so nothing is retried and
nothing more is promised.
"""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import pyarrow as pa

from framehub.errors import JournalError
from framehub.journal import block, segments
from framehub.journal.append import SegmentAppender, begin, said
from framehub.journal.columns import encode, to_batch
from framehub.journal.gathering import Gathering
from framehub.journal.ledger import FULL_ROWS
from framehub.journal.notes import QUICKEST, Notes
from framehub.journal.page import Page
from framehub.journal.record import Row
from framehub.journal.recovery import Recovery, recover
from framehub.journal.room import Room
from framehub.journal.sealer import Sealer
from framehub.journal.settings import WriterSettings
from framehub.journal.waiters import Waiter, Waiters, told
from framehub.private import make_directory

__all__ = ["JournalWriter", "OnRows", "Waiter", "WriterSettings"]

OnRows: TypeAlias = Callable[[int, pa.RecordBatch], None]

_COMMIT_BYTES: Final = 4 << 20
"""Bytes of blocks that share one sync when the disk lags behind."""
_REST_SECONDS: Final = 5.0
"""After so long without a row most memory for rows is given back; so often all is looked at."""


class JournalWriter:
    """Append rows; know when they are durable. Open, it holds the directory's lock."""

    def __init__(
        self,
        directory: Path | str,
        *,
        node: str | None = None,
        settings: WriterSettings | None = None,
        on_room: Callable[[], None] | None = None,
        on_failure: Callable[[JournalError], None] | None = None,
        kind: type[Notes] = QUICKEST,
    ) -> None:
        """Take the lock, recover what the last writer left, start the thread.

        ``on_room`` and ``on_failure`` are called on the writer's thread, ``on_full`` by ``take``. ``kind`` is
        how brief rows are noted.

        Raises:
            JournalLocked: another process writes this directory.
            JournalError: it cannot be written, others can write there too, or it is another node's or user's.
        """
        self.settings = settings or WriterSettings()
        self.on_full: Callable[[], None] | None = None
        """Called when a row that is taken makes the writer ``full``, unless rows are dropped then."""
        self._on_failure = on_failure or (lambda _: None)
        self.held = ExitStack()
        """Let go of once nothing is written any more, the lock last."""
        directory = Path(directory).absolute()  # wherever the process goes
        try:
            make_directory(directory)
            self._lock = self.held.enter_context(segments.locked(directory))
            self.node = segments.open_node(directory, node)
            self.recovery: Recovery = recover(self.node)
        except OSError as exc:
            self.held.close()
            where, why = exc.filename or directory, exc.strerror or exc
            raise JournalError(f"{where}: cannot be written: {why}") from exc
        except BaseException:
            self.held.close()
            raise
        self._waiters = Waiters(self.recovery.next_seq - 1)
        self.gathering = Gathering(self.settings, self.recovery.next_seq - 1, kind=kind)
        self.notes = self.gathering.notes
        """Where brief rows are added."""
        self.notes.attend = self.attend
        self._wake = threading.Event()
        self._room = Room(self.gathering, self.settings, self._wake, on_room)
        self._hurry = self._closing = False
        self._failed: JournalError | None = None
        self._segment: SegmentAppender | None = None
        self._looked = time.monotonic()
        self.sealer = Sealer(self.node)
        self.on_rows: OnRows | None = None
        """Told, on the writer's thread, of rows once they are durable: the first number, and a batch."""
        if self.settings.seal:
            for leftover in self.recovery.unsealed:
                self.sealer.submit(leftover)
        to_batch(())  # the first one loads much: now, and not while the first rows wait for it
        self._thread = threading.Thread(target=self._run, name="framehub-journal", daemon=True)
        self._thread.start()

    # The caller's thread.

    def take(self, row: Row) -> None:
        """Take a row, as ``append`` does, on the hot path.

        A writer that is full calls ``on_full``; one that has failed takes nothing, and its owner was told.

        Raises:
            JournalError: the journal is closed, or the frame is over ``frame_limit``.
        """
        raw = row.raw
        if raw is not None and len(raw) > self.settings.frame_limit:
            raise self._too_large(raw)
        if self._room.drops and self._room.lacks(row.size):
            self._room.drop()
        elif self.gathering.add(row)[1]:
            self.attend()

    def append(self, row: Row) -> int:
        """Take a row and return its number; 0 if it was dropped.

        Never waits for the disk, except at twice ``backlog_bytes`` for a caller that ignored ``full``.

        Raises:
            JournalError: the journal failed or is closed, or the frame is over ``frame_limit``.
        """
        if self._room.refusal is not None:
            raise self._room.refusal
        size = row.size
        if row.raw is not None and len(row.raw) > self.settings.frame_limit:
            raise self._too_large(row.raw)
        if self._room.lacks(size):
            if self._room.drops:
                self._room.drop()
                return 0
            self._room.wait(size)
        seq, is_due = self.gathering.add(row)
        if is_due:
            self.attend()
        return seq

    def _too_large(self, raw: bytes) -> JournalError:
        limit = self.settings.frame_limit
        return JournalError(f"a frame of {len(raw)} bytes is over frame_limit, {limit}")

    def attend(self) -> None:
        """Do what there is to do: a page is full, or the thread waits for a row."""
        gathering = self.gathering
        if self._room.refusal is not None:
            gathering.notes.every_row = True
            gathering.drop()
            if self._failed is not None:
                return
            raise self._room.refusal
        if not gathering.attend():
            return
        self._wake.set()
        if self._room.is_short:
            self._crowded()

    def _crowded(self) -> None:
        """The disk does not keep up."""
        if self._room.drops:
            self._room.drop_from_now()
            return
        if self.on_full is not None and self.full:
            self.on_full()
        try:
            self._room.wait(0)
        except JournalError:
            if self._failed is None:
                raise

    @property
    def dropped(self) -> int:
        """Rows that were not taken because the writer was full (``overflow="drop"``)."""
        return self.notes.dropped

    @property
    def backlog(self) -> int:
        """Bytes of rows taken and not durable yet."""
        return self.gathering.backlog

    @property
    def full(self) -> bool:
        """Whether the caller should stop taking frames until ``on_room`` is called."""
        return self._failed is None and self._room.ask()

    @property
    def appended(self) -> int:
        """The number of the last row taken."""
        return self.gathering.last

    @property
    def durable(self) -> int:
        """The number of the last durable row: it and all before it survive a power cut."""
        return self._waiters.durable

    @property
    def failed(self) -> JournalError | None:
        """Why the journal stopped for good, if it did."""
        return self._failed

    def add_waiter(self, seq: int, callback: Waiter) -> None:
        """Call back with None once row ``seq`` is durable, or with the error; at once if that is known.

        Otherwise on the writer's thread. Rows must be waited for in the order they were appended.
        """
        if self._waiters.add(seq, callback):
            self._wake.set()

    async def synced(self, seq: int) -> None:
        """Wait until row ``seq`` is durable, on an event loop."""
        await told(partial(self.add_waiter, seq))

    def flush(self, timeout: float | None = None) -> int:
        """Block until everything appended so far is durable; return its last number.

        Raises:
            JournalError: the journal failed, or the time is over.
        """
        seq = self.appended
        done = threading.Event()
        self._hurry = True
        self.add_waiter(seq, lambda _: done.set())
        self._wake.set()  # also if nobody was to be waited for
        if not done.wait(timeout):
            raise JournalError(f"row {seq} is not durable after {timeout} s")
        if self._failed is not None and self.durable < seq:
            raise self._failed
        return seq

    def close(self, *, seal: bool = True) -> None:
        """Make everything durable, seal it (unless told not to), let go of the lock.

        Raises:
            JournalError: the journal had failed.
        """
        if self._closing:
            return
        if self._room.refusal is None:
            self._room.refusal = JournalError(f"{self.node.directory}: the journal is closed")
        self._closing = self.notes.every_row = True
        self._wake.set()
        self._thread.join()
        try:
            last = self._segment.path if self._segment is not None else None
            if self._failed is None and last is not None and seal:
                self.sealer.submit(last)
            if seal and not self.settings.seal:
                for leftover in self.recovery.unsealed:
                    self.sealer.submit(leftover)
            self.sealer.close(finish=seal)
        finally:
            self.held.close()
        if self._failed is not None:
            raise self._failed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(*(() if exc is None else (JournalError,))):
            self.close()

    # The writer's thread.

    def _run(self) -> None:
        try:
            started = 0.0
            while self._gather(started):
                started = time.monotonic()
                if self.gathering.pages:  # or what there was has been dropped meanwhile
                    self._commit()
                if started - self._looked > _REST_SECONDS:
                    self._look()
            self._look()
            if self._segment is not None:
                self._segment.finish()
        except BaseException as exc:
            self._fail(exc)

    def _gather(self, started: float) -> bool:
        """Wait for a first row, and for more if the last commit was just now; False when all is done."""
        settings, gathering = self.settings, self.gathering
        while True:
            self._wake.clear()
            if gathering.is_empty:
                gathering.notes.every_row = True
                if gathering.is_empty:
                    if self._closing:
                        return False
                    left = self._looked + _REST_SECONDS - time.monotonic()
                    if not self._wake.wait(max(0.0, left)):
                        self._look()
                        if self._looked - started > _REST_SECONDS:
                            gathering.rest()
                continue
            if self._hurry or self._closing:
                self._hurry = False
                gathering.turn()
                return True
            if gathering.pages:
                return True
            size, seconds = settings.gather_bytes, settings.gather_seconds
            if self._waiters:
                size, seconds = min(size, settings.group_bytes), settings.group_seconds
            wait = started + seconds - time.monotonic()
            if wait <= 0 or gathering.pending >= size:
                gathering.turn()
                return True
            self._wake.wait(wait)

    def _commit(self) -> None:
        """Write what is waiting as blocks, sync once, tell who waits."""
        pages = self.gathering.pages
        first_seq, size = self.durable + 1, 0
        written: list[Page] = []
        on_rows, seen = self.on_rows, []
        while pages and size < _COMMIT_BYTES:
            page = pages.popleft()
            written.append(page)
            size += page.bytes
            body = encode(page)
            if self._segment is None:
                self._look()
                self._segment = begin(self.node, first_seq, self.settings.block_limit)
            head = block.head_of(body, first_seq=first_seq, salt=self.node.salt)
            self._segment.write(head, body.front, body.back)
            if on_rows is not None:
                seen.append((first_seq, body.batch()))
            first_seq += body.rows
            if self._is_full(self._segment, first_seq):
                break
        assert self._segment is not None
        self._segment.sync()
        del body  # it is a view of the last page
        self.gathering.written(written)
        if self._is_full(self._segment, first_seq):
            self._rotate()
        self._tell(first_seq - 1)
        if on_rows is not None:
            with suppress(Exception):  # whoever looks on must not stop the journal
                for first, batch in seen:
                    on_rows(first, batch)

    def _look(self) -> None:
        """Whether all is where it was, and the segment is not too old."""
        self._looked = time.monotonic()
        self._lock.stand()
        self.node.stand()
        if self._segment is not None:
            self._segment.stand()
            if self._segment.age >= self.settings.segment_seconds:
                self._rotate()

    def _is_full(self, segment: SegmentAppender, next_seq: int) -> bool:
        return segment.size >= self.settings.segment_bytes or next_seq - segment.first_seq >= FULL_ROWS

    def _rotate(self) -> None:
        assert self._segment is not None
        done, self._segment = self._segment, None
        done.finish()
        if self.settings.seal:
            self.sealer.submit(done.path)

    def _tell(self, durable: int) -> None:
        self._waiters.tell(durable, self._failed)
        self._room.look(failed=self._failed is not None)

    def _fail(self, exc: BaseException) -> None:
        """Stop for good."""
        where = f"{self.node.directory}: the journal stopped at row {self.durable}"
        failed = JournalError(f"{where}: {said(exc)}")
        failed.__cause__ = exc
        self._failed = self._room.refusal = failed
        self.notes.every_row = True
        if self._segment is not None:
            with suppress(OSError):
                self._segment.abandon()
        self._tell(self.durable)
        with suppress(Exception):
            self._on_failure(failed)
