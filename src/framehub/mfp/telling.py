"""Messages, announced files and streams that we send (spec/mfp.md, 8.4 and 8.6). Pure."""

from framehub.codes import BinaryKind, Service
from framehub.errors import LimitExceeded, LocalProtocolError, StreamAborted
from framehub.mfp.events import MessageRefused, StreamRefused
from framehub.mfp.frames import BinaryFrame, Files, MessageFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Telling:
    """What we tell, by id, until it is told; the peer may refuse any of it."""

    def __init__(self, settings: Settings, outbox: Outbox, past: Remembered) -> None:
        self._settings = settings
        self._outbox = outbox
        self._past = past
        self._messages = Remembered(settings.remembered)  # told, but may still be refused
        self._sets: dict[int, tuple[int, set[int]]] = {}
        self._streams: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._sets) + len(self._streams)

    def __contains__(self, id_: int) -> bool:
        return id_ in self._sets or id_ in self._streams

    def message(
        self,
        payload: bytes,
        files: Files,
        *,
        expected: tuple[int, ...],
        streaming: bool,
        need_ack: bool,
        checksum: bool,
    ) -> tuple[int, int]:
        """Send a message: whole, announcing files, or opening a stream. Its id and exchange.

        Raises:
            LimitExceeded: a stream too many, or too big for a frame.
        """
        self._outbox.check_fits(payload, files, expected)
        if streaming and len(self._streams) >= self._settings.max_streams:
            raise LimitExceeded(
                "open streams",
                allowed=self._settings.max_streams,
                got=len(self._streams) + 1,
                hint="max_streams",
            )
        id_ = self._outbox.new_id()
        frame = MessageFrame(
            id=id_,
            payload=payload,
            files=files,
            expected=expected,
            streaming=streaming,
            need_ack=need_ack,
            checksum=checksum,
        )
        exchange = self._outbox.new_exchange()
        self._outbox.send_large(frame, exchange)
        if expected:
            self._sets[id_] = (exchange, set(expected))
        elif streaming:
            self._streams[id_] = exchange
        else:
            self._done(id_, exchange)
        return id_, exchange

    def file(self, ref: int, key: int, data: bytes, *, need_ack: bool, checksum: bool) -> tuple[int, int]:
        """One announced file; the last missing one ends its message. Its id and exchange."""
        exchange, missing = self._sets.get(ref, (0, set()))
        if key not in missing:
            raise LocalProtocolError(f"message {ref} does not wait for file {key}")
        last = len(missing) == 1
        id_ = self._binary(ref, exchange, BinaryKind.EXPECTED, key, data, last, need_ack, checksum)
        missing.remove(key)
        if last:
            del self._sets[ref]
            self._done(ref, exchange)
        return id_, exchange

    def chunk(
        self, ref: int, data: bytes, *, key: int | None, final: bool, need_ack: bool, checksum: bool
    ) -> tuple[int, int]:
        """One chunk of a stream: of a file with a key, else data; empty, final and without key only ends it.

        Raises:
            StreamAborted: this stream is not open, most often because the peer aborted it.
        """
        exchange = self._streams.get(ref, 0)
        if not exchange:
            raise StreamAborted(f"stream {ref} is not open any more")
        kind = BinaryKind.STREAMING if key is not None else BinaryKind.DATA
        if key is None and not data and final:
            kind = BinaryKind.NONE
        id_ = self._binary(ref, exchange, kind, key, data, final, need_ack, checksum)
        if final:
            del self._streams[ref]
            self._done(ref, exchange)
        return id_, exchange

    def _binary(
        self,
        ref: int,
        exchange: int,
        kind: BinaryKind,
        key: int | None,
        data: bytes,
        final: bool,
        need_ack: bool,
        checksum: bool,
    ) -> int:
        self._outbox.check_fits(data)
        id_ = self._outbox.new_id()
        frame = BinaryFrame(
            id=id_,
            ref=ref,
            kind=kind,
            key=key,
            data=data,
            final=final,
            need_ack=need_ack,
            checksum=checksum,
        )
        self._outbox.send_large(frame, exchange)
        return id_

    def give_up(self, ref: int) -> bool:
        """Abort an announced message or a stream of ours, and say so; false if it was over."""
        exchange = self._end(ref)
        if exchange:
            self._past.add(ref, exchange)
            self._outbox.service(Service.ABORT, ref, exchange, own=True)
        return exchange != 0

    def refused(self, ref: int, code: Service) -> MessageRefused | StreamRefused | None:
        """The peer does not take it; None if there is nothing to refuse."""
        if ref in self._streams:
            exchange = self._end(ref)
            self._past.add(ref, exchange)
            return StreamRefused(ref, exchange)
        exchange = self._end(ref)
        if not exchange and code is Service.ABORT:
            exchange = self._messages.pop(ref)
            if self._past.get(ref) not in (0, exchange):
                return None  # ids have wrapped: this is about something later of the same id
        if not exchange:
            return None
        self._past.add(ref, exchange)
        return MessageRefused(ref, exchange)

    def clear(self) -> None:
        """Forget everything."""
        self._messages.clear()
        self._sets.clear()
        self._streams.clear()

    def _end(self, ref: int) -> int:
        if ref in self._sets:
            return self._sets.pop(ref)[0]
        return self._streams.pop(ref, 0)

    def _done(self, id_: int, exchange: int) -> None:
        self._messages.add(id_, exchange)
        self._past.add(id_, exchange)
