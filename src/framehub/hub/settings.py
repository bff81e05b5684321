"""Limits and times of the hub, each with its meaning (spec/hub.md, section 13). Pure."""

from dataclasses import dataclass, fields
from math import inf
from typing import Final

from framehub.errors import ConfigError

KIB: Final = 1 << 10
MIB: Final = 1 << 20
LONGEST: Final = 4_294_967
"""Seconds whose milliseconds still fit 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings:
    """What the hub allows, and how long it waits. Checked when made; ``ConfigError`` names what is wrong."""

    timeout: float = 30.0
    """Seconds that a stream may be silent, where neither its client nor its service says so."""
    least_timeout: float = 1.0
    """The shortest timeout that a stream can have, whatever is asked for."""
    most_timeout: float = 3_600.0
    """The longest."""
    max_frame_bytes: int = MIB
    """The largest message of a client."""
    max_streams: int = 256
    """Streams that one client may have open; one more is answered LIMIT."""
    max_opens: int = 200
    """Streams that one client may open in a second, in the long run."""
    opens_burst: int = 400
    """Streams that it may open at once after a rest."""
    max_used: int = 4_096
    """Intervals of stream numbers that are remembered for one client; a client that counts needs one."""
    max_strikes: int = 16
    """Small faults of one client in ten seconds; one more, and its connection is closed."""
    max_cancels: int = 100
    """Streams in ten seconds that a client closes unanswered or opens beyond its limits; one more, and its
    connection is closed."""
    max_pings: int = 100
    """PINGs of one client in a second; one more, and its connection is closed."""
    heartbeat: float = 1.0
    """Seconds of silence after which a service is asked for a sign of life."""
    dead_after: float = 5.0
    """Seconds of silence after which it counts as dead."""
    client_ping: float = 20.0
    """Seconds of silence after which a client is asked for a sign of life; after twice as many its connection
    is closed."""
    max_services: int = 4_096
    """Services registered at a time, instances counted; one more is refused."""
    max_service_streams: int = 16_384
    """Streams that one instance of a service may have; it is full then."""
    max_interface_bytes: int = 256 * KIB
    """The largest interface of a service."""
    held_bytes: int = 4 * MIB
    """What may wait on one stream for a client or service that is behind; beyond it the stream is killed."""
    held_bytes_client: int = 16 * MIB
    """What may wait for one client on all its streams."""
    held_bytes_in_all: int = 256 * MIB
    """What may wait for all; beyond it the client that is furthest behind loses its streams, and there are no
    new ones."""
    pause_bytes: int = 256 * KIB
    """A client is not read while more than this of its own waits, for services or for itself."""
    busy_after: float = 2.0
    """Seconds that a frame waits for a service that takes none; then its stream is killed."""
    quarantine: float = 60.0
    """Seconds until a V1 service gets the number of an ended stream again."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < inf:
                raise ConfigError(f"{field.name} must be a number above zero, not {value!r}")
        if not self.least_timeout <= self.timeout <= self.most_timeout:
            raise ConfigError(
                f"timeout {self.timeout:g} is not between least_timeout {self.least_timeout:g}"
                f" and most_timeout {self.most_timeout:g}"
            )
        if self.least_timeout < 0.001:
            raise ConfigError(f"least_timeout must be at least 0.001, not {self.least_timeout!r}")
        if self.most_timeout > LONGEST:
            raise ConfigError(f"most_timeout must be at most {LONGEST}, not {self.most_timeout!r}")
        if self.dead_after <= self.heartbeat:
            raise ConfigError(
                f"dead_after {self.dead_after:g} is not above heartbeat {self.heartbeat:g}: a service would"
                " count as dead before it is asked"
            )

    def bounded(self, timeout_ms: int) -> float:
        """A timeout that was asked for, in seconds, within the bounds."""
        return min(max(timeout_ms / 1000, self.least_timeout), self.most_timeout)
