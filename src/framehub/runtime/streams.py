"""Streams: ``OutStream`` to send one, ``InStream`` to receive one, and the bound on what waits to be read.

MFP has no credit of its own, so a receiver that is behind stops reading its connection; the sender then finds
the link full and waits. A handler that does not read for ``progress_timeout`` loses its stream instead of
holding up everything else on the connection.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from framehub.codes import BinaryKind
from framehub.errors import FramehubError, StreamAborted
from framehub.mfp.frames import BinaryFrame
from framehub.runtime.files import Buffer, Readable, as_source, pieces
from framehub.runtime.link import Link

if TYPE_CHECKING:
    from framehub.runtime.peer import Peer

CHUNK_BYTES: Final = 64 * 1024
"""What one frame of a stream carries: small enough that others get their turn."""
HIGH_BYTES: Final = 1024 * 1024
"""Waiting for handlers to read: above this the connection is not read."""
LOW_BYTES: Final = HIGH_BYTES // 2
CHUNK_COST: Final = 256
"""What a waiting chunk takes beside its bytes: empty ones are not free."""
TURN_BYTES: Final = 256 * 1024
"""Sent without a pause: after this the rest of the program has its turn."""


class Chunk(Struct, frozen=True):
    """One piece of a stream: of the file ``key``, or data that is no file."""

    data: bytes
    key: int | None = None
    is_last: bool = False
    """Whether the sender ended the stream with it; most end it with a frame that carries nothing."""

    @property
    def is_file(self) -> bool:
        """Whether it belongs to a file."""
        return self.key is not None


class InStream:
    """A stream of the peer's: ``async for chunk in stream``.

    Iterating ends where the sender ended it. If it was cut off, iterating raises ``StreamAborted`` or
    ``ConnectionClosed`` after the chunks that had come.
    """

    def __init__(
        self, peer: "Peer", ref: int, inflow: "Inflow", *, endpoint: str, data: Any, exchange: str
    ) -> None:
        self.peer = peer
        self.endpoint = endpoint
        self.data = data
        """What the message that opened the stream said."""
        self.exchange = exchange
        """Names this conversation in the journal, the tables and the logs."""
        self.error: FramehubError | None = None
        """Why it was cut off, if it was."""
        self.waiting_bytes = 0
        self.waiting_since = 0.0
        self._ref = ref
        self._inflow = inflow
        self._chunks: deque[Chunk] = deque()
        self._over = False
        self._more = asyncio.Event()

    @property
    def user(self) -> int:
        """The user of the connection; 0 is anonymous."""
        return self.peer.user

    @property
    def id(self) -> int:
        """The number of the message that opened it, as its sender counts."""
        return self._ref

    def __aiter__(self) -> "InStream":
        return self

    async def __anext__(self) -> Chunk:
        while not self._chunks:
            if self.error is not None:
                raise self.error.again()
            if self._over:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        chunk = self._chunks.popleft()
        self._took(len(chunk.data) + CHUNK_COST)
        return chunk

    async def read(self) -> bytes:
        """All that is still to come, as one; for streams that are known to be small."""
        return b"".join([chunk.data async for chunk in self])

    def abort(self) -> None:
        """Want no more of it: what waits and what is on its way is dropped, the sender stops."""
        self.discard(StreamAborted("we aborted this stream"))

    def ended_by(self, exc: BaseException) -> bool:
        """Whether that is what reading on raises."""
        return self.error is not None and (type(exc), exc.args) == (type(self.error), self.error.args)

    # --- for the peer ----------------------------------------------------------------------------------

    def push(self, frame: BinaryFrame) -> int:
        """The next frame; how many bytes now wait because of it."""
        size = 0
        if frame.kind is not BinaryKind.NONE:
            size = len(frame.data) + CHUNK_COST
            if not self._chunks:
                self.waiting_since = monotonic()
            self._chunks.append(Chunk(frame.data, frame.key, frame.final))
            self.waiting_bytes += size
        self._over = frame.final
        self._more.set()
        return size

    def lose(self, error: FramehubError) -> None:
        """Nothing more will come; what has come can still be read."""
        self._over = True
        self.error = error
        self._more.set()

    def discard(self, error: FramehubError) -> None:
        """Drop what nobody has read; unless that was the end anyway, reading on raises ``error``."""
        if not self._over:
            self._inflow.forget(self._ref)
            self.peer.abort_stream(self._ref)
        if self.error is None and (self._chunks or not self._over):
            self.error = error
        self._over = True
        self._chunks.clear()
        self._more.set()
        self._took(self.waiting_bytes)

    def _took(self, size: int) -> None:
        self.waiting_bytes -= size
        self.waiting_since = monotonic()
        self._inflow.took(self, size)


class OutStream:
    """A stream of ours, inside ``async with``: leaving ends it, leaving by an exception aborts it."""

    def __init__(self, peer: "Peer", endpoint: str, data: Any) -> None:
        self._peer = peer
        self._endpoint = endpoint
        self._data = data
        self._ref = 0
        self._next_key = 0
        self._unbroken_bytes = 0
        self._is_over = False
        self._is_watched = False

    async def write(
        self, data: Buffer | Path | Readable, *, key: int | None = None, ack: bool = False
    ) -> None:
        """Send bytes, or all of a file: a path, or one opened with ``"rb"``; waits while the peer is slow.

        Files are read as they are sent, off the event loop, so they may be of any size. Chunks are numbered
        by themselves unless ``key`` says which file they belong to. With ``ack`` return when the peer has
        received the last of them.

        Raises:
            StreamAborted: the peer wants no more.
            ConnectionClosed: the connection ended.
            OSError: the file cannot be read.
        """
        try:
            view = memoryview(data)  # type: ignore[arg-type]
        except TypeError:
            await self._write_file(as_source(data), key=key, ack=ack)
            return
        view = view.cast("B")
        size = self._peer.chunk_bytes
        for at in range(0, len(view), size):
            number = key
            if number is None:
                number, self._next_key = self._next_key, self._next_key + 1
            last = at + size >= len(view)
            await self._send(_piece(data, view, at, at + size), key=number, ack=ack and last)

    async def _write_file(self, source: Path | Readable, *, key: int | None, ack: bool) -> None:
        held = b""
        async with aclosing(pieces(source)) as found:
            async for piece in found:
                if held:
                    await self.write(held, key=key)
                held = piece
                if not ack:  # only to ask for the last one's do we have to know which it is
                    await self.write(held, key=key)
                    held = b""
        if held:
            await self.write(held, key=key, ack=ack)

    async def write_data(self, data: bytes, *, ack: bool = False) -> None:
        """Send one frame of data that is no file, whole: it has to fit a frame."""
        await self._send(data, key=None, ack=ack)

    async def finish(self, data: bytes) -> None:
        """End it with a last frame that carries data, which has to fit a frame; nothing may follow."""
        await self._peer.end_stream(self._ref, data)
        self._is_over = True

    def on_refused(self, tell: Callable[[BaseException | None], None]) -> None:
        """Have ``tell`` called when the peer wants no more, also while nothing is written."""
        self._peer.watch_stream(self._ref, tell)
        self._is_watched = True

    async def abort(self) -> None:
        """Give it up: the peer is told, nothing more is sent."""
        self._peer.give_up(self._ref)

    async def _send(self, data: bytes, *, key: int | None, ack: bool) -> None:
        await self._peer.send_chunk(self._ref, data, key=key, ack=ack)
        # A link that is never full never makes us wait: let the rest of the program run all the same.
        self._unbroken_bytes += len(data)
        if self._unbroken_bytes >= TURN_BYTES:
            self._unbroken_bytes = 0
            await asyncio.sleep(0)

    async def __aenter__(self) -> "OutStream":
        self._ref = await self._peer.open_stream(self._endpoint, self._data)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_watched:
            self._peer.unwatch_stream(self._ref)
        if self._is_over:
            return
        if exc is not None:
            self._peer.give_up(self._ref)
            return
        try:
            await self._peer.end_stream(self._ref)
        except asyncio.CancelledError:
            self._peer.give_up(self._ref)
            raise


def _piece(data: Any, view: memoryview, start: int, end: int) -> bytes:
    """Some bytes to send: of what cannot change any more without a copy."""
    if type(data) is not bytes:
        return bytes(view[start:end])
    return data if start == 0 and end >= len(data) else cast(bytes, view[start:end])


class Inflow:
    """The peer's streams, and how much of them waits to be read."""

    def __init__(self, link: Link, *, patience: float) -> None:
        self.patience = patience
        """Seconds for which a handler may hold up the connection by not reading."""
        self._link = link
        self._open: dict[int, InStream] = {}
        self._unread: dict[InStream, None] = {}
        """Those with chunks that wait; the sender may have ended them long ago, and used their ids again."""
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, ref: int, stream: InStream) -> None:
        """A stream whose chunks will come."""
        self._open[ref] = stream

    def forget(self, ref: int) -> None:
        """No chunk of this one will come any more."""
        del self._open[ref]

    def push(self, ref: int, frame: BinaryFrame) -> None:
        """Hand a frame to its stream; stop reading when too much waits."""
        stream = self._open.pop(ref) if frame.final else self._open[ref]
        self._bytes += stream.push(frame)
        if stream.waiting_bytes:
            self._unread[stream] = None
        if self._bytes > HIGH_BYTES and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.patience, self._check)
            self._link.pause("streams")

    def took(self, stream: InStream, size: int) -> None:
        """A handler has read; read the connection again once there is room."""
        self._bytes -= size
        if not stream.waiting_bytes:
            self._unread.pop(stream, None)
        if self._timer is not None and self._bytes <= LOW_BYTES:
            self._timer.cancel()
            self._timer = None
            self._link.resume("streams")

    def lose(self, ref: int, error: FramehubError) -> None:
        """One stream is cut off."""
        if stream := self._open.pop(ref, None):
            stream.lose(error)

    def close(self, error: FramehubError) -> None:
        """All of them are."""
        for ref in list(self._open):
            self.lose(ref, error)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        """Too much has waited for long: whoever did not read loses its stream, the others go on."""
        oldest = monotonic() - self.patience
        for stream in [stream for stream in self._unread if stream.waiting_since <= oldest]:
            stream.discard(StreamAborted(f"nobody read this stream for {self.patience:g} s"))
        if self._timer is not None:
            self._timer = asyncio.get_running_loop().call_later(self.patience / 4, self._check)
