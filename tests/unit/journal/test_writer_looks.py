"""A writer looks whether its files are where they were, and how old its segment is."""

import os
import resource
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal import writer as writing
from framehub.journal.record import Row
from framehub.journal.sealer import Sealer
from framehub.journal.writer import JournalWriter, WriterSettings
from tests.unit.journal.test_writer import numbers


def test_rows_are_not_durable_in_a_directory_that_was_removed(
    tmp_path: Path, row: Callable[..., Row]
) -> None:
    writer = JournalWriter(tmp_path / "j")
    writer.append(row(1))
    writer.flush(5)
    shutil.rmtree(tmp_path / "j")
    seq = writer.append(row(2))
    answers: list[JournalError | None] = []
    writer.add_waiter(seq, answers.append)
    why = f"{tmp_path / 'j'}: the journal stopped at row 1: {1:020d}.fhj was removed, or its directory was"
    with pytest.raises(JournalError, match=why):
        writer.flush(5)
    assert answers == [writer.failed]
    with pytest.raises(JournalError, match=why):
        writer.append(row(3))
    with pytest.raises(JournalError, match=why):
        writer.close()
    assert not (tmp_path / "j").exists()


@pytest.mark.parametrize("name", ["lock", "node.json", f"{1:020d}.fhj"])
@pytest.mark.parametrize("then", ["removed", "replaced"])
def test_a_writer_at_rest_notices_what_becomes_of_its_files(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch, name: str, then: str
) -> None:
    monkeypatch.setattr(writing, "_REST_SECONDS", 0.001)
    failed = threading.Event()
    writer = JournalWriter(tmp_path, on_failure=lambda _: failed.set())
    writer.append(row(1))
    writer.flush(5)
    (tmp_path / name).rename(tmp_path / "aside")
    if then == "replaced":
        (tmp_path / "other").write_text('{"node": "other", "version": 1, "salt": "7"}')
        (tmp_path / "other").rename(tmp_path / name)
    assert failed.wait(10)
    with pytest.raises(JournalError, match=rf"{name} was (removed|replaced)"):
        writer.close()


def test_no_segment_is_begun_where_another_writer_may_be(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_REST_SECONDS", 3600)
    writer = JournalWriter(tmp_path / "j")
    (tmp_path / "j").rename(tmp_path / "gone")
    with JournalWriter(tmp_path / "j") as other:
        assert other.append(row(1)) == 1
        writer.append(row(1))
        with pytest.raises(JournalError, match="stopped at row 0: lock was replaced"):
            writer.flush(5)
    with pytest.raises(JournalError, match="lock was replaced"):
        writer.close()
    assert numbers(tmp_path / "j") == [1]


def test_a_writer_that_ends_says_that_its_segment_is_gone(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_REST_SECONDS", 3600)
    writer = JournalWriter(tmp_path)
    writer.append(row(1))
    writer.flush(5)
    (tmp_path / f"{1:020d}.fhj").unlink()
    with pytest.raises(JournalError, match=r"fhj was removed"):
        writer.close()


def test_a_writer_without_a_segment_says_at_its_end_that_its_directory_is_gone(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_REST_SECONDS", 3600)
    writer = JournalWriter(tmp_path / "j", settings=WriterSettings(segment_bytes=1, seal=False))
    writer.append(row(1))
    writer.flush(5)
    shutil.rmtree(tmp_path / "j")
    with pytest.raises(JournalError, match="stopped at row 1: lock was removed, or its directory was"):
        writer.close()


def test_a_look_that_cannot_be_had_stops_nothing(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, look = threading.Semaphore(0), JournalWriter._look

    def count(writer: JournalWriter) -> None:
        look(writer)
        looked.release()

    monkeypatch.setattr(writing, "_REST_SECONDS", 0.001)
    monkeypatch.setattr(JournalWriter, "_look", count)
    with JournalWriter(tmp_path) as writer:
        writer.append(row(1))
        writer.flush(5)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest = os.open("/dev/null", os.O_RDONLY)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))  # nothing can be opened any more
        try:
            while looked.acquire(blocking=False):
                pass
            assert all(looked.acquire(timeout=10) for _ in range(3))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        writer.append(row(2))
        writer.flush(5)
    assert numbers(tmp_path) == [1, 2]


def test_a_journal_stays_where_it_is_when_its_process_goes_elsewhere(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with JournalWriter("j", settings=WriterSettings(segment_bytes=1, seal=False)) as writer:
        writer.append(row(1))
        writer.flush(5)
        monkeypatch.chdir(tmp_path / "elsewhere")
        writer.append(row(2))
        writer.flush(5)
    assert numbers(tmp_path / "j") == [1, 2]


def test_what_is_sealed_and_removed_meanwhile_is_nothing_to_stop_for(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_REST_SECONDS", 0.0)  # it looks after every block
    with JournalWriter(tmp_path, settings=WriterSettings(segment_bytes=3_000)) as writer:
        for number in range(1, 51):
            writer.append(row(number, raw=bytes(1_000)))
            writer.flush(5)
    assert writer.sealer.sealed > 10
    assert numbers(tmp_path) == list(range(1, 51))


def test_a_segment_is_finished_when_it_is_old_though_nobody_writes(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_REST_SECONDS", 0.001)
    given: list[Path] = []
    is_given = threading.Event()

    def submit(_sealer: Sealer, segment: Path) -> None:
        given.append(segment)
        is_given.set()

    monkeypatch.setattr(Sealer, "submit", submit)
    with JournalWriter(tmp_path, settings=WriterSettings(segment_seconds=1e-9)) as writer:
        writer.append(row(1))
        assert is_given.wait(10)
        writer.append(row(2))
        writer.flush(5)
    assert given[:2] == [tmp_path / f"{seq:020d}.fhj" for seq in (1, 2)]
    assert numbers(tmp_path) == [1, 2]
