"""How a gateway records: what of each frame, for how long, and what if the disk is slow, or fails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from framehub.errors import ConfigError
from framehub.journal.record import MODES
from framehub.journal.redaction import parse
from framehub.journal.settings import WriterSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSettings:
    """Checked when made; ``ConfigError`` names what is wrong."""

    overflow: Literal["wait", "drop"] = "wait"
    """When the disk cannot keep up: peers wait and nothing is lost, or rows are dropped and counted."""
    on_failure: Literal["stop", "continue"] = "stop"
    """When the journal cannot be written: the gateway stops, or goes on and records nothing more."""
    ack_after_durable: bool = False
    """Acknowledge an MFP frame only once its row is durable; none after the journal has failed."""
    segment_bytes: int = 128 << 20
    """A segment of this size is finished and the next begun."""
    segment_seconds: float = 86_400.0
    """Seconds after which a segment is finished whatever its size, for old rows go by whole segments; inf:
    never."""
    backlog_bytes: int = 64 << 20
    """Bytes of rows that may wait for the disk before it counts as slow."""
    keep_days: float | None = None
    """Sealed segments older than so many days are removed, and what was set aside; None keeps them."""
    keep_bytes: int | None = None
    """The oldest sealed segments are removed while the journal has more bytes than this; None keeps them."""
    record: Mapping[str, Literal["full", "head", "off"]] = field(default_factory=dict)
    """What is kept of frames by endpoint, function or service: all, all but the payload, or only the row; a
    name covers those that go on with a dot, "*" all that have no entry."""
    redact: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fields of JSON that are replaced in what is recorded, by endpoint, function or service as in
    ``record``: ``password``, ``user.card``, ``items[].secret``; ``$names`` are names of files."""
    group_seconds: float = 0.002
    """How long a row that somebody waits for may wait for others to share its sync."""
    group_bytes: int = 256 << 10
    """Rows of so many bytes do not wait."""
    gather_seconds: float = 0.02
    """How long rows that nobody waits for may gather: larger blocks cost less for each row."""
    gather_bytes: int = 1 << 20
    """So many bytes of them are enough for a block."""

    def __post_init__(self) -> None:
        if self.on_failure not in ("stop", "continue"):
            raise ConfigError(f"on_failure: {self.on_failure!r} is neither 'stop' nor 'continue'")
        if self.ack_after_durable and self.overflow == "drop":
            raise ConfigError('ack_after_durable wants overflow = "wait": dropped rows are never durable')
        for name in ("keep_days", "keep_bytes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} must be above zero, not {value!r}")
        for name, mode in self.record.items():
            if mode not in MODES:
                raise ConfigError(f"record: {name} = {mode!r} is none of {', '.join(MODES)}")
        for name, paths in self.redact.items():
            for path in paths:
                try:
                    parse(path)
                except ConfigError as exc:
                    raise ConfigError(f"redact: {name}: {exc}") from None
        self.writer(1)

    def writer(self, frame_limit: int) -> WriterSettings:
        """What the journal's writer is told; ``frame_limit`` are the bytes of the largest frame."""
        return WriterSettings(
            overflow=self.overflow,
            segment_bytes=self.segment_bytes,
            segment_seconds=self.segment_seconds,
            backlog_bytes=self.backlog_bytes,
            group_seconds=self.group_seconds,
            group_bytes=self.group_bytes,
            gather_seconds=self.gather_seconds,
            gather_bytes=self.gather_bytes,
            frame_limit=frame_limit,
        )
