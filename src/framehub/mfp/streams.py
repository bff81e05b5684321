"""Streams that the peer sends us (spec/mfp.md, 8.6): chunk by chunk, in order, until a last one. Pure."""

from framehub.codes import BinaryKind
from framehub.mfp.dropped import Dropped
from framehub.mfp.events import StreamChunk, StreamLost, StreamOpened
from framehub.mfp.frames import BinaryFrame, MessageFrame
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Streams:
    """The peer's open streams by id, until each ends or is lost."""

    def __init__(self, settings: Settings, dropped: Dropped, past: Remembered) -> None:
        self._settings = settings
        self._dropped = dropped
        self._past = past
        self.open: dict[int, int] = {}
        """The exchange of each."""

    def __len__(self) -> int:
        return len(self.open)

    def exchange(self, ref: int) -> int:
        """The exchange of an open stream, or 0."""
        return self.open.get(ref, 0)

    def opened(self, frame: MessageFrame, exchange: int) -> StreamOpened | None:
        """A new stream; None if there are too many already: it was aborted."""
        if len(self.open) >= self._settings.max_streams:
            self._dropped.abort(frame.id, exchange)
            return None
        self.open[frame.id] = exchange
        return StreamOpened(frame, exchange)

    def received(self, frame: BinaryFrame) -> StreamChunk | StreamLost:
        """One frame of an open stream; a file that was announced does not belong into one."""
        ref = frame.ref
        exchange = self.open[ref]
        if frame.kind is BinaryKind.EXPECTED:
            del self.open[ref]
            self._dropped.abort(ref, exchange, in_flight=not frame.final)
            return StreamLost(ref, "an announced file in a stream", exchange)
        if frame.final:
            self._close(ref)
        return StreamChunk(frame, exchange)

    def given_up(self, ref: int) -> StreamLost | None:
        """The peer will not finish it; None if we knew of none."""
        exchange = self._close(ref)
        return StreamLost(ref, "the sender gave it up", exchange) if exchange else None

    def abort(self, ref: int) -> bool:
        """We want no more of it; false if it had ended."""
        exchange = self.open.pop(ref, 0)
        if exchange:
            self._dropped.abort(ref, exchange)
        return exchange != 0

    def clear(self) -> None:
        """Forget everything."""
        self.open.clear()

    def _close(self, ref: int) -> int:
        exchange = self.open.pop(ref, 0)
        if exchange:
            self._past.add(ref, exchange)
        return exchange
