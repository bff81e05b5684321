"""A service's end of the hub: its registration, its streams, and what waits in them (spec/hub.md). Pure.

``heard`` takes the hub's frames: ``opened`` then holds new streams, ``touched`` those on which something came
or that are over. ``send``, ``end`` and ``fail`` speak on a stream. ``out`` holds frames to send. The owner
calls ``tick`` a few times a second, and makes a new socket when ``renew`` is set.

A connection that is lost takes all its streams with it: to the hub the next one is a new service.
"""

from collections.abc import Collection
from typing import Final

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import LimitExceeded, MalformedFrame
from framehub.hub.headers import HEADER_BYTES, HubFrame, Settings, Way, decode, encode
from framehub.hub.served import ServedStream, ServiceSettings

INTERFACE: Final = 0
"""The function that every service has: what it offers."""
BETWEEN: Final = 1.0
"""Seconds between two registrations on one connection."""
LATE: Final = 1.0
"""When two looks at the clock are further apart than this, the time between was ours, not the hub's."""

_CUT_OFF: Final = {
    HubError.TIMEOUT: "it timed out",
    HubError.CLIENT_DISCONNECT: "the client has gone",
    HubError.SERVICE_DISCONNECT: "the hub took us for gone",
    HubError.STREAM_NOT_FOUND: "the hub does not know it",
    HubError.ZMQ_STREAM_COLLISION: "the hub says that it is another service's",
    HubError.LIMIT: "it was over a limit",
    HubError.BUSY: "somebody on the way does not keep up",
    HubError.INTERNAL: "the hub failed",
}
"""Errors after which a stream is over for us. BAD_FRAME is about one frame."""


class ServiceSide:
    """One service, on one connection after another; see the module."""

    def __init__(
        self,
        number: int,
        functions: Collection[int],
        *,
        interface: bytes = b"",
        version: int = 2,
        timeout: float = 0,
        settings: ServiceSettings | None = None,
    ) -> None:
        """``timeout`` is how many seconds a stream may be silent where its client does not say; 0: as the hub
        has it.

        Raises:
            LocalProtocolError: a number that does not fit.
        """
        self.version = version
        self.settings = settings or ServiceSettings()
        self.out: list[bytes] = []
        self.opened: list[ServedStream] = []
        self.touched: list[ServedStream] = []
        self.streams: dict[int, ServedStream] = {}
        self.in_force: Settings | None = None
        """What the hub said with READY; None while it does not have us."""
        self.renew = False
        """The link seems dead: a new socket is wanted. The owner resets it."""
        self.ponged = 0
        """The number of the last PING that was answered."""
        self.waiting_bytes = 0
        self.ignored = 0
        """Frames that made no sense, or came for streams that are over."""
        self.refusal = ""
        """What the hub said last about a configuration or a frame of ours that it did not take."""
        self._functions = frozenset(functions)
        self._interface = interface
        self._record = Settings(version, round(timeout * 1000), number)
        self._configuration = encode(
            HubFrame(0, HubState.FIRST, 0, interface, None, self._record), version, Way.SERVICE_TO_HUB
        )
        self._pings = 0
        self._pinged_at = 0.0
        self._ticked = 0.0
        self._heard_at = 0.0
        self._configured_at = 0.0
        self._is_connected = False
        self._is_leaving = False

    # --- the link ------------------------------------------------------------------------------------------

    def connected(self, now: float) -> None:
        """A connection is there: say who we are. What was before is over."""
        self.disconnected("the connection to the hub was lost")
        self._is_connected = True
        self._heard_at = now
        if not self._is_leaving:
            self._configure(now)

    def disconnected(self, why: str = "the connection to the hub was lost") -> None:
        """There is none: all streams are over, and what was to be sent has nobody to go to."""
        self._is_connected = False
        self.in_force = None
        self.out.clear()
        self._lose_streams(why)

    def drain(self) -> None:
        """Say goodbye: the hub gives us nothing new. When it answers this PING, nothing new is on its way."""
        self._is_leaving = True
        if self.in_force is not None:
            self._say(0, HubState.COMMAND, HubCommand.CLOSE)
            self.ping()

    def ping(self) -> int:
        """Ask the hub for a sign of life; ``ponged`` is this number when it has had all that went before."""
        self._pings += 1
        self._say(0, HubState.COMMAND, HubCommand.PING, self._pings.to_bytes(8, "big"))
        return self._pings

    @property
    def max_body_bytes(self) -> int:
        """What one message of ours can carry."""
        return self.settings.max_frame_bytes - HEADER_BYTES[self.version]

    @property
    def is_settled(self) -> bool:
        """Whether the last PING was answered, or nobody is there to answer it."""
        return self.in_force is None or self.ponged == self._pings

    def tick(self, now: float) -> None:
        """Look at the clock: whether the hub is there."""
        if now - self._ticked > LATE:
            self._heard_at = now  # we were not there to hear it
        self._ticked = now
        silent = now - self._heard_at
        if not self._is_connected or silent < self.settings.heartbeat:
            return
        if silent >= self.settings.silence:
            self.disconnected("no word from the hub")
            self.renew = True
        elif self.in_force is not None and now - self._pinged_at >= self.settings.heartbeat:
            self._pinged_at = now
            self.ping()

    def heard(self, data: bytes, now: float) -> str | None:
        """Take one frame of the hub's; what is worth a word in the log, if anything is."""
        self._heard_at = now
        try:
            frame = decode(data, self.version, Way.HUB_TO_SERVICE)
        except MalformedFrame as exc:
            self.ignored += 1
            return f"the hub sent what is no frame: {exc}"
        if frame.stream == 0:
            return self._about_the_link(frame, now)
        if self.in_force is None:
            self.ignored += (
                1  # nobody gives us a stream before READY: it is left over from another connection
            )
            return None
        state = frame.state
        if state is HubState.FIRST:
            self._opens(frame)
            return None
        stream = self.streams.get(frame.stream)
        if stream is None or (stream.is_done and state in (HubState.MESSAGE, HubState.LAST)):
            self.ignored += 1  # it was on its way when the stream ended
        elif state is HubState.MESSAGE:
            self._came(stream, frame.body)
        elif state is HubState.LAST:
            if frame.body:
                self._came(stream, frame.body)
            stream.is_done = True
            self.touched.append(stream)
        elif state is HubState.STREAM_ERROR:
            return self._refused(stream, frame)
        elif state is HubState.COMMAND and frame.parameter == HubCommand.CLOSE:
            self._cut(stream, "the client closed it")
        else:
            self.ignored += 1
        return None

    # --- the streams ---------------------------------------------------------------------------------------

    def take(self, stream: ServedStream) -> bytes:
        """The next body; there has to be one."""
        body = stream.bodies.popleft()
        stream.waiting_bytes -= len(body)
        self.waiting_bytes -= len(body)
        return body

    def send(self, stream: ServedStream, body: bytes, parameter: int = 0) -> None:
        """One message to the client.

        Raises:
            StreamAborted: the stream was cut off.
            LocalProtocolError: it has ended, or this fits no frame.
        """
        stream.check()
        self._check(body)
        self._say(stream.id, HubState.MESSAGE, parameter, body)

    def end(self, stream: ServedStream, body: bytes = b"", parameter: int = 0) -> None:
        """The last frame; raises like ``send``."""
        self._last(stream, HubState.LAST, body, parameter)

    def fail(self, stream: ServedStream, body: bytes) -> None:
        """End it with an error; raises like ``send``."""
        self._last(stream, HubState.SERVICE_ERROR, body, 0)

    def discard(self, stream: ServedStream) -> None:
        """Nobody will read what waits in it."""
        self.waiting_bytes -= stream.waiting_bytes
        stream.waiting_bytes = 0
        stream.bodies.clear()

    # --- inside --------------------------------------------------------------------------------------------

    def _configure(self, now: float) -> None:
        self._configured_at = now
        self.out.append(self._configuration)

    def _about_the_link(self, frame: HubFrame, now: float) -> str | None:
        if frame.state is HubState.STREAM_ERROR:
            text = f"{HubError(frame.parameter).name} {frame.body.decode(errors='replace')}".rstrip()
            self.refusal = text
            if self.in_force is None or self._is_leaving or now - self._configured_at < BETWEEN:
                return f"the hub says {text}"
            # It knows us no more: we were silent for too long.
            self._lose_streams("the hub took us for gone")
            self.in_force = None
            self._configure(now)
            return f"the hub says {text}: registering again"
        if frame.state is HubState.COMMAND:
            if frame.parameter == HubCommand.PING:
                if self._is_connected:  # on a new connection we first say who we are
                    self._say(0, HubState.COMMAND, HubCommand.PONG, frame.body)
                return None
            if frame.parameter == HubCommand.PONG:
                if len(frame.body) == 8:
                    self.ponged = int.from_bytes(frame.body, "big")
                return None
            if frame.parameter == HubCommand.READY:
                self._welcomed(frame.body)
                return None
        self.ignored += 1
        return None

    def _welcomed(self, body: bytes) -> None:
        self.refusal = ""
        try:
            self.in_force = Settings.decode(body)
        except MalformedFrame:
            self.in_force = self._record  # of a hub that does not say: it took what it was given

    def _opens(self, frame: HubFrame) -> None:
        user = frame.number
        assert user is not None  # every first frame from the hub has one
        old = self.streams.get(frame.stream)
        if old is not None:
            self._cut(old, "the hub gave its number to another")
        if frame.parameter == INTERFACE:
            self._say(frame.stream, HubState.LAST, 0, self._interface)
        elif frame.parameter not in self._functions:
            self._say(frame.stream, HubState.SERVICE_ERROR, 0, f"no function {frame.parameter}".encode())
        elif len(self.streams) >= self.settings.max_streams:
            text = f"busy: {len(self.streams)} streams are open"
            self._say(frame.stream, HubState.SERVICE_ERROR, 0, text.encode())
        else:
            stream = ServedStream(frame.stream, frame.parameter, user, frame.body)
            self.streams[stream.id] = stream
            self.opened.append(stream)

    def _came(self, stream: ServedStream, body: bytes) -> None:
        size, most = len(body), self.settings
        if (
            len(stream.bodies) >= most.max_waiting
            or stream.waiting_bytes + size > most.max_waiting_bytes
            or self.waiting_bytes + size > most.max_waiting_bytes_in_all
        ):
            self.discard(stream)
            self._say(stream.id, HubState.SERVICE_ERROR, 0, b"does not keep up")
            self._cut(stream, "this service does not keep up with it")
            return
        stream.bodies.append(body)
        stream.waiting_bytes += size
        self.waiting_bytes += size
        self.touched.append(stream)

    def _refused(self, stream: ServedStream, frame: HubFrame) -> str | None:
        text = frame.body.decode(errors="replace")
        code = HubError(frame.parameter)
        if code not in _CUT_OFF:
            self.ignored += 1
            return f"the hub refused a frame of stream {stream.id}: {code.name} {text}"
        self._cut(stream, f"{_CUT_OFF[code]}: {text}" if text else _CUT_OFF[code])
        return None

    def _lose_streams(self, why: str) -> None:
        for stream in list(self.streams.values()):
            self._cut(stream, why)

    def _cut(self, stream: ServedStream, why: str) -> None:
        del self.streams[stream.id]
        stream.over = why
        self.touched.append(stream)

    def _last(self, stream: ServedStream, state: HubState, body: bytes, parameter: int) -> None:
        stream.check()
        self._check(body)
        self._say(stream.id, state, parameter, body)
        stream.is_ended = True
        self.discard(stream)
        del self.streams[stream.id]
        self.touched.append(stream)

    def _check(self, body: bytes) -> None:
        most = self.max_body_bytes
        if len(body) > most:
            hint = "max_frame_bytes; send it in several messages"
            raise LimitExceeded("bytes of a message", allowed=most, got=len(body), hint=hint)

    def _say(self, stream: int, state: HubState, parameter: int, body: bytes = b"") -> None:
        self.out.append(encode(HubFrame(stream, state, parameter, body), self.version, Way.SERVICE_TO_HUB))
