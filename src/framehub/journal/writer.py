"""The one writer of a node's journal (spec/journal.md, section 7).

``append`` runs on the caller's thread (one thread, the event loop's) and costs a deque append. A thread of
the writer's gathers rows for at most 2 ms or 256 KiB, makes a block of them, writes and syncs it; only then
are they durable. The first I/O error ends the journal for good: after a failed sync nobody knows what the
disk holds, so nothing is retried and nothing more is promised.
"""

import asyncio
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import pyarrow as pa

from framehub.errors import JournalError
from framehub.journal import block, segments
from framehub.journal.append import SegmentAppender
from framehub.journal.grouping import ROW_BYTES, take_group
from framehub.journal.record import VERSION, Row, to_batch
from framehub.journal.recovery import Recovery, recover
from framehub.journal.sealer import Sealer
from framehub.journal.settings import WriterSettings

__all__ = ["JournalWriter", "OnRows", "Waiter", "WriterSettings"]

Waiter: TypeAlias = Callable[[JournalError | None], None]
OnRows: TypeAlias = Callable[[int, pa.RecordBatch], None]

_NEVER: Final = 1 << 62
_COMMIT_BYTES: Final = 4 << 20
"""Bytes of blocks that share one sync when the disk lags behind."""


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
    ) -> None:
        """Take the lock, recover what the last writer left, start the thread.

        ``on_room`` and ``on_failure`` are called on the writer's thread.

        Raises:
            JournalLocked: another process writes this directory.
            JournalError: it cannot be written, or is another node's.
        """
        self.settings = settings or WriterSettings()
        self._on_room = on_room
        self._on_failure = on_failure
        self._held = ExitStack()
        try:
            self.node = self._enter(Path(directory), node)
            self.recovery: Recovery = recover(self.node)
        except OSError as exc:
            self._held.close()
            raise JournalError(f"{directory}: cannot be written: {exc.strerror or exc}") from exc
        except BaseException:
            self._held.close()
            raise
        self._rows: deque[Row] = deque()
        self._next_seq = self.recovery.next_seq
        self._durable = self._next_seq - 1
        self._in_bytes = 0  # only the caller's thread adds
        self._out_bytes = 0  # only the writer's thread adds
        self._threshold = _NEVER  # backlog at which `append` wakes the thread
        self._wake = threading.Event()
        self._room = threading.Event()
        self._asked_room = False
        self._hurry = False
        self._closing = False
        self._failed: JournalError | None = None
        self._refusal: JournalError | None = None
        self._waiters: deque[tuple[int, Waiter]] = deque()
        self._waiters_lock = threading.Lock()
        self._segment: SegmentAppender | None = None
        self.sealer = Sealer(self.node)
        self.on_rows: OnRows | None = None
        """Told, on the writer's thread, of rows once they are durable: the first number, and a batch."""
        self.dropped = 0
        """Rows that were not taken because the writer was full (``overflow="drop"``)."""
        self._soft = self.settings.backlog_bytes
        self._hard = self._soft if self.settings.overflow == "drop" else 2 * self._soft
        self._largest = self.settings.frame_limit + ROW_BYTES
        if self.settings.seal:
            for leftover in self.recovery.unsealed:
                self.sealer.submit(leftover)
        to_batch(())  # Arrow loads much for its first array: now, and not while the first rows wait for it
        self._thread = threading.Thread(target=self._run, name="framehub-journal", daemon=True)
        self._thread.start()

    def _enter(self, directory: Path, name: str | None) -> segments.Node:
        directory.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(segments.locked(directory))
        known = segments.load_node(directory)
        if known is not None:
            if name is not None and name != known.name:
                raise JournalError(f"{directory}: the journal of node {known.name!r}, not of {name!r}")
            return known
        if segments.segments(directory):
            raise JournalError(f"{directory}: has segments but no {segments.NODE_FILE}; restore it first")
        name = name or f"{socket.gethostname()}-{secrets.token_hex(3)}"
        return segments.create_node(directory, name, secrets.randbits(32))

    # The caller's thread.

    def append(self, row: Row) -> int:
        """Take a row and return its number; 0 if it was dropped.

        Never waits for the disk, except at twice ``backlog_bytes`` for a caller that ignored ``full``.

        Raises:
            JournalError: the journal failed or is closed, or the frame is over ``frame_limit``.
        """
        raw = row[5]
        size = ROW_BYTES if raw is None else ROW_BYTES + len(raw)
        backlog = self._in_bytes + size - self._out_bytes
        if self._refusal is not None or size > self._largest or backlog > self._hard:
            if not self._admit(size):
                return 0
            backlog = self._in_bytes + size - self._out_bytes
        self._in_bytes += size
        seq = self._next_seq
        self._next_seq = seq + 1
        self._rows.append(row)
        if backlog >= self._threshold:
            self._threshold = _NEVER
            self._wake.set()
        return seq

    def _admit(self, size: int) -> bool:
        if self._refusal is None and size > self._largest:
            got = size - ROW_BYTES
            raise JournalError(f"a frame of {got} bytes is over frame_limit, {self.settings.frame_limit}")
        while self._refusal is None and self._in_bytes != self._out_bytes:
            if self._in_bytes + size - self._out_bytes <= self._hard:
                break
            if self.settings.overflow == "drop":
                self.dropped += 1
                return False
            self._asked_room = True
            self._room.clear()
            self._wake.set()
            self._room.wait(0.05)
        if self._refusal is not None:
            raise self._refusal
        return True

    @property
    def backlog(self) -> int:
        """Bytes of rows taken and not durable yet."""
        return self._in_bytes - self._out_bytes

    @property
    def full(self) -> bool:
        """Whether the caller should stop taking frames until ``on_room`` is called."""
        if self.backlog < self._soft or self._failed is not None:
            return False
        self._asked_room = (
            True  # first the wish, then the second look: the thread does it the other way round
        )
        return self.backlog >= self._soft

    @property
    def appended(self) -> int:
        """The number of the last row taken."""
        return self._next_seq - 1

    @property
    def durable(self) -> int:
        """The number of the last durable row: it and all before it survive a power cut."""
        return self._durable

    @property
    def failed(self) -> JournalError | None:
        """Why the journal stopped for good, if it did."""
        return self._failed

    def add_waiter(self, seq: int, callback: Waiter) -> None:
        """Call back with None once row ``seq`` is durable, or with the error; at once if that is known.

        Otherwise on the writer's thread. Rows must be waited for in the order they were appended.
        """
        with self._waiters_lock:
            if seq > self._durable and self._failed is None:
                self._waiters.append((seq, callback))
                return
        callback(None if seq <= self._durable else self._failed)

    async def synced(self, seq: int) -> None:
        """Wait until row ``seq`` is durable, on an event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle(error: JournalError | None) -> None:
            if not future.done():
                future.set_exception(error) if error is not None else future.set_result(None)

        def tell(error: JournalError | None) -> None:
            loop.call_soon_threadsafe(settle, error)

        self.add_waiter(seq, tell)
        await future

    def flush(self, timeout: float | None = None) -> int:
        """Block until everything appended so far is durable; return its last number.

        Raises:
            JournalError: the journal failed, or the time is over.
        """
        seq = self.appended
        done = threading.Event()
        self._hurry = True
        self.add_waiter(seq, lambda _: done.set())
        self._wake.set()
        if not done.wait(timeout):
            raise JournalError(f"row {seq} is not durable after {timeout} s")
        if self._failed is not None and self._durable < seq:
            raise self._failed
        return seq

    def close(self, *, seal: bool = True) -> None:
        """Make everything durable, seal it (unless told not to), let go of the lock.

        Raises:
            JournalError: the journal had failed.
        """
        if self._closing:
            return
        self._refusal = self._refusal or JournalError(f"{self.node.directory}: the journal is closed")
        self._closing = True
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
            self._held.close()
        if self._failed is not None:
            raise self._failed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if exc is None:
            self.close()
            return
        with suppress(JournalError):
            self.close()

    # The writer's thread.

    def _run(self) -> None:
        try:
            started = 0.0
            while self._gather(started):
                started = time.monotonic()
                self._commit()
            if self._segment is not None:
                self._segment.finish()
        except BaseException as exc:
            self._fail(exc)

    def _gather(self, started: float) -> bool:
        """Wait for a first row, and for more if the last commit was just now; False when all is done."""
        while not self._rows:
            if self._closing:
                return False
            self._wake.clear()
            self._threshold = 0
            if not self._rows and not self._closing:
                self._wake.wait()
        self._wake.clear()
        self._threshold = self.settings.group_bytes
        wait = started + self.settings.group_seconds - time.monotonic()
        if wait > 0 and self.backlog < self.settings.group_bytes and not (self._hurry or self._closing):
            self._wake.wait(wait)
        self._threshold = _NEVER
        self._hurry = False
        return True

    def _commit(self) -> None:
        """Write what is waiting as blocks, sync once, tell who waits."""
        taken = 0
        seq = self._durable + 1
        limit = self.settings.block_limit
        on_rows, written = self.on_rows, []
        while self._rows and taken < _COMMIT_BYTES:
            for group in take_group(self._rows, group_bytes=self.settings.group_bytes, limit=limit):
                if self._segment is None:
                    self._segment = self._begin(seq)
                self._segment.write(block.encode_rows(group.batch, first_seq=seq, salt=self.node.salt))
                if on_rows is not None:
                    written.append((seq, group.batch))
                seq += group.batch.num_rows
                taken += group.bytes
            if self._segment is not None and self._segment.size >= self.settings.segment_bytes:
                break
        assert self._segment is not None
        self._segment.sync()
        self._durable = seq - 1
        self._out_bytes += taken
        if self._segment.size >= self.settings.segment_bytes:
            self._rotate()
        self._tell()
        if on_rows is not None:
            with suppress(Exception):  # whoever looks on must not stop the journal
                for first_seq, batch in written:
                    on_rows(first_seq, batch)

    def _begin(self, first_seq: int) -> SegmentAppender:
        opening = block.Opening(
            self.node.name, VERSION, time.time_ns(), self.node.salt, self.settings.block_limit
        )
        return SegmentAppender(self.node.directory, opening, first_seq=first_seq)

    def _rotate(self) -> None:
        assert self._segment is not None
        done, self._segment = self._segment, None
        done.finish()
        if self.settings.seal:
            self.sealer.submit(done.path)

    def _tell(self) -> None:
        ready: list[Waiter] = []
        with self._waiters_lock:
            while self._waiters and (self._failed is not None or self._waiters[0][0] <= self._durable):
                ready.append(self._waiters.popleft()[1])
        for callback in ready:
            with suppress(
                Exception
            ):  # a waiter that went away (its loop is closed) must not stop the journal
                callback(self._failed)
        if self._asked_room and (self.backlog <= self._soft // 2 or self._failed is not None):
            self._asked_room = False
            self._room.set()
            if self._on_room is not None:
                with suppress(Exception):
                    self._on_room()

    def _fail(self, exc: BaseException) -> None:
        """Stop for good."""
        reason = exc.strerror if isinstance(exc, OSError) else repr(exc)
        failed = JournalError(f"{self.node.directory}: the journal stopped at row {self._durable}: {reason}")
        failed.__cause__ = exc
        self._failed = self._refusal = failed
        self._asked_room = True
        if self._segment is not None:
            with suppress(OSError):
                self._segment.abandon()
        self._tell()
        if self._on_failure is not None:
            with suppress(Exception):
                self._on_failure(failed)
