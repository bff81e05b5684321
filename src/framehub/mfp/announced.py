"""Announced messages of the peer: their files come in frames of their own (spec/mfp.md, 8.4). Pure."""

from math import inf

import msgspec

from framehub.codes import BinaryKind
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

    def __len__(self) -> int:
        return len(self.sets)

    def exchange(self, ref: int) -> int:
        """The exchange of a message that waits for files, or 0."""
        return self.sets[ref].exchange if ref in self.sets else 0

    def has_room(self, frame: MessageFrame) -> bool:
        """Whether a new announcement is under the limits."""
        too_much = self._bytes + len(frame.payload) > self._settings.max_waiting_bytes
        return not too_much and len(self.sets) < self._settings.max_announced

    def opened(self, frame: MessageFrame, exchange: int, now: float) -> None:
        """A new announcement; over the limit it is refused."""
        if not self.has_room(frame):
            self._dropped.abort(frame.id, exchange)
            return
        self.sets[frame.id] = _Set(frame, exchange, self._settings.max_files)
        self._bytes += len(frame.payload)
        self.sets[frame.id].deadline = now + self._settings.progress_timeout

    def fault(self, frame: BinaryFrame) -> str | None:
        """Why a frame of a waiting message loses it, or is left out of it; None if it is right."""
        set_ = self.sets[frame.ref]
        bad = self._bad(set_, frame)
        if bad is not None:
            return f"{set_.named(frame)} {bad}"
        return set_.early(frame) if self._settings.bad_files == "drop" else None

    def _bad(self, set_: "_Set", frame: BinaryFrame) -> str | None:
        most = self._settings.max_waiting_bytes
        if (bad := set_.bad(frame)) is None and self._bytes + len(frame.data) > most:
            bad = f"is over max_waiting_bytes, {most}"
        return bad

    def received(self, frame: BinaryFrame, now: float) -> MessageReceived | MessageLost | None:
        """One frame of a message that waits for files: the last file makes it whole.

        A bad one loses it, or is left out: ``bad_files`` says which.
        """
        ref = frame.ref
        set_ = self.sets[ref]
        if self._settings.bad_files == "drop" and (why := self.fault(frame)) is not None:
            return self._lose(ref, why, in_flight=not frame.final)
        if (bad := self._bad(set_, frame)) is None:
            self._bytes += len(frame.data)
            progress = set_.keep(frame)
        else:
            progress = set_.leave_out(frame, bad)
        if set_.waits and not frame.final:
            if progress:
                set_.deadline = now + self._settings.progress_timeout
            return None
        self._close(ref)
        if not frame.final:
            self._dropped.swallow_rest(ref, set_.exchange)
        return set_.delivered("did not come before the end")

    def given_up(self, ref: int) -> MessageLost | None:
        """The peer will not finish it; None if we knew of none."""
        if ref not in self.sets:
            return None
        return MessageLost(ref, "the sender gave it up", self._close(ref))

    def due(self, now: float) -> list[MessageReceived | MessageLost]:
        """Wait no longer for what makes no progress: lose it, or deliver what has come of it."""
        events: list[MessageReceived | MessageLost] = []
        overdue = [(set_.deadline, ref) for ref, set_ in self.sets.items() if set_.deadline <= now]
        for _, ref in sorted(overdue):
            set_ = self.sets[ref]
            lost = self._lose(ref, "no file came in time", in_flight=True)
            drop = self._settings.bad_files == "drop"
            events.append(lost if drop else set_.delivered("did not come in time"))
        return events

    @property
    def next_deadline(self) -> float | None:
        """When something becomes overdue."""
        return min((set_.deadline for set_ in self.sets.values()), default=None)

    def clear(self) -> None:
        """Forget everything."""
        self.sets.clear()
        self._bytes = 0

    def _lose(self, ref: int, reason: str, *, in_flight: bool) -> MessageLost:
        exchange = self._close(ref)
        self._dropped.abort(ref, exchange, in_flight=in_flight)
        return MessageLost(ref, reason, exchange)

    def _close(self, ref: int) -> int:
        set_ = self.sets.pop(ref)
        self._bytes -= set_.bytes
        self._past.add(ref, set_.exchange)
        return set_.exchange


class _Set:
    """One announced message, the files that have come, and what is wrong with the others."""

    def __init__(self, frame: MessageFrame, exchange: int, most: int) -> None:
        self.exchange = exchange
        self.deadline = inf
        self.bytes = len(frame.payload)
        self._frame = frame
        self._most = most
        self._missing = set(frame.expected)
        self._files: dict[int, bytes] = {}
        self._left_out: dict[int, str] = {}

    @property
    def waits(self) -> bool:
        """Whether an announced key has not come."""
        return bool(self._missing)

    def bad(self, frame: BinaryFrame) -> str | None:
        """Why ``frame`` is no file of this message, or nothing; a bare end is no file and not bad."""
        if frame.kind is not BinaryKind.EXPECTED:
            if frame.kind is BinaryKind.NONE and frame.final:
                return None
            return "is no announced file"
        if frame.key not in self._missing:
            return "came twice" if frame.key in self._frame.expected else "was not announced"
        return None

    def named(self, frame: BinaryFrame) -> str:
        """What to call ``frame`` in a reason."""
        return f"key {frame.key}" if frame.kind is BinaryKind.EXPECTED else "a binary frame"

    def early(self, frame: BinaryFrame) -> str | None:
        """Whether ``frame`` ends the message while files are missing."""
        missing = len(self._missing) - (frame.kind is BinaryKind.EXPECTED)
        return f"ended with {missing} files missing" if frame.final and missing else None

    def keep(self, frame: BinaryFrame) -> bool:
        """Keep a file; false if this is a bare end."""
        if frame.key is None:
            return False
        self._missing.remove(frame.key)
        self._files[frame.key] = frame.data
        self.bytes += len(frame.data)
        return True

    def leave_out(self, frame: BinaryFrame, why: str) -> bool:
        """Let a bad frame go and note it if it is a file; true if its key was waited for."""
        key = frame.key
        if frame.kind is not BinaryKind.EXPECTED or key is None:
            return False
        waited = key in self._missing
        self._missing.discard(key)
        # Keys that were not announced are noted up to a bound; of a key that came twice the first file stays.
        if key in self._frame.expected or len(self._left_out) < self._most:
            self._left_out.setdefault(key, why)
        return waited

    def delivered(self, why: str) -> MessageReceived:
        """The message with the files that came, in the announced order, and why others are left out.

        It still says which were announced.
        """
        frame = self._frame
        files: Files = tuple((key, self._files[key]) for key in frame.expected if key in self._files)
        left_out = {key: why for key in frame.expected if key in self._missing} | self._left_out
        whole = msgspec.structs.replace(frame, files=files)
        return MessageReceived(whole, self.exchange, tuple(sorted(left_out.items())))
