"""Announced messages of the peer: their files come in frames of their own (spec/mfp.md, 8.4). Pure."""

import msgspec

from framehub.codes import BinaryKind
from framehub.mfp.deadlines import Deadlines
from framehub.mfp.dropped import Dropped
from framehub.mfp.events import MessageLost, MessageReceived
from framehub.mfp.frames import BinaryFrame, Files, MessageFrame
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Announced:
    """The peer's announced messages by id, until each is whole or lost."""

    def __init__(self, settings: Settings, dropped: Dropped, past: Remembered) -> None:
        self._settings = settings
        self._dropped = dropped
        self._past = past
        self.sets: dict[int, _Set] = {}
        """What has come of each."""
        self._bytes = 0
        self._deadlines = Deadlines()

    def __len__(self) -> int:
        return len(self.sets)

    def exchange(self, ref: int) -> int:
        """The exchange of a message that waits for files, or 0."""
        return self.sets[ref].exchange if ref in self.sets else 0

    def opened(self, frame: MessageFrame, exchange: int, now: float) -> None:
        """A new announcement; over the limit it is refused."""
        too_much = self._bytes + len(frame.payload) > self._settings.max_waiting_bytes
        if too_much or len(self.sets) >= self._settings.max_announced:
            self._dropped.abort(frame.id, exchange)
            return
        self.sets[frame.id] = _Set(frame, exchange)
        self._bytes += len(frame.payload)
        self._deadlines.add(frame.id, now + self._settings.progress_timeout)

    def received(self, frame: BinaryFrame, now: float) -> MessageReceived | MessageLost | None:
        """One file of a message that waits for files; the last makes it whole, a wrong one loses it."""
        ref = frame.ref
        set_ = self.sets[ref]
        reason = set_.wrong(frame)
        if reason is None and self._bytes + len(frame.data) > self._settings.max_waiting_bytes:
            reason = f"over max_waiting_bytes, {self._settings.max_waiting_bytes}"
        if reason is not None:
            return self._lose(ref, reason, in_flight=not frame.final)
        self._bytes += len(frame.data)
        if not set_.add(frame):
            self._deadlines.add(ref, now + self._settings.progress_timeout)
            return None
        self._close(ref)
        return MessageReceived(set_.whole(), set_.exchange)

    def given_up(self, ref: int) -> MessageLost | None:
        """The peer will not finish it; None if we knew of none."""
        if ref not in self.sets:
            return None
        return MessageLost(ref, "the sender gave it up", self._close(ref))

    def due(self, now: float) -> list[MessageLost]:
        """Give up what makes no progress."""
        return [self._lose(ref, "no file came in time", in_flight=True) for ref in self._deadlines.due(now)]

    @property
    def next_deadline(self) -> float | None:
        """When something becomes overdue."""
        return self._deadlines.next

    def clear(self) -> None:
        """Forget everything."""
        self.sets.clear()
        self._bytes = 0
        self._deadlines = Deadlines()

    def _lose(self, ref: int, reason: str, *, in_flight: bool) -> MessageLost:
        exchange = self._close(ref)
        self._dropped.abort(ref, exchange, in_flight=in_flight)
        return MessageLost(ref, reason, exchange)

    def _close(self, ref: int) -> int:
        set_ = self.sets.pop(ref)
        self._bytes -= set_.bytes
        self._deadlines.drop(ref)
        self._past.add(ref, set_.exchange)
        return set_.exchange


class _Set:
    """One announced message and the files that have come."""

    def __init__(self, frame: MessageFrame, exchange: int) -> None:
        self.exchange = exchange
        self.bytes = len(frame.payload)
        self._frame = frame
        self._missing = set(frame.expected)
        self._files: dict[int, bytes] = {}

    def wrong(self, frame: BinaryFrame) -> str | None:
        """Why ``frame`` does not fit, or nothing."""
        if frame.kind is not BinaryKind.EXPECTED or frame.key is None:
            if frame.kind is BinaryKind.NONE and frame.final:
                return f"ended with {len(self._missing)} files missing"
            return f"a binary frame of kind {frame.kind.name.lower()} in an announced message"
        if frame.key not in self._missing:
            return f"key {frame.key} {'came twice' if frame.key in self._files else 'was not announced'}"
        if frame.final and len(self._missing) > 1:
            return f"ended with {len(self._missing) - 1} files missing"
        return None

    def add(self, frame: BinaryFrame) -> bool:
        """Keep one file; true when it was the last."""
        assert frame.key is not None
        self._missing.remove(frame.key)
        self._files[frame.key] = frame.data
        self.bytes += len(frame.data)
        return not self._missing

    def whole(self) -> MessageFrame:
        """The message with its files, in the announced order; it still says which were announced."""
        frame = self._frame
        files: Files = tuple((key, self._files[key]) for key in frame.expected)
        return msgspec.structs.replace(frame, files=files)
