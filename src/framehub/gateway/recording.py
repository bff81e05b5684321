"""How a gateway records: what becomes of frames when the disk is slow, or fails."""

from dataclasses import dataclass
from typing import Literal

from framehub.errors import ConfigError
from framehub.journal.settings import WriterSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSettings:
    """Checked when made; ``ConfigError`` names what is wrong."""

    overflow: Literal["wait", "drop"] = "wait"
    """When the disk cannot keep up: peers wait and nothing is lost, or rows are dropped and counted."""
    on_failure: Literal["stop", "continue"] = "stop"
    """When the journal cannot be written: the gateway stops, or goes on and records nothing more."""
    segment_bytes: int = 128 << 20
    """A segment of this size is finished and the next begun."""
    backlog_bytes: int = 64 << 20
    """Bytes of rows that may wait for the disk before it counts as slow."""
    group_seconds: float = 0.002
    """How long a row may wait for others to share its sync."""
    group_bytes: int = 256 << 10
    """Rows of so many bytes do not wait."""

    def __post_init__(self) -> None:
        if self.on_failure not in ("stop", "continue"):
            raise ConfigError(f"on_failure: {self.on_failure!r} is neither 'stop' nor 'continue'")
        self.writer(1)

    def writer(self, frame_limit: int) -> WriterSettings:
        """What the journal's writer is told; ``frame_limit`` are the bytes of the largest frame."""
        return WriterSettings(
            overflow=self.overflow,
            segment_bytes=self.segment_bytes,
            backlog_bytes=self.backlog_bytes,
            group_seconds=self.group_seconds,
            group_bytes=self.group_bytes,
            frame_limit=frame_limit,
        )
