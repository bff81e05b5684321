"""What a client has of a stream, and how much it takes (spec/hub.md). Pure."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from framehub.errors import FramehubError, LocalProtocolError

ANSWER_COST: Final = 256
"""What a waiting answer takes beside its bytes: empty ones are not free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubClientSettings:
    """Limits and times of one client."""

    max_frame_bytes: int = 1024 * 1024
    """Bytes of one frame that we send."""
    max_answer_bytes: int = 16 * 1024 * 1024
    """Bytes of one frame that we take; a larger one ends the connection."""
    max_opens: float = 190.0
    """Streams opened in a second, in the long run; who wants more waits. A hub refuses them beyond 200."""
    opens_burst: int = 300
    """Streams that may be opened at once after a rest; a hub takes 400."""
    max_waiting_bytes: int = 4 * 1024 * 1024
    """Bytes of answers that wait to be read; above it the connection is not read."""
    patience: float = 15.0
    """Seconds that a stream may hold up the connection by not being read; then it is closed."""
    keepalive: float = 20.0
    """Seconds of silence after which the hub is pinged; after as many again the connection is given up."""


class Answer(Struct, frozen=True):
    """One frame of a service's."""

    body: bytes
    parameter: int = 0
    """The byte that the service put beside it."""
    is_last: bool = False


class CalledStream:
    """One stream of ours."""

    __slots__ = (
        "answers", "error", "function", "id", "is_done", "is_over", "last", "owner", "service", "timeout",
        "unanswered", "unread_since", "waiting_bytes",
    )  # fmt: skip

    def __init__(self, id_: int, service: int, function: int, timeout: float | None, now: float) -> None:
        self.id = id_
        self.service = service
        self.function = function
        self.answers: deque[Answer] = deque()
        """What came and nobody has read."""
        self.waiting_bytes = 0
        self.unread_since = now
        """When something was last read, or began to wait."""
        self.is_done = False
        """We send no more."""
        self.is_over = False
        """Nothing more comes."""
        self.error: FramehubError | None = None
        """Why it was cut off, if it was."""
        self.timeout = timeout
        """Seconds that it may be silent; None: the hub sees to that."""
        self.last = now
        """When a frame last came or went."""
        self.unanswered: float | None = now
        """Since when a frame of ours has no answer."""
        self.owner: Any = None
        """Who reads it; not looked at here."""

    @property
    def deadline(self) -> float | None:
        """When it has been silent for too long."""
        if self.timeout is None:
            return None
        return (self.last if self.unanswered is None else self.unanswered) + self.timeout

    def check(self) -> None:
        """That something can be sent.

        Raises:
            FramehubError: it was cut off; why.
            LocalProtocolError: it has ended.
        """
        if self.error is not None:
            raise self.error.again()
        if self.is_over:
            raise LocalProtocolError("this stream is over: nothing can be sent")
        if self.is_done:
            raise LocalProtocolError("this stream had its last frame: nothing can follow it")
