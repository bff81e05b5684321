"""Frames on their way out: ids, limits, bytes, and the exchange each belongs to (spec/mfp.md, 8.1). Pure."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from framehub.codes import Service
from framehub.errors import ConnectionClosed, LimitExceeded
from framehub.ids import Ids
from framehub.mfp.encoder import encode, encode_apart
from framehub.mfp.frames import Files, Frame, ServiceFrame
from framehub.mfp.settings import Settings

FRAME_OVERHEAD = 32  # head, id, ref, two sizes and a checksum, rounded up


class Outgoing(Struct, frozen=True, gc=False):
    """One frame of ours, ready to send: in one piece, or in several that stand one behind the other."""

    pieces: tuple[bytes, ...]
    frame: Frame
    exchange: int

    @property
    def data(self) -> bytes:
        """All of it as one."""
        return self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)


class Outbox:
    """Encodes what a connection sends and keeps it until it is drained."""

    def __init__(self, settings: Settings, is_live: Callable[[int], bool], *, first_id: int) -> None:
        self.closed = False
        self.max_frame_bytes = settings.max_frame_bytes
        """The largest frame that the peer takes, as far as we know."""
        self._settings = settings
        self._is_live = is_live
        self._ids = Ids(first=first_id)
        self.exchanges = 0
        """Conversations so far, whoever began them: each has its number."""
        self.frames: list[Outgoing] = []
        """What waits to be sent, in order."""

    def new_id(self) -> int:
        """A free id of ours."""
        return self._ids.take(self._is_live)

    def new_exchange(self) -> int:
        """The number of a conversation that begins now, whoever began it."""
        self.exchanges += 1
        return self.exchanges

    def send(self, frame: Frame, exchange: int) -> None:
        """Queue one frame.

        Raises:
            ConnectionClosed: nothing goes out any more.
            LocalProtocolError: a value that no frame can carry; nothing was queued.
        """
        if self.closed:
            raise ConnectionClosed
        self.frames.append(Outgoing((encode(frame, self._settings.checksums),), frame, exchange))

    def send_large(self, frame: Frame, exchange: int) -> None:
        """The same of a frame that may be worth not being copied."""
        if self.closed:
            raise ConnectionClosed
        self.frames.append(Outgoing(encode_apart(frame, self._settings.checksums), frame, exchange))

    def service(self, code: Service, ref: int, exchange: int, *, own: bool = False) -> None:
        """Queue a service frame."""
        self.send(ServiceFrame(id=self.new_id(), code=code, ref=ref, own=own), exchange)

    def check_fits(self, payload: bytes, files: Files = (), expected: tuple[int, ...] = ()) -> None:
        """Refuse what no frame of this connection can carry, before a byte is copied.

        Raises:
            LimitExceeded: it names the limit, the setting and the way out.
        """
        size = len(payload) + FRAME_OVERHEAD
        if not files and not expected and size <= self.max_frame_bytes:
            return
        if files or expected:
            self._check_count(len(files) or len(expected))
            size += sum(len(blob) + 8 for _, blob in files) + 4 * len(expected)
        if size > self.max_frame_bytes:
            raise self._too_big(size)

    def check_sizes(self, payload: int, files: Sequence[int]) -> None:
        """The same by sizes alone, for files that nobody has read yet.

        Raises:
            LimitExceeded: as ``check_fits`` does.
        """
        self._check_count(len(files))
        size = payload + FRAME_OVERHEAD + sum(files) + 8 * len(files)
        if size > self.max_frame_bytes:
            raise self._too_big(size)

    def _check_count(self, files: int) -> None:
        if files > self._settings.max_files:
            raise LimitExceeded(
                "files of one message", allowed=self._settings.max_files, got=files, hint="max_files"
            )

    def _too_big(self, size: int) -> LimitExceeded:
        return LimitExceeded(
            "bytes of one frame",
            allowed=self.max_frame_bytes,
            got=size,
            hint="max_frame_bytes; send bigger things as a stream",
        )

    def drain(self) -> list[Outgoing]:
        """Take everything that waits, in order."""
        frames = self.frames
        self.frames = []
        return frames

    def close(self) -> None:
        """Drop what waits and send nothing any more."""
        self.closed = True
        self.frames.clear()
