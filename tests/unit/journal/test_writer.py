import asyncio
import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from framehub.errors import JournalError, JournalLocked
from framehub.journal import reader
from framehub.journal.append import SegmentAppender
from framehub.journal.record import Row
from framehub.journal.writer import JournalWriter, WriterSettings


def numbers(path: Path) -> list[int]:
    return [seq for batch in reader.read(path, columns=["seq"]) for seq in batch.column("seq").to_pylist()]


def test_rows_are_numbered_from_one_and_read_back(tmp_path: Path, row: Callable[..., Row]) -> None:
    with JournalWriter(tmp_path, node="a") as writer:
        assert [writer.append(row(number)) for number in range(1, 6)] == [1, 2, 3, 4, 5]
        assert writer.flush(5) == 5
        assert (writer.durable, writer.appended, writer.backlog) == (5, 5, 0)
        raws = [raw for batch in reader.read(tmp_path) for raw in batch.column("raw").to_pylist()]
        assert raws == [b"frame %d" % number for number in range(1, 6)]
    assert [part.kind for part in reader.snapshot(tmp_path)] == ["parquet"]


def test_numbers_go_on_where_the_last_writer_ended(tmp_path: Path, row: Callable[..., Row]) -> None:
    for seal in (True, False, False):
        writer = JournalWriter(tmp_path, node="a", settings=WriterSettings(seal=False))
        writer.append(row(1))
        writer.close(seal=seal)
    assert numbers(tmp_path) == [1, 2, 3]
    assert [part.kind for part in reader.snapshot(tmp_path)] == ["parquet", "blocks", "blocks"]
    JournalWriter(tmp_path, settings=WriterSettings(seal=False)).close()
    assert {part.kind for part in reader.snapshot(tmp_path)} == {"parquet"}


def test_a_torn_tail_is_cut_and_its_numbers_are_used_again(tmp_path: Path, row: Callable[..., Row]) -> None:
    writer = JournalWriter(tmp_path)
    for number in (1, 2):
        writer.append(row(number))
        writer.flush(5)
    writer.close(seal=False)
    (file,) = tmp_path.glob("*.fhj")
    os.truncate(file, file.stat().st_size - 1)
    with JournalWriter(tmp_path) as again:
        assert len(again.recovery.cut) == 1
        assert again.append(row(3)) == 2
    assert numbers(tmp_path) == [1, 2]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, node="a"), pytest.raises(JournalLocked):
        JournalWriter(tmp_path)
    with pytest.raises(JournalError, match="of node 'a', not of 'b'"):
        JournalWriter(tmp_path, node="b")
    (tmp_path / "node.json").unlink()
    (tmp_path / f"{1:020d}.fhj").touch()
    with pytest.raises(JournalError, match=r"no node\.json"):
        JournalWriter(tmp_path)


def test_full_segments_are_finished_and_sealed(tmp_path: Path, row: Callable[..., Row]) -> None:
    settings = WriterSettings(segment_bytes=20_000, gather_bytes=2_000)
    with JournalWriter(tmp_path, settings=settings) as writer:
        for number in range(1, 501):
            writer.append(row(number, raw=b"x" * 200))
        writer.flush(10)
        assert numbers(tmp_path) == list(range(1, 501))
    assert writer.sealer.errors == []
    assert writer.sealer.sealed >= 5
    assert reader.check(tmp_path).clean
    assert numbers(tmp_path) == list(range(1, 501))


def test_a_reader_beside_the_writer_sees_a_prefix(tmp_path: Path, row: Callable[..., Row]) -> None:
    settings = WriterSettings(segment_bytes=30_000, gather_bytes=3_000)
    writer = JournalWriter(tmp_path, settings=settings)
    seen: list[int] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            durable = writer.durable
            found = numbers(tmp_path)
            assert found == list(range(1, len(found) + 1))
            assert len(found) >= durable
            seen.append(len(found))

    failed: list[BaseException] = []
    thread = threading.Thread(target=lambda: _catch(look, failed))
    thread.start()
    for number in range(1, 4_001):
        writer.append(row(number))
        if number % 100 == 0:
            writer.flush(10)
    writer.close()
    done.set()
    thread.join()
    assert failed == []
    assert len(set(seen)) > 1
    assert numbers(tmp_path) == list(range(1, 4_001))


def _catch(function: Callable[[], None], failed: list[BaseException]) -> None:
    try:
        function()
    except BaseException as exc:
        failed.append(exc)


class Stuck:
    """A disk that waits to be let go, then maybe fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: OSError | None = None) -> None:
        self.go = threading.Event()
        self.error = error
        sync = SegmentAppender.sync

        def wait(appender: SegmentAppender) -> None:
            assert self.go.wait(10)
            if self.error is not None:
                raise self.error
            sync(appender)

        monkeypatch.setattr(SegmentAppender, "sync", wait)


async def test_durability_can_be_awaited(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck(monkeypatch)
    with JournalWriter(tmp_path) as writer:
        seq = writer.append(row(1))
        waiting = asyncio.create_task(writer.synced(seq))
        await asyncio.sleep(0)
        assert (writer.durable, waiting.done()) == (0, False)
        with pytest.raises(JournalError, match="not durable after"):
            writer.flush(0.01)
        stuck.go.set()
        await waiting
        assert writer.durable == seq
        await writer.synced(seq)


def test_a_full_writer_says_so_and_says_when_there_is_room(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck(monkeypatch)
    room = threading.Event()
    settings = WriterSettings(backlog_bytes=10_000)
    with JournalWriter(tmp_path, settings=settings, on_room=room.set) as writer:
        while not writer.full:
            writer.append(row(1))
        taken = writer.appended
        assert not room.is_set()
        threading.Timer(0.1, stuck.go.set).start()
        while writer.append(row(1)) < 2 * taken + 10:  # waits at twice the limit, and loses nothing
            assert writer.backlog <= 20_000
        assert room.wait(5)
        assert not writer.full or writer.backlog
    assert numbers(tmp_path) == list(range(1, 2 * taken + 11))


@pytest.mark.parametrize("size", [100, 16_000, 90_000])
def test_who_takes_rows_is_told_that_the_writer_is_full_whatever_their_size(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    stuck = Stuck(monkeypatch)
    told = threading.Event()
    settings = WriterSettings(backlog_bytes=1_000_000, gather_bytes=100_000)
    with JournalWriter(tmp_path, settings=settings) as writer:
        writer.on_full = told.set
        for _ in range(1_500_000 // size):
            if not told.is_set():
                writer.take(row(1, raw=bytes(size)))
        assert told.is_set()
        assert 1_000_000 <= writer.backlog < 1_500_000
        stuck.go.set()


def test_rows_may_be_dropped_and_counted_instead(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck(monkeypatch)
    settings = WriterSettings(backlog_bytes=10_000, overflow="drop")
    with JournalWriter(tmp_path, settings=settings) as writer:
        got = [writer.append(row(1)) for _ in range(200)]
        stuck.go.set()
    assert got.count(0) == writer.dropped > 0
    assert numbers(tmp_path) == [seq for seq in got if seq]


def test_after_an_io_error_the_journal_never_writes_again(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck(monkeypatch)
    stuck.go.set()
    told: list[JournalError] = []
    writer = JournalWriter(tmp_path, on_failure=told.append)
    writer.append(row(1))
    writer.flush(5)
    stuck.error = OSError(errno.EIO, "Input/output error")
    stuck.go.clear()
    seq = writer.append(row(2))
    answers: list[JournalError | None] = []
    answered = threading.Event()

    def answer(error: JournalError | None) -> None:
        answers.append(error)
        answered.set()

    writer.add_waiter(seq, answer)
    stuck.go.set()
    assert answered.wait(5)
    with pytest.raises(JournalError, match="stopped at row 1: Input/output error"):
        writer.flush(5)
    with pytest.raises(JournalError, match="stopped"):
        writer.append(row(3))
    stuck.error = None
    (file,) = tmp_path.glob("*.fhj")
    size = file.stat().st_size
    with pytest.raises(JournalError, match="stopped"):
        writer.close()
    assert (told, answers) == ([writer.failed], [writer.failed])
    assert (writer.durable, writer.full, file.stat().st_size) == (1, False, size)
    with JournalWriter(tmp_path) as again:
        assert again.append(row(9)) >= 2


def test_a_frame_over_the_limit_is_refused_and_the_journal_lives(
    tmp_path: Path, row: Callable[..., Row]
) -> None:
    with JournalWriter(tmp_path, settings=WriterSettings(frame_limit=1000)) as writer:
        with pytest.raises(JournalError, match="1001 bytes is over frame_limit, 1000"):
            writer.append(row(1, raw=b"x" * 1001))
        assert writer.append(row(1, raw=b"x" * 1000)) == 1
    with pytest.raises(JournalError, match="closed"):
        writer.append(row(2))
    writer.close()
    assert numbers(tmp_path) == [1]


def test_the_largest_frame_fits_its_block(tmp_path: Path, row: Callable[..., Row]) -> None:
    with JournalWriter(tmp_path) as writer:
        writer.append(row(1, raw=b"x" * (16 << 20), endpoint="e" * (16 << 20)))
        writer.append(row(2))
    sizes = [size for batch in reader.read(tmp_path) for size in map(len, batch.column("raw").to_pylist())]
    assert sizes == [16 << 20, 7]


def test_a_directory_that_cannot_be_written_is_a_journal_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="cannot be written"):
        JournalWriter(tmp_path / "file" / "journal")


def test_the_fault_of_who_looks_on_is_not_the_journals(tmp_path: Path, row: Callable[..., Row]) -> None:
    asked: list[int] = []

    def broken(first_seq: int, _batch: object) -> None:
        asked.append(first_seq)
        raise RuntimeError

    with JournalWriter(tmp_path, node="a") as writer:
        writer.on_rows = broken
        for number in (1, 2):
            writer.append(row(number))
            writer.flush(5)
    assert (asked, writer.failed) == ([1, 2], None)
    assert numbers(tmp_path) == [1, 2]


def test_rows_are_told_with_their_numbers(tmp_path: Path, row: Callable[..., Row]) -> None:
    told: list[int] = []
    writer = JournalWriter(tmp_path, node="a")
    writer.append(row(1))
    writer.flush(5)
    writer.on_rows = lambda first_seq, batch: told.extend(range(first_seq, first_seq + batch.num_rows))
    for number in range(2, 50):
        writer.append(row(number))
    writer.close()
    assert told == list(range(2, 50))


def test_rows_that_are_dropped_before_they_are_written_do_not_fail_the_journal(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    with JournalWriter(tmp_path) as writer:
        with monkeypatch.context() as patching:
            patching.setattr(writer.gathering, "turn", writer.gathering.drop)
            writer.append(row(1))
            until = time.monotonic() + 10
            while not writer.gathering.is_empty and time.monotonic() < until:
                time.sleep(0.001)
        assert writer.append(row(2)) == 1
        assert writer.flush(10) == 1
    assert writer.failed is None
    assert [one["id"] for batch in reader.read(tmp_path) for one in batch.to_pylist()] == [2]


def test_only_its_owner_may_look_into_a_new_journal(tmp_path: Path) -> None:
    JournalWriter(tmp_path / "new" / "one").close()
    assert (tmp_path / "new" / "one").stat().st_mode & 0o777 == 0o700
