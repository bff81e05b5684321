"""How far ahead of a service the hub sends.

ZeroMQ bounds what waits for a peer by the number of messages, however large they are. So behind large frames
the hub sends a PING now and then. Its PONG tells that all before it was read; until then there is a limit.
"""

from collections import deque
from typing import Final

LARGE: Final = 4 * 1024
"""Frames up to this are not counted: so many as ZeroMQ takes are no burden."""
WINDOW: Final = 8 * 1024 * 1024
"""Bytes that a service may be behind."""
MARK: Final = WINDOW // 8
"""After so many there is a PING."""
_BEGINNING: Final = b"read?"


class Window:
    """What was sent to one service, and how much of it is known to be read."""

    __slots__ = ("_marks", "_read", "_sent")

    def __init__(self) -> None:
        self._sent = 0
        self._read = 0
        self._marks: deque[int] = deque()  # places behind which there is a PING without a PONG

    @property
    def is_full(self) -> bool:
        """Whether it is too far behind to be sent more."""
        return self._sent - self._read >= WINDOW and bool(self._marks)

    def sent(self, size: int) -> bytes | None:
        """So many bytes more; the body of a PING to be sent behind them, if it is time for one."""
        self._sent += size
        last = self._marks[-1] if self._marks else self._read
        return _BEGINNING + self._sent.to_bytes(8, "big") if self._sent - last >= MARK else None

    def marked(self) -> None:
        """That PING was sent."""
        self._marks.append(self._sent)

    def heard(self, body: bytes) -> bool:
        """A PONG came with this body; whether it tells that something was read."""
        place = int.from_bytes(body[len(_BEGINNING) :], "big") if body.startswith(_BEGINNING) else -1
        if place not in self._marks:
            return False
        while self._marks[0] != place:
            self._marks.popleft()
        self._read = self._marks.popleft()
        return True
