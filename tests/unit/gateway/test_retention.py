import asyncio
import logging
import os
from pathlib import Path

import pytest

from framehub.gateway.recording import RecordingSettings
from framehub.gateway.retention import Retention
from framehub.journal.segments import segments
from framehub.journal.writer import JournalWriter, WriterSettings
from tests.unit.journal.test_retention import journal

LATER = WriterSettings(seal=False)


async def test_what_is_removed_is_counted_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "framehub.journal")
    (journal(tmp_path) / "x.torn").touch()
    os.utime(tmp_path / "x.torn", (0, 0))
    with JournalWriter(tmp_path) as writer:
        settings = RecordingSettings(keep_bytes=1, keep_days=100_000)
        retention = Retention(writer, settings, look_seconds=0.01)
        retention.start()
        while retention.removed < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await retention.close()
    assert len(segments(tmp_path)) == 1
    assert "the journal has over 1 bytes" in caplog.text
    assert retention.removed == 3
    assert (tmp_path / "x.torn").exists()
    await Retention(writer, RecordingSettings(keep_days=1)).look()
    assert "removed x.torn, 0 bytes: it was set aside" in caplog.text
    assert retention.removed == 3


async def test_nothing_is_removed_unless_told(tmp_path: Path) -> None:
    with JournalWriter(journal(tmp_path)) as writer:
        retention = Retention(writer, RecordingSettings())
        retention.start()
        await retention.close()
    assert len(segments(tmp_path)) == 4


async def test_segments_that_nobody_will_seal_do_not_stay_for_ever(tmp_path: Path) -> None:
    first, second, *_ = (segment.path for segment in segments(journal(tmp_path, seal=False)))
    data = bytearray(first.read_bytes())
    data[-20] ^= 1
    first.write_bytes(data)
    with JournalWriter(tmp_path, settings=LATER) as writer:
        assert [damage.segment for damage in writer.recovery.damages] == [first.name]
        retention = Retention(writer, RecordingSettings(keep_bytes=1))
        await retention.look()
        assert [path.exists() for path in (first, second)] == [False, True]
        writer.sealer.left.add(second.name)
        await retention.look()
        assert [segment.first_seq for segment in segments(tmp_path)] == [3, 4]
        assert retention.removed == 2


async def test_nothing_is_removed_from_a_journal_that_has_failed(tmp_path: Path) -> None:
    writer = JournalWriter(journal(tmp_path))
    writer._fail(OSError(5, "Input/output error"))
    await Retention(writer, RecordingSettings(keep_bytes=1)).look()
    assert len(segments(tmp_path)) == 4


async def test_a_failure_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with JournalWriter(tmp_path / "j") as writer:
        (tmp_path / "j").rename(tmp_path / "elsewhere")
        await Retention(writer, RecordingSettings(keep_days=1)).look()
        (tmp_path / "elsewhere").rename(tmp_path / "j")
    assert f"{tmp_path / 'j'}: No such file or directory" in caplog.text
