import asyncio
import logging
from pathlib import Path

import pytest

from framehub.gateway.recording import RecordingSettings
from framehub.gateway.retention import Retention
from framehub.journal.segments import segments
from tests.unit.journal.test_retention import journal


async def test_what_is_removed_is_counted_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "framehub.journal")
    retention = Retention(journal(tmp_path), RecordingSettings(keep_bytes=1), look_seconds=0.01)
    retention.start()
    while retention.removed < 3:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await retention.close()
    assert len(segments(tmp_path)) == 1
    assert "the journal has over 1 bytes" in caplog.text


async def test_nothing_is_removed_unless_told(tmp_path: Path) -> None:
    retention = Retention(journal(tmp_path), RecordingSettings())
    retention.start()
    await retention.close()
    assert len(segments(tmp_path)) == 4


async def test_a_failure_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await Retention(tmp_path / "nowhere", RecordingSettings(keep_days=1)).look()
    assert "nowhere" in caplog.text
