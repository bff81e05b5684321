"""A child process's end of the line to its worker's process; the other end is ``runtime/workline.py``."""

import os
import socket
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import Final, NoReturn

from framehub.runtime.workframes import FRAME, Inbox

EXIT_ORPHANED: Final = 4
"""What a child ends with when its parent is gone."""
_JOINED_BYTES: Final = 16 * 1024


class Phone:
    """Any thread may send, one listens. Without a parent, both end this process."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._lock = threading.Lock()
        self._inbox = Inbox()
        self._heard: deque[tuple[int, int, bytes]] = deque()

    def send(self, kind: int, number: int, body: bytes = b"") -> None:
        """Waits until there is room for it."""
        head = FRAME.pack(len(body), kind, number)
        if len(body) <= _JOINED_BYTES:
            self.send_block(head + body)
        else:
            self.send_block(head, body)

    def send_block(self, *parts: bytes) -> None:
        """Frames that are bytes already."""
        try:
            with self._lock:
                for part in parts:
                    self._line.sendall(part)
        except OSError:
            exit_orphaned()

    def hear(self) -> tuple[int, int, bytes]:
        """The kind, number and body of the next frame."""
        while not self._heard:
            try:
                data = self._line.recv(self._inbox.read_bytes)
            except OSError:
                data = b""
            if not data:
                exit_orphaned()
            self._heard.extend(self._inbox.feed(data))
        return self._heard.popleft()


class Payloads:
    """Arguments that came on the line, for queries that came or will come by a chute."""

    def __init__(self) -> None:
        self._there: dict[int, bytes] = {}
        self._changed = threading.Condition()

    def put(self, number: int, argument: bytes) -> None:
        """The argument of this query."""
        with self._changed:
            self._there[number] = argument
            self._changed.notify_all()

    def forget(self, number: int) -> None:
        """That query was taken back."""
        with self._changed:
            self._there.pop(number, None)

    def wait(self, number: int) -> bytes:
        """Wait for the argument of this query."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._there)
            return self._there.pop(number)


def exit_orphaned() -> NoReturn:
    """End this process now, whatever its other threads do."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    os._exit(EXIT_ORPHANED)
