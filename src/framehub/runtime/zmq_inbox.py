"""Messages out of a ZeroMQ socket, with a limit to what one message and one turn may take.

Whether another part follows, ZeroMQ says to who asks after each part, and asking takes longer than receiving.
Where the type of a message says how many parts it has (``counts``), only the last one is asked for. That is
for peers we trust: a message that is shorter than it says swallows the beginning of the next one, whosever
that is. A dealer has one peer, so there it can only hurt itself.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import zmq
from zmq.backend import Socket as Backend

from framehub.rpc.messages import SHORT
from framehub.runtime.zmq_drop import quickest
from framehub.runtime.zmq_setup import Options

NOBLOCK: Final = int(zmq.NOBLOCK)
RCVMORE: Final = int(zmq.RCVMORE)
SRCFD: Final = int(zmq.SRCFD)
USER_ID: Final = "User-Id"
_NOWHERE: Final = (-1, 0)
HEAD_BYTES: Final = 2
"""What goes before each part on the wire, unless it is longer than 255 bytes."""


class Inbox:
    """Takes messages, part by part. Who sends one of too many parts or bytes only loses it."""

    def __init__(
        self,
        socket: zmq.Socket[bytes],
        options: Options,
        *,
        has_identities: bool,
        has_keys: bool,
        counts: Mapping[bytes, int] | None = None,
        room: Mapping[bytes, tuple[int, int]] | None = None,
    ) -> None:
        # pyzmq's call in C, without the layers around it.
        self._recv: Callable[..., Any] = Backend.recv.__get__(socket)
        self._get: Callable[[int], Any] = Backend.get.__get__(socket)
        self._options = options
        self._counts = counts
        self._room = room
        self._short = SHORT if room is not None else sys.maxsize
        self._has_identities = has_identities
        self._has_keys = has_keys
        self._drop = quickest(socket)
        self._is_dropping = False
        self.keys: list[str] = []
        """Beside each message of the last turn the public key of its sender, where there are keys."""
        self.flooders: list[bytes] = []
        """Of the last turn, the identities behind messages that were too large; empty ones at a dealer."""
        self.taken: dict[int, int] = {}
        """Of the last turn, at a router: bytes taken from each connection, by its file descriptor."""

    def take(self) -> tuple[list[list[bytes]], bool]:  # noqa: PLR0912, PLR0915 (calls cost as much as parts)
        """The messages of one turn, and whether there are no more."""
        recv, counts = self._recv, self._counts
        has_identities, has_keys, short = self._has_identities, self._has_keys, self._short
        max_parts, max_bytes = self._options.max_parts, self._options.max_message_bytes
        parts_left, bytes_left = self._options.turn_parts, self._options.turn_bytes
        batch: list[list[bytes]] = []
        self.keys = keys = []
        self.flooders = flooders = []
        taken: dict[int, int] = {}
        self.taken = taken
        try:
            while parts_left > 0 and bytes_left > 0:
                if self._is_dropping:
                    done, self._is_dropping = self._drop(parts_left)
                    parts_left -= done
                    continue
                # Only a Frame knows whether another part follows; after an identity one always does.
                if has_keys:
                    frame = recv(NOBLOCK, False)
                    key = frame.get(USER_ID)
                    parts: list[bytes] = [frame.bytes]
                else:
                    parts = [recv(NOBLOCK)] if has_identities else []
                if counts is None:
                    frame = recv(NOBLOCK, False)
                    size = len(frame)
                    parts.append(frame.bytes if size <= short else self._some_of(frame, parts))
                    more = frame.more
                else:
                    kind = recv(NOBLOCK)
                    parts.append(kind)
                    left = counts.get(kind, 1)
                    while left > 2:
                        parts.append(recv(NOBLOCK))
                        left -= 1
                    if left == 2:
                        frame = recv(NOBLOCK, False)
                        parts.append(frame.bytes)
                        more = frame.more
                    else:
                        more = bool(self._get(RCVMORE))
                    size = sum(map(len, parts))  # with the identity; nobody is that exact here
                while more and len(parts) < max_parts and size <= max_bytes:
                    frame = recv(NOBLOCK, False)
                    length = len(frame)
                    parts.append(frame.bytes if length <= short else self._some_of(frame, parts))
                    more = frame.more
                    size += length
                parts_left -= len(parts)
                bytes_left -= size
                if counts is None and has_identities:
                    try:
                        source = frame.get(SRCFD)
                    except zmq.ZMQError:  # its connection was reset before it was known
                        source = -1
                    taken[source] = taken.get(source, 0) + size + HEAD_BYTES * len(parts)
                if more or size > max_bytes:
                    self._is_dropping = more
                    flooders.append(parts[0] if has_identities else b"")
                    continue
                batch.append(parts)
                if has_keys:
                    keys.append(key)
        except zmq.Again:
            return batch, True
        return batch, False

    def _some_of(self, frame: Any, before: list[bytes]) -> bytes:
        """A long part: all of it where one may be, else so much that whoever knows the limits refuses it."""
        assert self._room is not None
        first = int(self._has_identities)
        place = len(before) - first
        where, most = self._room.get(before[first], _NOWHERE) if place else _NOWHERE
        if place != where:
            most = SHORT
        return bytes(frame.buffer[: most + 1]) if len(frame) > most else frame.bytes
