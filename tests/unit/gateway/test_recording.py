from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.gateway.recording import RecordingSettings


def test_the_writer_is_told() -> None:
    writer = RecordingSettings(overflow="drop", segment_bytes=5, segment_seconds=6).writer(100)
    assert (writer.overflow, writer.segment_bytes, writer.frame_limit) == ("drop", 5, 100)
    assert writer.segment_seconds == 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"on_failure": "pray"},
        {"overflow": "x"},
        {"overflow": "drop", "ack_after_durable": True},
        {"segment_bytes": 0},
        {"segment_seconds": 0},
        {"group_seconds": 11.0},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        RecordingSettings(**wrong)
