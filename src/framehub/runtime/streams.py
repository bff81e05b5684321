"""Streams: ``OutStream`` to send one, ``InStream`` to receive one, and the bound on what waits to be read.

MFP has no credit of its own, so a receiver that is behind stops reading its connection; the sender then finds
the link full and waits. A handler that does not read for ``progress_timeout`` loses its stream instead of
holding up everything else on the connection.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from framehub.codes import BinaryKind
from framehub.errors import FramehubError, StreamAborted
from framehub.mfp.frames import BinaryFrame

if TYPE_CHECKING:
    from framehub.runtime.peer import Peer

CHUNK_BYTES: Final = 64 * 1024
"""What one frame of a stream carries: small enough that others get their turn."""
HIGH_BYTES: Final = 1024 * 1024
"""Waiting for handlers to read: above this the connection is not read."""
LOW_BYTES: Final = HIGH_BYTES // 2


class Chunk(Struct, frozen=True):
    """One piece of a stream: of the file ``key``, or data that is no file."""

    data: bytes
    key: int | None = None

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
        self,
        peer: "Peer",
        ref: int,
        *,
        endpoint: str,
        data: Any,
        exchange: str,
        took: Callable[[int], None],
    ) -> None:
        self.peer = peer
        self.endpoint = endpoint
        self.data = data
        """What the message that opened the stream said."""
        self.exchange = exchange
        """Names this conversation in the journal, the tables and the logs."""
        self.waiting_bytes = 0
        self.read_at = monotonic()
        self._ref = ref
        self._took = took
        self._chunks: deque[Chunk] = deque()
        self._ended = False
        self._error: FramehubError | None = None
        self._more = asyncio.Event()

    @property
    def user(self) -> int:
        """The user of the connection; 0 is anonymous."""
        return self.peer.user

    def __aiter__(self) -> "InStream":
        return self

    async def __anext__(self) -> Chunk:
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        chunk = self._chunks.popleft()
        self.read_at = monotonic()
        self.waiting_bytes -= len(chunk.data)
        self._took(len(chunk.data))
        return chunk

    async def read(self) -> bytes:
        """All that is still to come, as one; for streams that are known to be small."""
        return b"".join([chunk.data async for chunk in self])

    def abort(self) -> None:
        """Want no more of it; what is on its way is dropped."""
        self.peer.abort_stream(self._ref)
        self.lose(StreamAborted("we aborted this stream"))

    # --- for the peer ----------------------------------------------------------------------------------

    def push(self, frame: BinaryFrame) -> int:
        """The next frame; how many bytes now wait because of it."""
        if self._error is not None:
            return 0
        size = 0
        if frame.kind is not BinaryKind.NONE:
            size = len(frame.data)
            self._chunks.append(Chunk(frame.data, frame.key))
            self.waiting_bytes += size
        self._ended = frame.final
        self._more.set()
        return size

    def lose(self, error: FramehubError) -> None:
        """It is cut off here. A stream that has ended cannot be."""
        if not self._ended and self._error is None:
            self._error = error
            self._more.set()

    def drop(self) -> None:
        """Nobody will read what waits."""
        self._took(self.waiting_bytes)
        self.waiting_bytes = 0
        self._chunks.clear()


class OutStream:
    """A stream of ours, inside ``async with``: leaving ends it, leaving by an exception aborts it."""

    def __init__(self, peer: "Peer", endpoint: str, data: Any) -> None:
        self._peer = peer
        self._endpoint = endpoint
        self._data = data
        self._ref = 0
        self._next_key = 0

    async def write(self, data: bytes, *, key: int | None = None, ack: bool = False) -> None:
        """Send bytes of a file; waits while the peer is slow.

        Chunks are numbered by themselves unless ``key`` says which file they belong to. With ``ack`` return
        when the peer has received the last of them.

        Raises:
            StreamAborted: the peer wants no more.
            ConnectionClosed: the connection ended.
        """
        view = memoryview(data)
        for at in range(0, len(view), CHUNK_BYTES):
            last = at + CHUNK_BYTES >= len(view)
            number = key
            if number is None:
                number, self._next_key = self._next_key, self._next_key + 1
            chunk = bytes(view[at : at + CHUNK_BYTES])
            await self._peer.send_chunk(self._ref, chunk, key=number, ack=ack and last)

    async def write_data(self, data: bytes, *, ack: bool = False) -> None:
        """Send one frame of data that is no file, whole: it has to fit a frame."""
        await self._peer.send_chunk(self._ref, data, key=None, ack=ack)

    async def abort(self) -> None:
        """Give it up: the peer is told, nothing more is sent."""
        self._peer.give_up(self._ref)

    async def __aenter__(self) -> "OutStream":
        self._ref = await self._peer.open_stream(self._endpoint, self._data)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if exc is not None:
            await self.abort()
        else:
            await self._peer.end_stream(self._ref)


class Inflow:
    """The peer's open streams, and how much of them waits to be read."""

    def __init__(self, *, pause: Callable[[], None], resume: Callable[[], None], patience: float) -> None:
        self._pause = pause
        self._resume = resume
        self._patience = patience
        self._streams: dict[int, InStream] = {}
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._streams)

    def add(self, ref: int, stream: InStream) -> None:
        """A stream whose chunks will come."""
        self._streams[ref] = stream

    def push(self, ref: int, frame: BinaryFrame) -> None:
        """Hand a frame to its stream; stop reading when too much waits."""
        stream = self._streams.pop(ref, None) if frame.final else self._streams.get(ref)
        if stream is None:
            return
        self._bytes += stream.push(frame)
        if self._bytes > HIGH_BYTES and self._timer is None:
            self._pause()
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._check)

    def took(self, size: int) -> None:
        """A handler has read; read the connection again once there is room."""
        self._bytes -= size
        if self._timer is not None and self._bytes <= LOW_BYTES:
            self._timer.cancel()
            self._timer = None
            self._resume()

    def lose(self, ref: int, error: FramehubError) -> None:
        """One stream is cut off."""
        if stream := self._streams.pop(ref, None):
            stream.lose(error)

    def close(self, error: FramehubError) -> None:
        """All of them are."""
        for ref in list(self._streams):
            self.lose(ref, error)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        """Too much has waited for long: whoever did not read loses its stream, the others go on."""
        oldest = monotonic() - self._patience
        for stream in list(self._streams.values()):
            if stream.waiting_bytes and stream.read_at <= oldest:
                stream.abort()
                stream.drop()
        if self._timer is not None:
            self._timer = asyncio.get_running_loop().call_later(self._patience / 4, self._check)
