"""picows' parser of WebSocket frames, and what stands before it to bound its read buffer.

That buffer grows when it is nearly full, and never shrinks. So a parser with a large one that is not needed
any more is replaced by another, which is told of a handshake that nobody else hears of.
"""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha1
from typing import Any, Final

from picows import WSAutoPingStrategy
from picows.picows import WSProtocol  # type: ignore[attr-defined]

from framehub.runtime.read_buffers import KEPT_BYTES, buffers_of
from framehub.runtime.share import Share

GOODBYE: Final = 8
"""The opcode of a WebSocket's close frame."""
LONGEST_CONTROL: Final = 125
"""Bytes of its payload: what declares more is refused."""
READ_BUFFER: Final = 2_048
"""To begin with; a WebSocket that says nothing should cost little."""

# An adapter: of a logger picows would make a child for every connection.
quiet = logging.LoggerAdapter(logging.getLogger("framehub.websocket.picows"))
quiet.setLevel(logging.CRITICAL)

_KEY: Final = b64encode(bytes(16)).decode()
_ASKED: Final = (
    "GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    f"Sec-WebSocket-Key: {_KEY}\r\n\r\n"
)
_ANSWERED: Final = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: {}\r\n\r\n"
)
_MAGIC: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3


def make_parser(ask: Callable[..., Any], *, max_bytes: int, listening: bool = True) -> WSProtocol:
    """A parser; ``ask`` is asked whose the WebSocket is, as a listener factory of picows."""
    return WSProtocol(
        host_port=None if listening else "",
        ws_path=None,
        is_client_side=not listening,
        ws_listener_factory=ask,
        logger=quiet,
        disconnect_on_exception=True,
        websocket_handshake_timeout=None,
        enable_auto_ping=False,
        auto_ping_idle_timeout=0,
        auto_ping_reply_timeout=0,
        auto_ping_strategy=WSAutoPingStrategy.PING_WHEN_IDLE,
        enable_auto_pong=False,
        max_frame_size=max_bytes,
        extra_headers=None,
        read_buffer_init_size=READ_BUFFER,
    )


def successor(parser: WSProtocol, max_bytes: int) -> WSProtocol:
    """Another in the place of one whose buffer is empty; the listener is told of a connection once more."""
    carrier, listener = parser.transport.underlying_transport, parser.listener
    listening = not parser.transport.is_client_side
    muted = _Muted(carrier.carrier if isinstance(carrier, _Muted) else carrier)
    new = make_parser(lambda *_: listener, max_bytes=max_bytes, listening=listening)
    new.connection_made(muted)
    if listening:
        said = _ASKED.encode()
    else:
        key = new.transport.request.headers["Sec-WebSocket-Key"]
        accepted = sha1(f"{key}{_MAGIC}".encode(), usedforsecurity=False).digest()
        said = _ANSWERED.format(b64encode(accepted).decode()).encode()
    new.get_buffer(-1)[: len(said)] = said
    new.buffer_updated(len(said))
    muted.is_muted = False
    return new


class _Muted:
    """The transport of an open WebSocket, for a parser that still has to say its part of the handshake."""

    def __init__(self, carrier: asyncio.Transport) -> None:
        self.carrier = carrier
        self.is_muted = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.carrier, name)

    def write(self, data: bytes) -> None:
        """Send it, if the handshake is over."""
        if not self.is_muted:
            self.carrier.write(data)


class Watched(asyncio.BufferedProtocol):
    """Stands before the protocol that parses, and tells how much came.

    A parser that makes its buffer larger whenever it was filled would take as much memory as the kernel has
    bytes for it. So it is filled in pieces (``Share``), and it grows for large frames only.

    picows parses one frame ahead, and when that one is broken it says so in place of what the frame before it
    has to say. Nothing after a goodbye matters: a goodbye that comes first in what a listener reads is parsed
    alone. (A client cannot know whether its opening left the beginning of a frame in the parser.)
    """

    def __init__(
        self, parser: WSProtocol, share: Share, came: Callable[[int], int], max_bytes: int, listening: bool
    ) -> None:
        """``came`` is told how many bytes were parsed; it gives how many wait for the rest of their frame."""
        self.deaf = False
        """Whether what comes is thrown away: nothing that was refused is worth its memory."""
        self._share = share
        self._came = came
        self._max_bytes = max_bytes
        self._listening = listening
        self._buffers = buffers_of(asyncio.get_running_loop())
        self._size = 0
        self._waiting = 0
        self._most = 0
        """In the buffer at any time since it was last asked to be made small."""
        self._collected = 0
        self._take(parser)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Some room."""
        room = memoryview(self._room(sizehint))
        size = len(room) + self._waiting
        if size > self._size:
            self._resized(size)
            if size > KEPT_BYTES:
                self._buffers.look_after(self)
        self._piece = room[: self._share.piece]
        return self._piece

    def buffer_updated(self, nbytes: int) -> None:
        """Parse, then tell."""
        if not self.deaf:
            if not self._waiting and self._piece[0] & 15 == GOODBYE and self._listening:
                nbytes = _goodbye(self._piece[:nbytes])
            filled = self._waiting + nbytes
            self._most = max(self._most, filled)
            self._parse(nbytes)
            self._waiting = self._came(nbytes)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the parser, and forget it with its buffer."""
        self._buffers.forget(self)
        self._resized(0)
        self.collected(0)
        parser = self._parser
        self.__dict__.clear()
        parser.connection_lost(exc)

    def collected(self, size: int) -> None:
        """So many bytes are kept of a message that comes in fragments."""
        self._buffers.changed(self._collected, size)
        self._collected = size

    def shrink(self) -> bool:
        """Have another parser, unless this one has or had something large in its buffer."""
        most, self._most = self._most, 0
        transport = self._parser.transport
        if self.deaf or transport.is_close_frame_sent or transport.underlying_transport.is_closing():
            return True  # it has not long to live
        if self._waiting or most > KEPT_BYTES:
            return False
        self._take(successor(self._parser, self._max_bytes))
        return True

    def _take(self, parser: WSProtocol) -> None:
        self._parser = parser
        self.eof_received = parser.eof_received  # type: ignore[method-assign]
        self.pause_writing = parser.pause_writing  # type: ignore[method-assign]
        self.resume_writing = parser.resume_writing  # type: ignore[method-assign]
        self._room = parser.get_buffer
        self._parse = parser.buffer_updated
        self._piece = memoryview(self._room(-1))
        self._resized(len(self._piece))

    def _resized(self, size: int) -> None:
        self._buffers.changed(self._size, size)
        self._size = size


def _goodbye(came: memoryview) -> int:
    """How many of these bytes are the close frame that they begin with, as far as it has come."""
    if len(came) < 2 or came[1] & 127 > LONGEST_CONTROL:
        return len(came)
    mask = 4 if came[1] & 128 else 0
    return min(len(came), 2 + mask + (came[1] & 127))
