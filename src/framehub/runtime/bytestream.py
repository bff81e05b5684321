"""MFP over a byte stream: TCP or a Unix socket, each frame behind its length (spec/mfp.md, section 9.4).

size:4 | frame:size        big-endian; size is 1 .. max_frame_bytes
"""

import asyncio
import contextlib
import logging
import struct
from collections.abc import Callable
from dataclasses import replace
from sys import getsizeof
from typing import Final, cast

import aiofastnet

from framehub.codes import CloseCode
from framehub.mfp.layout import SMALL_BYTES
from framehub.mfp.settings import Settings
from framehub.runtime.accept import Acceptor, Arrival
from framehub.runtime.address import Address
from framehub.runtime.behind import Behind
from framehub.runtime.hangups import watch
from framehub.runtime.link import SOFT_BYTES, LinkOwner
from framehub.runtime.progress import Progress
from framehub.runtime.quiet import QuietLog
from framehub.runtime.read_buffers import buffers_of
from framehub.runtime.share import Share
from framehub.runtime.sockets import bind

log = logging.getLogger("framehub.bytestream")

JOIN_BYTES: Final = 64 * 1024
"""Frames of one turn are written together up to here; more goes as it is, without a copy."""
JOIN_FRAMES: Final = 8
"""And no more frames than this: the other side can begin with them while we make the next."""
CLOSING_SECONDS: Final = 1.0
LOST: Final = 1006
_SIZE: Final = struct.Struct(">I")


class ByteStreamLink(Behind, asyncio.Protocol):
    """One byte stream. What its end is about is known to the side that ended it, and to no other."""

    def __init__(
        self,
        own: Callable[["ByteStreamLink"], LinkOwner],
        *,
        max_bytes: int,
        patience: float,
        listening: bool,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._own: Callable[[ByteStreamLink], LinkOwner] | None = own
        self._max_bytes = self._max_sent = max_bytes
        self._listening = listening
        self._owner: LinkOwner | None = None
        self._transport: asyncio.Transport | None = None
        self._closing: tuple[int, str] | None = None
        self._pauses: frozenset[str] = frozenset()
        self._begun = bytearray()  # a frame whose rest is still to come
        self._buffers = buffers_of(self._loop)
        self._counted = 0  # of what was read and waits
        self._unread = b""  # what came before we were told to pause, and was not looked at
        self._share = Share()
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._flushes = False
        self._receiving = False
        self._delivered = False
        self._progress = Progress(patience, self._too_slow)
        self._patience = patience
        self._axe: asyncio.TimerHandle | None = None

    # --- Link --------------------------------------------------------------------------------------

    def send(self, *pieces: bytes) -> bool:
        """Send one frame, together with all others of this turn of the loop."""
        if self._closing is not None or self._transport is None:
            return False
        size = len(pieces[0]) if len(pieces) == 1 else sum(map(len, pieces))
        self._out.append(_SIZE.pack(size))
        self._out += pieces
        self._out_bytes += _SIZE.size + size
        if self._out_bytes >= JOIN_BYTES or len(self._out) >= 2 * JOIN_FRAMES:
            self._flush()
        elif not self._flushes and not self._receiving:
            self._flushes = True
            self._loop.call_soon(self._flush_soon)
        return True

    def pause(self, why: str) -> None:
        """Stop reading."""
        if not self._pauses and self._transport is not None:
            self._transport.pause_reading()
            self._progress.hold()
        self._pauses |= {why}

    @property
    def excused(self) -> bool:
        """Whether we do not read, or read what is not whole yet."""
        return bool(self._pauses) or self._progress.unfinished

    def resume(self, why: str) -> None:
        """Read again, unless there is another reason not to."""
        if why in self._pauses:
            self._pauses -= {why}
            if not self._pauses:
                self._progress.forgive()
                self._loop.call_soon(self._go_on)

    def close(self, code: int, reason: str) -> None:
        """End it after what was sent; the peer has a second to end it too."""
        transport = self._transport
        if transport is None or self._closing is not None:
            return
        self._flush()
        if self._closing is not None:
            return  # that was one frame too many
        self._end(code, reason)
        if not transport.is_closing():
            with contextlib.suppress(OSError):  # a reset that was not noticed yet
                transport.write_eof()
        # Read on, or the peer's own end would not be seen.
        self._pauses = frozenset()
        transport.resume_reading()

    # --- asyncio -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The stream is there."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=SOFT_BYTES)
        own, self._own = self._own, None
        assert own is not None
        self._owner = own(self)
        if self._pauses:
            self._loop.call_soon(self._stay_paused)  # the transport begins to look at the socket after this

    def data_received(self, data: bytes) -> None:
        """Some bytes: part of a frame, or many frames."""
        if self._closing is not None:
            return
        if self._pauses or self._unread:
            self._unread += data
            self._count()
            return
        self._receiving, self._delivered = True, False
        self._receive(data)
        self._receiving = False
        taken = len(data) - len(self._unread)  # the rest is looked at when we go on
        self._progress.read(taken, completed=self._delivered, unfinished=bool(self._begun))
        self._count()
        self._flush()
        self._read_ahead(taken)

    def eof_received(self) -> None:
        """The peer has ended it; so do we."""
        if self._closing is None:
            self._flush()
            if self._begun:
                self._end(LOST, "the connection ended inside a frame")
            else:
                self._end(CloseCode.OK, "the peer ended the connection")

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone; of an error it is enough to know that it was lost."""
        del exc
        self._transport = None
        self._progress.stop()
        self._stop_watching()
        if self._axe is not None:
            self._axe.cancel()
        self._begun.clear()
        self._unread = b""
        self._count()
        self._out.clear()
        code, reason = self._closing or (LOST, "the connection was lost")
        self._closing = (code, reason)
        owner, self._owner = self._owner, None  # it knows us: who ends a connection ends all such circles
        if owner is not None:
            owner.link_lost(code, reason)

    # --- in ----------------------------------------------------------------------------------------

    def _receive(self, data: bytes) -> None:
        """Deliver every whole frame, and keep what has begun."""
        at = self._finish(data) if self._begun else 0
        end = len(data)
        while at < end:
            if self._closing is not None:
                return
            if self._pauses:
                self._unread = data[at:]
                return
            start = at + _SIZE.size
            if start > end:
                break
            (size,) = _SIZE.unpack_from(data, at)
            if not self._is_lawful(size):
                return
            if start + size > end:
                break
            stop = start + size
            self._deliver(data[start:stop] if size <= SMALL_BYTES else memoryview(data)[start:stop])
            at = stop
        if at < end:
            self._begun += memoryview(data)[at:]

    def _finish(self, data: bytes) -> int:
        """Add to the frame that has begun, and deliver it if it is whole; how much of ``data`` it took."""
        begun, at = self._begun, 0
        if len(begun) < _SIZE.size:
            at = _SIZE.size - len(begun)
            begun += data[:at]
            if len(begun) < _SIZE.size:
                return len(data)
        size: int = _SIZE.unpack_from(begun)[0]
        if not self._is_lawful(size):
            return len(data)
        missing = _SIZE.size + size - len(begun)
        begun += memoryview(data)[at : at + missing]
        if len(data) - at < missing:
            return len(data)
        self._begun = bytearray()
        frame = memoryview(begun)[_SIZE.size :]
        self._deliver(bytes(frame) if size <= SMALL_BYTES else frame)
        return at + missing

    def _count(self) -> None:
        """Have what was read and waits counted, where it is in memory already."""
        held = len(self._unread) + (getsizeof(self._begun) if self._begun else 0)
        if held != self._counted:
            self._buffers.changed(self._counted, held)
            self._counted = held

    def _is_lawful(self, size: int) -> bool:
        """Whether a frame may have this size; nothing was taken for it yet."""
        if 0 < size <= self._max_bytes:
            return True
        self._begun.clear()
        if size == 0:
            self.close(CloseCode.PROTOCOL_ERROR, "a frame of no bytes")
        else:
            self.close(CloseCode.TOO_BIG, f"a frame of {size} bytes, over {self._max_bytes}")
        return False

    def _deliver(self, frame: bytes | memoryview) -> None:
        assert self._owner is not None
        self._delivered = True
        try:
            self._owner.frame_received(frame)
        except Exception:
            log.exception("a frame could not be handled")
            self.close(CloseCode.INTERNAL, "internal error")
        self._share.frames += 1
        if self._share.is_over() and self._closing is None:
            self._let_others()

    def _stay_paused(self) -> None:
        """Without this the loop would turn for every byte that waits, and not read it."""
        if self._pauses and self._transport is not None:
            self._transport.resume_reading()
            self._transport.pause_reading()

    def _go_on(self) -> None:
        """Look at what waited while we were paused, then read more."""
        if self._pauses or self._transport is None:
            return
        data, self._unread = self._unread, b""
        if data:
            self.data_received(data)
        if not self._pauses and self._transport is not None:
            self._transport.resume_reading()

    def _waiting_bytes(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport else 0

    def _too_slow(self) -> None:
        self.close(CloseCode.POLICY, "a frame takes too long to come")

    # --- out ---------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        self._flushes = False
        self._flush()

    def _flush(self) -> None:
        transport = self._transport
        if transport is None or not self._out:
            return
        out, size = self._out, self._out_bytes
        self._out, self._out_bytes = [], 0
        if size < JOIN_BYTES:
            transport.write(b"".join(out))
        else:
            transport.writelines(out)
        self._guard()

    def _end(self, code: int, reason: str) -> None:
        assert self._transport is not None
        self._closing = (code, reason)
        self._axe = self._loop.call_later(CLOSING_SECONDS, self._transport.abort)


class ByteStreamServer:
    """Listens for byte streams."""

    def __init__(
        self, address: Address, settings: Settings, own: Callable[[ByteStreamLink], LinkOwner]
    ) -> None:
        self.port = address.port
        self._address = address
        self._settings = settings
        self._own = own
        self._acceptor: Acceptor | None = None
        self._quiet = QuietLog(log, address.place)

    async def start(self) -> None:
        """Begin to listen.

        Raises:
            ConfigError: the address cannot be had.
        """
        bound = await bind(self._address)
        self.port = bound.port
        if self.port:
            self._quiet.where = replace(self._address, port=self.port).place
        self._acceptor = Acceptor(bound, self._welcome, self._quiet)

    def stop(self) -> None:
        """Take no more connections."""
        if self._acceptor is not None:
            self._acceptor.stop()

    async def close(self) -> None:
        """Let go of everything but the connections that are open."""
        self.stop()
        if self._acceptor is not None:
            await self._acceptor.close()
        self._quiet.close()

    async def _welcome(self, arrival: Arrival) -> None:
        def own(link: ByteStreamLink) -> LinkOwner:
            arrival.opened()
            return self._own(link)

        loop = asyncio.get_running_loop()
        transport, _ = await aiofastnet.connect_accepted_socket(
            loop, lambda: make_link(own, self._settings, listening=True), arrival.socket
        )
        watch(transport)


def make_link(
    own: Callable[[ByteStreamLink], LinkOwner], settings: Settings, *, listening: bool
) -> ByteStreamLink:
    """A link with the limits of ``settings``."""
    return ByteStreamLink(
        own, max_bytes=settings.max_frame_bytes, patience=settings.progress_timeout, listening=listening
    )
