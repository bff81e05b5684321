"""A client's end of the hub: its streams and their answers (spec/hub.md). Pure.

``open``, ``send``, ``end`` and ``close`` speak; ``heard`` takes the hub's frames, and ``touched`` holds the
streams on which something came or that are over. ``out`` holds frames to send. The owner calls ``tick`` at
``next_deadline``, and stops reading the connection while ``is_full``.
"""

from contextlib import suppress
from typing import Final

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import (
    FramehubError,
    HubStreamError,
    LimitExceeded,
    MalformedFrame,
    ServiceFailed,
    StreamAborted,
)
from framehub.hub.called import ANSWER_COST, Answer, CalledStream, HubClientSettings
from framehub.hub.headers import (
    HEADER_BYTES,
    LAST_STREAM,
    SETTINGS_BYTES,
    HubFrame,
    Settings,
    Way,
    decode,
    encode,
)

_MORE: Final = {1: SETTINGS_BYTES, 2: 2}
"""Bytes of a first frame besides its header and body, by version."""


class ClientSide:
    """One connection to a hub; see the module."""

    def __init__(
        self,
        *,
        version: int = 2,
        timeout: float | None = None,
        settings: HubClientSettings | None = None,
        now: float = 0.0,
    ) -> None:
        """``timeout`` is how many seconds streams may be silent where they do not say it themselves.

        Raises:
            LocalProtocolError: a timeout that does not fit.
        """
        self.version = version
        self.settings = settings or HubClientSettings()
        self.out: list[bytes] = []
        self.touched: list[CalledStream] = []
        self.streams: dict[int, CalledStream] = {}
        self.in_force: Settings | None = None
        """What the hub said with READY."""
        self.ponged = 0
        """The number of the last PING that was answered."""
        self.is_dead = False
        """The hub gives no sign of life."""
        self.waiting_bytes = 0
        self.ignored = 0
        """Frames that made no sense, or came for streams that are over."""
        self._timeout_ms = round((timeout or 0) * 1000)
        self._last_id = 0
        self._pings = 0
        self._heard = self._pinged = self._reserved = now
        self._opens = float(self.settings.opens_burst)
        self._unread: dict[CalledStream, None] = {}
        if self._timeout_ms:
            self._say(HubFrame(0, HubState.FIRST, settings=Settings(version, self._timeout_ms)))

    def reserve(self, now: float) -> float:
        """How many seconds to wait before the next ``open``, so that the hub does not find us hasty."""
        settings = self.settings
        more = (now - self._reserved) * settings.max_opens
        self._opens = min(settings.opens_burst, self._opens + more) - 1
        self._reserved = now
        return max(0.0, -self._opens / settings.max_opens)

    # --- speaking ------------------------------------------------------------------------------------------

    def open(
        self, service: int, function: int, body: bytes, *, timeout: float | None, now: float
    ) -> CalledStream:
        """The first frame of a new stream.

        In version 1 its ``timeout`` goes with it and is the hub's to keep; in version 2 it is ours.

        Raises:
            LimitExceeded: the body is too large, or the connection has no number left.
            LocalProtocolError: a number that does not fit.
        """
        id_ = self._last_id + 1
        if id_ > LAST_STREAM[self.version]:
            hint = "numbers are used once: connect again"
            raise LimitExceeded(
                "streams of one connection", allowed=LAST_STREAM[self.version], got=id_, hint=hint
            )
        self._check(body, more=_MORE[self.version])
        if self.version == 1:
            asked = self._timeout_ms if timeout is None else round(timeout * 1000)
            settings = Settings(1, asked, service)
            self._say(HubFrame(id_, HubState.FIRST, function, body, settings=settings))
            timeout = None
        else:
            self._say(HubFrame(id_, HubState.FIRST, function, body, service))
        self._last_id = id_
        self.streams[id_] = stream = CalledStream(id_, service, function, timeout, now)
        return stream

    def send(self, stream: CalledStream, body: bytes, now: float) -> None:
        """One message.

        Raises:
            FramehubError: the stream was cut off; why.
            LocalProtocolError: it has ended, or this fits no frame.
        """
        self._speak(stream, HubState.MESSAGE, body, now)

    def end(self, stream: CalledStream, body: bytes, now: float) -> None:
        """Our last frame; raises like ``send``."""
        self._speak(stream, HubState.LAST, body, now)
        stream.is_done = True

    def close(self, stream: CalledStream, error: FramehubError | None = None) -> None:
        """End it, unless it has ended: what waits can be read, and then ``error`` is raised."""
        if self.streams.get(stream.id) is stream:
            self._say(HubFrame(stream.id, HubState.COMMAND, HubCommand.CLOSE))
            self._over(stream, error)

    def ping(self) -> int:
        """Ask the hub for a sign of life; ``ponged`` is this number when it came."""
        self._pings += 1
        self._say(HubFrame(0, HubState.COMMAND, HubCommand.PING, self._pings.to_bytes(8, "big")))
        return self._pings

    # --- hearing -------------------------------------------------------------------------------------------

    def heard(self, data: bytes, now: float) -> str | None:
        """Take one frame of the hub's; what is worth a word in the log, if anything is."""
        self._heard = now
        try:
            frame = decode(data, self.version, Way.HUB_TO_CLIENT)
        except MalformedFrame as exc:
            self.ignored += 1
            return f"the hub sent what is no frame: {exc}"
        if frame.stream == 0:
            return self._about_the_link(frame)
        stream, state = self.streams.get(frame.stream), frame.state
        if stream is None:
            self.ignored += 1  # it was on its way when the stream ended
            return None
        stream.last = now
        stream.unanswered = None
        if state is HubState.MESSAGE:
            self._came(stream, Answer(frame.body, frame.parameter), now)
        elif state is HubState.LAST:
            self._over(stream)
            self._came(stream, Answer(frame.body, frame.parameter, is_last=True), now)
        elif state is HubState.SERVICE_ERROR:
            self._over(stream, ServiceFailed(frame.body))
        elif state is HubState.STREAM_ERROR:
            code = HubError(frame.parameter)
            if code is HubError.BAD_FRAME:  # about one frame: but we know of no other way to say it
                self._say(HubFrame(stream.id, HubState.COMMAND, HubCommand.CLOSE))
            self._over(stream, HubStreamError(code, frame.body.decode(errors="replace")))
        elif state is HubState.COMMAND and frame.parameter == HubCommand.CLOSE:
            self._over(stream, StreamAborted("the service closed this stream"))
        else:
            self.ignored += 1
        return None

    def take(self, stream: CalledStream, now: float) -> Answer:
        """The next answer; there has to be one."""
        answer = stream.answers.popleft()
        size = len(answer.body) + ANSWER_COST
        stream.waiting_bytes -= size
        self.waiting_bytes -= size
        stream.unread_since = now
        if not stream.answers:
            del self._unread[stream]
        return answer

    def discard(self, stream: CalledStream) -> None:
        """Nobody will read what waits in it."""
        self.waiting_bytes -= stream.waiting_bytes
        stream.waiting_bytes = 0
        stream.answers.clear()
        self._unread.pop(stream, None)

    @property
    def is_full(self) -> bool:
        """Whether more waits to be read than may."""
        return self.waiting_bytes > self.settings.max_waiting_bytes

    def lost(self, error: FramehubError) -> None:
        """The connection is gone, and all streams with it; what came can still be read."""
        for stream in list(self.streams.values()):
            self._over(stream, error)

    # --- the clock -----------------------------------------------------------------------------------------

    def tick(self, now: float, *, is_deaf: bool = False) -> None:
        """Look at the clock. ``is_deaf``: the connection is not read, so silence proves nothing."""
        if is_deaf:
            self._heard = now
            for stream in self.streams.values():
                stream.last = now
                stream.unanswered = now if stream.unanswered is not None else None
            return
        for stream in list(self.streams.values()):
            deadline = stream.deadline
            if deadline is not None and deadline <= now:
                what = "no answer" if stream.unanswered is not None else "nothing said"
                error = HubStreamError(HubError.TIMEOUT, f"{what} for {stream.timeout:g} s")
                self.close(stream, error)
        keepalive = self.settings.keepalive
        if now - max(self._heard, self._pinged) >= keepalive:
            self.is_dead = self._pinged > self._heard  # asked, and not answered
            self._pinged = now
            self.ping()

    @property
    def next_deadline(self) -> float:
        """When to ``tick``."""
        quiet = max(self._heard, self._pinged) + self.settings.keepalive
        deadlines = [stream.deadline for stream in self.streams.values()]
        return min([quiet, *(deadline for deadline in deadlines if deadline is not None)])

    def give_up_unread(self, now: float) -> None:
        """Close the streams that have held up the connection for too long."""
        oldest = now - self.settings.patience
        for stream in [stream for stream in self._unread if stream.unread_since <= oldest]:
            error = StreamAborted(f"nobody read this stream for {self.settings.patience:g} s")
            self.close(stream, error)
            self.discard(stream)
            stream.error = error  # also of one that had come to its end: a part of it is lost
            self.touched.append(stream)

    # --- inside --------------------------------------------------------------------------------------------

    def _about_the_link(self, frame: HubFrame) -> str | None:
        if frame.state is HubState.STREAM_ERROR:
            text = frame.body.decode(errors="replace")
            return f"the hub says {HubError(frame.parameter).name} {text}".rstrip()
        if frame.state is HubState.COMMAND:
            if frame.parameter == HubCommand.PING:
                self._say(HubFrame(0, HubState.COMMAND, HubCommand.PONG, frame.body))
                return None
            if frame.parameter == HubCommand.PONG:
                if len(frame.body) == 8:
                    self.ponged = int.from_bytes(frame.body, "big")
                return None
            if frame.parameter == HubCommand.READY:
                with suppress(MalformedFrame):  # of a hub that does not say what is in force
                    self.in_force = Settings.decode(frame.body)
                return None
        self.ignored += 1
        return None

    def _speak(self, stream: CalledStream, state: HubState, body: bytes, now: float) -> None:
        stream.check()
        self._check(body)
        self._say(HubFrame(stream.id, state, stream.function, body))
        stream.last = now
        if stream.unanswered is None:
            stream.unanswered = now

    def _came(self, stream: CalledStream, answer: Answer, now: float) -> None:
        if not stream.answers:
            stream.unread_since = now
            self._unread[stream] = None
        size = len(answer.body) + ANSWER_COST
        stream.answers.append(answer)
        stream.waiting_bytes += size
        self.waiting_bytes += size
        self.touched.append(stream)

    def _over(self, stream: CalledStream, error: FramehubError | None = None) -> None:
        del self.streams[stream.id]
        stream.is_over = True
        stream.error = error
        self.touched.append(stream)

    def _check(self, body: bytes, more: int = 0) -> None:
        most = self.settings.max_frame_bytes - HEADER_BYTES[self.version] - more
        if len(body) > most:
            hint = "max_frame_bytes; send it in several messages"
            raise LimitExceeded("bytes of a message", allowed=most, got=len(body), hint=hint)

    def _say(self, frame: HubFrame) -> None:
        self.out.append(encode(frame, self.version, Way.CLIENT_TO_HUB))
