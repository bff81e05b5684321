"""A WebSocket, on picows: whole binary messages in and out, and nothing a peer can do to hurt.

picows parses frames and leaves the rest to us: message assembly, RSV bits, text, closing, and a bound on what
waits for a peer that does not read.
"""

import asyncio
import logging
import socket
import struct
from collections.abc import Callable

from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSTransport

from framehub.codes import CloseCode
from framehub.mfp.layout import SMALL_BYTES
from framehub.runtime.behind import Behind
from framehub.runtime.link import SOFT_BYTES, LinkOwner
from framehub.runtime.masking import MASKED_BYTES, ROOM_FOR_HEAD, copied, masked
from framehub.runtime.parser import Watched
from framehub.runtime.progress import Progress
from framehub.runtime.share import Share

MAX_FRAGMENTS = 1_024
MAX_CONTROLS = 100
"""Control frames of the peer in a second."""
CLOSING_SECONDS = 1.0
JOINED_BYTES = 16 * 1024
"""Frames up to this are copied together and written at once; larger ones are never copied."""
SCRATCH_BYTES = 128 * 1024
"""What a client keeps to copy into: enough for a chunk of a stream."""
JOINED_FRAMES = 8
"""So many are written at once, and no more: the other side can begin with them while we make the next."""

_BINARY = WSMsgType.BINARY
_NO_SCRATCH = bytearray()  # of nobody, and never written to
_ECHOED = frozenset((1000, 1001, 1002, 1003, *range(1007, 1015)))
"""Close codes that a peer may send and gets back. Those from 3000 on, applications' own, get 1000."""
_HEADS = tuple(bytes((0x82, size)) for size in range(126))
_LONG_HEAD = struct.Struct(">BBH")
_LONGEST_HEAD = struct.Struct(">BBQ")


class WebSocketLink(Behind, WSListener):
    """One WebSocket; made before the handshake ends, owned once it has."""

    def __init__(
        self,
        own: Callable[["WebSocketLink"], LinkOwner],
        *,
        max_bytes: int,
        listening: bool,
        patience: float,
        joined: int = JOINED_FRAMES,
        max_sent: int = 0,
    ) -> None:
        """``joined`` is how many small frames are written at once, at most; ``max_sent`` the largest to send,
        if that is more than ``max_bytes``, the largest to take.
        """
        super().__init__()
        self._own: Callable[[WebSocketLink], LinkOwner] | None = own
        self._max_bytes = max_bytes
        self._max_sent = max(max_bytes, max_sent)
        self._listening = listening
        self._joined_bytes = JOINED_BYTES if listening else MASKED_BYTES
        self._joined_pieces = 2 * joined if listening else joined
        self._owner: LinkOwner | None = None
        self._transport: WSTransport | None = None
        self._fragments: list[bytes] = []
        self._fragment_bytes = 0
        self._loop = asyncio.get_running_loop()
        self._small: list[bytes] = []
        self._small_bytes = 0
        self._share = Share()
        self._reading = False
        self._scheduled = False
        self._scratch = _NO_SCRATCH
        self._closing: tuple[int, str] | None = None
        self._pauses: frozenset[str] = frozenset()
        self._progress = Progress(patience, self._too_slow)
        self._patience = patience
        self._watched: Watched | None = None
        self._cutting: asyncio.TimerHandle | None = None
        self._completed = False
        self._ended = False
        self._tail = 0
        self._controls = 0
        self._controls_since = 0.0

    # --- Link --------------------------------------------------------------------------------------

    def send(self, *pieces: bytes) -> bool:
        """Send one frame as one binary message; small ones of one pass of the loop go out together."""
        transport = self._transport
        if transport is None or self._closing:
            return False
        data = pieces[0]
        size = len(data)
        if size > self._joined_bytes or len(pieces) > 1:
            self._send_large(transport, pieces)
            return True
        small = self._small
        if self._listening:
            small.append(_HEADS[size] if size < 126 else _LONG_HEAD.pack(0x82, 126, size))
            small.append(data)
        else:
            small.append(masked(data))
        self._small_bytes += size
        if self._small_bytes > JOINED_BYTES or len(small) >= self._joined_pieces:
            self._write()
        elif not self._reading and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._write_soon)
        return True

    def pause(self, why: str) -> None:
        """Stop reading."""
        if not self._pauses and self._transport:
            self._transport.underlying_transport.pause_reading()
            self._progress.hold()
        self._pauses |= {why}

    def resume(self, why: str) -> None:
        """Read again, unless there is another reason not to."""
        if why in self._pauses:
            self._pauses -= {why}
            if not self._pauses and self._transport:
                self._progress.forgive()
                self._read_on(self._transport)

    @property
    def excused(self) -> bool:
        """Whether we do not read, or read what is not whole yet."""
        return bool(self._pauses) or self._progress.unfinished

    def close(self, code: int, reason: str) -> None:
        """Say goodbye; the peer has a second to say it too."""
        transport = self._transport
        if transport is None or self._closing:
            return
        self._write()
        if self._closing:
            return  # that was one frame too many
        self._closing = (code, reason)
        transport.send_close(WSCloseCode(code), reason.encode()[:120].decode(errors="ignore").encode())
        # Read on: the peer's own close has to come through.
        self._pauses = frozenset()
        self._read_on(transport)
        self._cut_later(transport)

    # --- picows ------------------------------------------------------------------------------------

    def on_ws_connected(self, transport: WSTransport) -> None:
        """The handshake is done; or a smaller parser has taken over."""
        self._transport = transport
        for message in (transport.request, transport.response):
            message.headers.clear()  # nobody asks for them any more, and ten thousand connections have many
        if self._watched is not None:
            return
        socket_ = transport.underlying_transport
        socket_.set_write_buffer_limits(high=SOFT_BYTES)
        _keep_queue_short(socket_.get_extra_info("socket"))
        parser = socket_.get_protocol()
        self._watched = Watched(parser, self._share, self._came, self._max_bytes, self._listening)
        socket_.set_protocol(self._watched)
        own, self._own = self._own, None
        assert own is not None
        self._owner = own(self)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """One WebSocket frame: most often a whole message."""
        self._reading = True
        self._share.frames += 1
        kind = frame.msg_type
        if kind is _BINARY and frame.fin and not self._fragments and not self._closing:
            if frame.rsv1 or frame.rsv2 or frame.rsv3:
                self._refuse_reserved()
            else:
                size = frame.payload_size
                if size > self._max_bytes:
                    self._refuse_large()
                else:
                    large = size > SMALL_BYTES
                    data = frame.get_payload_as_memoryview() if large else frame.get_payload_as_bytes()
                    self._deliver(data)
        else:
            self._on_other(transport, frame, kind)
        if frame.last_in_buffer:
            self._reading = False
            self._ended = True
            self._tail = frame.tail_size
            if self._small:
                self._write()

    def _on_other(self, transport: WSTransport, frame: WSFrame, kind: WSMsgType) -> None:
        """What is not a whole binary message."""
        if kind == WSMsgType.CLOSE:
            self._on_close(transport, frame)
        elif self._closing:
            return
        elif frame.rsv1 or frame.rsv2 or frame.rsv3:
            self._refuse_reserved()
        elif kind == WSMsgType.BINARY:
            if self._fragments:
                self.close(CloseCode.PROTOCOL_ERROR, "a message inside a message")
            else:
                self._collect(frame)
        elif kind == WSMsgType.CONTINUATION:
            if self._fragments:
                self._collect(frame)
            else:
                self.close(CloseCode.PROTOCOL_ERROR, "a continuation of nothing")
        elif kind == WSMsgType.PING:
            self._count_control()
            self._write()
            transport.send_pong(frame.get_payload_as_bytes())
            self._guard()
        elif kind == WSMsgType.PONG:
            self._count_control()
        elif kind == WSMsgType.TEXT:
            self.close(CloseCode.UNSUPPORTED, "only binary messages are spoken here")

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        """The socket is gone."""
        self._transport = self._watched = None
        self._progress.stop()
        self._stop_watching()
        if self._cutting is not None:
            self._cutting.cancel()
        self._fragments.clear()
        self._small.clear()
        self._scratch = _NO_SCRATCH
        owner, self._owner = self._owner, None  # it knows us: who ends a connection ends all such circles
        if owner:
            owner.link_lost(*(self._closing or _said(transport)))

    def _read_on(self, transport: WSTransport) -> None:
        carrier = transport.underlying_transport
        if (decrypted := getattr(carrier, "_retry_ssl_read", None)) is not None:
            self._loop.call_soon(decrypted)  # aiofastnet's TLS would only look at what is still to come
        carrier.resume_reading()

    # --- inside ------------------------------------------------------------------------------------

    def _send_large(self, transport: WSTransport, pieces: tuple[bytes, ...]) -> None:
        """Nothing is copied on the listening side; on the other every byte is, once, to be masked."""
        self._write()
        if _is_over(transport):
            return
        if len(pieces) == 1:
            transport.send(_BINARY, pieces[0])
        elif self._listening:
            size = sum(map(len, pieces))
            longest = size > 0xFFFF  # the shortest head that will do is the only lawful one
            head = _LONGEST_HEAD.pack(0x82, 127, size) if longest else _LONG_HEAD.pack(0x82, 126, size)
            transport.underlying_transport.writelines([head, *pieces])
        else:
            buffer = copied(pieces, self._scratch)
            transport.send_reuse_external_bytearray(_BINARY, buffer, ROOM_FOR_HEAD)
            if len(buffer) <= SCRATCH_BYTES:
                self._scratch = buffer  # picows has copied what it could not send
        self._guard()

    def _write(self) -> None:
        """Write the small frames that wait, as one."""
        if self._small:
            assert self._transport is not None
            if not _is_over(self._transport):
                self._transport.underlying_transport.write(b"".join(self._small))
            self._small.clear()
            self._small_bytes = 0
            self._guard()

    def _write_soon(self) -> None:
        self._scheduled = False
        if self._transport is not None:
            self._write()

    def _refuse_reserved(self) -> None:
        self.close(CloseCode.PROTOCOL_ERROR, "reserved bits set, but no extension was agreed")

    def _refuse_large(self) -> None:
        self._drop_fragments()
        self.close(CloseCode.TOO_BIG, f"a message over {self._max_bytes} bytes or {MAX_FRAGMENTS} parts")

    def _came(self, size: int) -> int:
        """So many bytes were read, and what was whole of them was taken; how many wait for the rest."""
        transport = self._transport
        if transport is not None and transport.is_close_frame_sent and self._closing is None:
            self._parser_refused(transport)
            return 0
        if self._ended:
            self._ended = False
        else:
            self._tail += size
        if self._tail > self._max_bytes + ROOM_FOR_HEAD and not self._closing:
            # The parser has one limit for all listeners' paths: it would read on.
            assert self._watched is not None
            self._watched.deaf = True
            self._refuse_large()
        self._read_ahead(size)
        completed, self._completed = self._completed, False
        unfinished = not completed or self._tail > 0 or bool(self._fragments)
        self._progress.read(size, completed=completed, unfinished=unfinished)
        if self._share.read(size) and not self._closing:
            self._let_others()
        return self._tail

    def _parser_refused(self, transport: WSTransport) -> None:
        """picows said goodbye by itself: a frame over the limit, or a broken one. It would read on."""
        assert self._watched is not None
        self._watched.deaf = True
        self._closing = _said(transport)
        self._cut_later(transport)

    def _waiting_bytes(self) -> int:
        return self._transport.underlying_transport.get_write_buffer_size() if self._transport else 0

    def _too_slow(self) -> None:
        self.close(CloseCode.POLICY, "a message takes too long to come")

    def _count_control(self) -> None:
        """Pings and pongs are free, up to a point."""
        self._completed = not self._fragments
        now = self._loop.time()
        if now - self._controls_since >= 1.0:
            self._controls_since, self._controls = now, 0
        self._controls += 1
        if self._controls > MAX_CONTROLS:
            self.close(CloseCode.POLICY, f"over {MAX_CONTROLS} control frames in a second")

    def _deliver(self, message: bytes | memoryview) -> None:
        assert self._owner is not None
        self._completed = True
        try:
            self._owner.frame_received(message)
        except Exception:
            logging.getLogger("framehub.websocket").exception("a frame could not be handled")
            self.close(CloseCode.INTERNAL, "internal error")

    def _collect(self, frame: WSFrame) -> None:
        self._fragment_bytes += frame.payload_size
        if self._fragment_bytes > self._max_bytes or len(self._fragments) >= MAX_FRAGMENTS:
            self._refuse_large()
            return
        assert self._watched is not None
        self._fragments.append(frame.get_payload_as_bytes())
        self._watched.collected(self._fragment_bytes)
        if frame.fin:
            message = b"".join(self._fragments)
            self._drop_fragments()
            self._deliver(message)

    def _drop_fragments(self) -> None:
        assert self._watched is not None
        self._fragments.clear()
        self._fragment_bytes = 0
        self._watched.collected(0)

    def _on_close(self, transport: WSTransport, frame: WSFrame) -> None:
        self._write()  # what was sent before goes before
        if self._closing is None:
            code = int(frame.get_close_code().value) if frame.payload_size else 1005
            reserved = frame.rsv1 or frame.rsv2 or frame.rsv3
            if reserved or (frame.payload_size and not _may_be_sent(code)):
                self._closing = (CloseCode.PROTOCOL_ERROR, "a goodbye that is none")
                transport.send_close(WSCloseCode.PROTOCOL_ERROR)
            else:
                self._closing = (code, frame.get_close_reason() or "")
                transport.send_close(WSCloseCode(code) if code in _ECHOED else WSCloseCode.OK)
        transport.disconnect()
        self._cut_later(transport)

    def _cut_later(self, transport: WSTransport) -> None:
        """What a peer has not read of our last words by then, it loses."""
        self._cutting = self._loop.call_later(CLOSING_SECONDS, transport.disconnect, False)


def _is_over(transport: WSTransport) -> bool:
    """Whether nothing can be sent: picows refused what was broken, or the socket is lost."""
    return bool(transport.is_close_frame_sent or transport.underlying_transport.is_closing())


def _may_be_sent(code: int) -> bool:
    """Whether a goodbye may have this code: picows lets some through that only programs tell each other."""
    return code in _ECHOED or 3000 <= code < 5000


def _keep_queue_short(socket_: socket.socket) -> None:
    """What the kernel has taken nobody can overtake: let it take little ahead."""
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        socket_.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 2 * SOFT_BYTES)


def _said(transport: WSTransport) -> tuple[int, str]:
    """What picows closed with, if it was picows that closed."""
    handshake = transport.close_handshake
    if handshake is None or handshake.sent is None:
        return 1006, "the connection was lost"
    return int(handshake.sent.code.value), handshake.sent.reason
