"""How a journal is written: every number a writer goes by (spec/journal.md, section 7)."""

from dataclasses import dataclass
from typing import Literal

from framehub.errors import ConfigError
from framehub.journal.block import FRAME_LIMIT, ROOM


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSettings:
    """Settings of a ``JournalWriter``."""

    group_seconds: float = 0.002
    """How long a row that somebody waits for may wait for others to share its sync."""
    group_bytes: int = 256 << 10
    """With so many bytes of rows it does not wait."""
    gather_seconds: float = 0.02
    """The same where nobody waits: larger blocks cost less for each row."""
    gather_bytes: int = 1 << 20
    """The same, and what a block holds at most, but for the last of its rows."""
    segment_bytes: int = 128 << 20
    """A segment of this size is finished and the next begun."""
    segment_seconds: float = 86_400.0
    """A segment of this age too, for old rows are removed by whole segments; inf: none."""
    backlog_bytes: int = 64 << 20
    """Rows not durable yet: beyond this the writer is ``full``."""
    overflow: Literal["wait", "drop"] = "wait"
    """When full: the caller waits (and loses nothing), or rows are dropped and counted."""
    frame_limit: int = FRAME_LIMIT
    """Bytes of the largest frame; a block holds 1 MiB more."""
    seal: bool = True
    """Turn finished segments into Parquet while writing."""

    def __post_init__(self) -> None:
        for name in ("group_bytes", "gather_bytes", "segment_bytes", "backlog_bytes", "frame_limit"):
            if getattr(self, name) < 1:
                raise ConfigError(f"journal {name}: {getattr(self, name)} is less than 1")
        for name in ("group_seconds", "gather_seconds"):
            if not 0 <= getattr(self, name) <= 10:
                raise ConfigError(f"journal {name}: {getattr(self, name)} is not between 0 and 10")
        if not self.segment_seconds > 0:
            raise ConfigError(f"journal segment_seconds: {self.segment_seconds} is not above 0")
        if self.overflow not in ("wait", "drop"):
            raise ConfigError(f"journal overflow: {self.overflow!r} is neither 'wait' nor 'drop'")
        if self.frame_limit + ROOM > 1 << 30:
            raise ConfigError(f"journal frame_limit: {self.frame_limit} is over 1 GiB less 1 MiB")

    @property
    def block_limit(self) -> int:
        """Bytes of the largest block's body."""
        return self.frame_limit + ROOM
