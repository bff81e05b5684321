"""What one MFP connection keeps to: agreed at its opening, the same for both sides of the machine. Pure."""

from dataclasses import dataclass, field, fields
from math import inf
from typing import Any, Final, Literal, TypeAlias

from framehub.errors import ConfigError
from framehub.mfp.checksum import BY_FLAG, Checksums

MIB = 2**20
LEAST_FRAME_BYTES: Final = 64
BadFiles: TypeAlias = Literal["drop", "deliver"]
CHOICES: Final[dict[str, tuple[Any, ...]]] = {
    "bad_files": ("drop", "deliver"),
    "verify_always": (False, True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and times; every limit is checked before memory is taken for what it limits."""

    checksums: Checksums = field(default=BY_FLAG)
    """Mode and algorithm of the checksums."""
    verify_always: bool = False
    """Verify every frame that comes, whatever its checksum bit says, and send none without a checksum."""
    request_timeout: float = 30.0
    """Seconds until a request without an answer is given up, on the asking and on the answering side."""
    max_frame_bytes: int = 16 * MIB
    """Bytes of one whole frame, both ways."""
    max_payload_bytes: int = 16 * MIB
    """Bytes of the payload of one message, request or response, both ways."""
    max_files: int = 64
    """Files attached to, or announced by, one frame."""
    max_requests: int = 1_024
    """Requests waiting for an answer, each way."""
    max_streams: int = 64
    """Open streams, each way."""
    max_announced: int = 64
    """Announced messages waiting for their files."""
    max_waiting_bytes: int = 16 * MIB
    """Bytes of announced messages and their files, held until each is whole."""
    progress_timeout: float = 30.0
    """Seconds an announced message may go without a new file, a stream that holds us up unread."""
    max_strikes: int = 16
    """Faults of the peer in any 10 s that do not end the connection by themselves."""
    max_cancels: int = 100
    """Requests, streams and announced messages that the peer gives up in any 10 s."""
    max_pings: int = 100
    """Pings of the peer in any second."""
    max_strays: int = 100
    """Frames of the peer in any second about what is over, or never was."""
    keepalive: float = 20.0
    """Seconds of silence before the peer is pinged, and again before it counts as dead; inf: never."""
    idle_timeout: float = inf
    """Seconds without any frame but service frames before the connection is closed; inf: never."""
    busy_after: float = 0.5
    """Seconds that handlers may keep the event loop at a stretch; requests that then still wait for theirs
    are answered ``busy``."""
    bad_files: BadFiles = "drop"
    """What a wrong, repeated or missing announced file does: lose its message, or be left out of it."""
    remembered: int = 4_096
    """Finished ids remembered on each side, so that what comes late is told from what never was."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            value: Any = getattr(self, setting.name)
            if setting.name in CHOICES:
                if value not in CHOICES[setting.name]:
                    known = " or ".join(map(str, CHOICES[setting.name]))
                    raise ConfigError(f"{setting.name} is {known}, not {value!r}")
            elif setting.name != "checksums" and not value > 0:
                raise ConfigError(f"{setting.name} must be above zero, not {value!r}")
        if self.verify_always and self.checksums.mode == "off":
            raise ConfigError("verify_always needs a checksum, but checksums are off")
        if self.max_frame_bytes < LEAST_FRAME_BYTES:
            raise ConfigError(
                f"max_frame_bytes must be at least {LEAST_FRAME_BYTES}, not {self.max_frame_bytes}"
            )
