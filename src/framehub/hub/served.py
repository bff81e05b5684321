"""What a service has of a stream, and how much it takes (spec/hub.md). Pure."""

from collections import deque
from dataclasses import dataclass
from typing import Any

from framehub.errors import LocalProtocolError, StreamAborted


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Limits and times of one service."""

    heartbeat: float = 1.0
    """Seconds of silence after which the hub is asked for a sign of life."""
    silence: float = 5.0
    """Seconds of silence after which the connection counts as dead and another one is made."""
    grace: float = 5.0
    """Seconds that a function has to end when its stream is cut off; then it is cancelled."""
    max_streams: int = 16_384
    """Streams that are open at a time; one more is refused."""
    max_waiting: int = 4_096
    """Messages that wait in one stream to be read; one more ends it."""
    max_waiting_bytes: int = 16 * 1024 * 1024
    """Bytes of those messages."""
    max_waiting_bytes_in_all: int = 256 * 1024 * 1024
    """Bytes that wait in all streams; the one that would be over it ends."""
    max_frame_bytes: int = 1024 * 1024
    """Bytes of one frame that we send."""


class ServedStream:
    """One stream of a client's, at its service."""

    __slots__ = (
        "bodies", "first", "function", "id", "is_done", "is_ended", "over", "owner", "user", "waiting_bytes",
    )  # fmt: skip

    def __init__(self, id_: int, function: int, user: int, first: bytes) -> None:
        self.id = id_
        self.function = function
        self.user = user
        self.first = first
        """The body it was opened with."""
        self.bodies: deque[bytes] = deque()
        """What the client sent and nobody has read."""
        self.waiting_bytes = 0
        self.is_done = False
        """The client sends no more."""
        self.is_ended = False
        """We ended it."""
        self.over: str | None = None
        """Why it was cut off, if it was."""
        self.owner: Any = None
        """Who attends to it; not looked at here."""

    def check(self) -> None:
        """That something can be sent.

        Raises:
            StreamAborted: it was cut off.
            LocalProtocolError: we ended it.
        """
        if self.over is not None:
            raise StreamAborted(self.over)
        if self.is_ended:
            raise LocalProtocolError("this stream has ended: nothing can follow its last frame")
