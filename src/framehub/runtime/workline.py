"""Our end of the byte stream between a worker's process and one of its children."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from framehub.runtime.workframes import FRAME, READ_BYTES, Inbox

_PARTS: Final = 64
"""Parts of one write."""
_JOINED_BYTES: Final = 16 * 1024
"""Shorter bodies are joined to their heads."""
_ROOM_BYTES: Final = 1024 * 1024
_READS: Final = 8
"""Before others have their turn."""


class Line:
    """Frames to a child and from it, on the event loop; what is sent in one pass of it is one write."""

    def __init__(self, on_frame: Callable[[int, int, bytes], None], on_end: Callable[[], None]) -> None:
        self._near, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._near.setblocking(False)
        for end in (self._near, self._far):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM_BYTES)
        self._on_frame = on_frame
        self._on_end = on_end
        self._inbox = Inbox()
        self._parts: deque[bytes | memoryview] = deque()
        self._scheduled = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._near, self._read)

    @property
    def far(self) -> int:
        """The descriptor of the child's end, until ``hand_over``."""
        return self._far.fileno()

    def hand_over(self) -> None:
        """The child has its end; close our copy, so that the end of the child is the end of the line."""
        self._far.close()

    def send(self, kind: int, number: int, body: bytes = b"") -> None:
        """Never waits; what the child does not read is kept."""
        head = FRAME.pack(len(body), kind, number)
        if len(body) <= _JOINED_BYTES:
            self._parts.append(head + body)
        else:
            self._parts += (head, body)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def read_rest(self) -> None:
        """What a child said before it died."""
        while self._read_once():
            pass

    def close(self) -> None:
        """Nothing more is read or written."""
        if self._near.fileno() < 0:
            return
        self._loop.remove_reader(self._near)
        self._loop.remove_writer(self._near)
        self._parts.clear()
        self._near.close()
        self._far.close()

    def _read(self) -> None:
        for _ in range(_READS):
            if self._read_once() < READ_BYTES:  # that was all
                return

    def _read_once(self) -> int:
        if self._near.fileno() < 0:  # closed by what a frame led to
            return 0
        try:
            data = self._near.recv(self._inbox.read_bytes)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._near)
            self._on_end()
            return 0
        for kind, number, body in self._inbox.feed(data):
            self._on_frame(kind, number, body)
        return len(data)

    def _flush(self) -> None:
        self._scheduled = False
        if self._near.fileno() < 0:
            return
        parts = self._parts
        try:
            while parts:
                self._drop(self._near.sendmsg([parts[at] for at in range(min(_PARTS, len(parts)))]))
        except (BlockingIOError, InterruptedError):
            self._scheduled = True
            self._loop.add_writer(self._near, self._flush)
            return
        except OSError:  # it is gone; its end is noticed elsewhere
            parts.clear()
        with suppress(OSError, ValueError):
            self._loop.remove_writer(self._near)

    def _drop(self, sent: int) -> None:
        parts = self._parts
        while sent:
            first = parts[0]
            if sent < len(first):
                parts[0] = memoryview(first)[sent:]
                return
            sent -= len(first)
            parts.popleft()
