"""Frames on their way out: ids, limits, bytes, and the exchange each belongs to (spec/mfp.md, 8.1). Pure."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from framehub.codes import Service
from framehub.errors import ConnectionClosed, LimitExceeded
from framehub.ids import Ids
from framehub.mfp.checksum import Checksums
from framehub.mfp.encoder import encode, encode_apart
from framehub.mfp.frames import Files, Frame, ServiceFrame
from framehub.mfp.limits import Limits
from framehub.mfp.settings import Settings

FRAME_OVERHEAD = 32  # head, id, ref, two sizes and a checksum, rounded up
_NO_IDS: frozenset[int] = frozenset()


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
        self.peer = Limits()
        """What the peer takes, as far as we know."""
        self._room = 0
        self.keep_to(Limits.of(settings))
        self._checksums = settings.checksums
        if settings.verify_always:
            self.seal()
        self._is_live = is_live
        self._ids = Ids(first=first_id)
        self.exchanges = 0
        """Conversations so far, whoever began them: each has its number."""
        self.frames: list[Outgoing] = []
        """What waits to be sent, in order."""
        self._services = 0

    def keep_to(self, limits: Limits) -> None:
        """Send nothing over these limits, nor over those told before."""
        self.peer = self.peer.lowered(limits)
        self._room = min(self.peer.payload_bytes, self.peer.frame_bytes - FRAME_OVERHEAD)

    def seal(self) -> None:
        """Send no frame without a checksum any more, service frames included, unless checksums are off."""
        if self._checksums.mode == "flag":
            self._checksums = Checksums("always", self._checksums.algorithm)

    def new_id(self) -> int:
        """A free id of ours."""
        return self._ids.take(self._is_live)

    @property
    def sent(self) -> int:
        """Grows with every frame other than acks, aborts and the like; counted only when asked."""
        return self._ids.taken - self._services

    def has_sent(self, id_: int) -> bool:
        """Whether a frame of ours may have had this id, however long ago."""
        return self._ids.has_given(id_)

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
        self.frames.append(Outgoing((encode(frame, self._checksums),), frame, exchange))

    def send_large(self, frame: Frame, exchange: int) -> None:
        """The same of a frame that may be worth not being copied."""
        if self.closed:
            raise ConnectionClosed
        self.frames.append(Outgoing(encode_apart(frame, self._checksums), frame, exchange))

    def service(self, code: Service, ref: int, exchange: int, *, own: bool = False) -> None:
        """Queue a service frame."""
        self._services += 1
        self.send(ServiceFrame(id=self.new_id(), code=code, ref=ref, own=own), exchange)

    def ping(self) -> tuple[int, int]:
        """Queue a ping; its id and exchange."""
        self._services += 1
        id_, exchange = self.new_id(), self.new_exchange()
        self.send(ServiceFrame(id=id_, code=Service.PING, ref=id_, own=True), exchange)
        return id_, exchange

    def check_fits(self, payload: bytes, files: Files = (), expected: tuple[int, ...] = ()) -> None:
        """Refuse what no frame of this connection can carry, before a byte is copied.

        Raises:
            LimitExceeded: it names the limit, the setting and the way out.
        """
        size = len(payload)
        if size <= self._room and not files and not expected:
            return
        if size > self.peer.payload_bytes:
            raise LimitExceeded(
                "bytes of one payload",
                allowed=self.peer.payload_bytes,
                got=size,
                hint="max_payload_bytes; send bigger things as files or as a stream",
            )
        size += FRAME_OVERHEAD
        if files or expected:
            self._check_count(len(files) or len(expected))
            size += sum(len(blob) + 8 for _, blob in files) + 4 * len(expected)
        if size > self.peer.frame_bytes:
            raise self._too_big(size)

    def check_sizes(self, payload: int, files: Sequence[int]) -> None:
        """What fits into a frame by sizes alone, for bytes that nobody has read yet.

        Raises:
            LimitExceeded: as ``check_fits`` does.
        """
        self._check_count(len(files))
        size = payload + FRAME_OVERHEAD + sum(files) + 8 * len(files)
        if size > self.peer.frame_bytes:
            raise self._too_big(size)

    def _check_count(self, files: int) -> None:
        if files > self.peer.files:
            raise LimitExceeded("files of one message", allowed=self.peer.files, got=files, hint="max_files")

    def _too_big(self, size: int) -> LimitExceeded:
        return LimitExceeded(
            "bytes of one frame",
            allowed=self.peer.frame_bytes,
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
        self._is_live = _NO_IDS.__contains__  # whoever was asked knows us
