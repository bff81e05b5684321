"""What clients say (spec/hub.md, sections 7 to 14). Pure.

Most frames are messages on a stream that is open: ``says`` passes them on with another number in front. All
else goes the long way.
"""

import struct
from typing import Final, TypeAlias

from framehub.codes import CloseCode, HubCommand, HubError, HubState
from framehub.errors import MalformedFrame
from framehub.hub.board import Board
from framehub.hub.conduct import Conduct
from framehub.hub.headers import HEADER_BYTES, HubFrame, Settings, Way, decode, encode, stream_and_state
from framehub.hub.parties import Client, Instance, Stream

About: TypeAlias = Stream | str | None
"""What a frame is about: its stream, a refusal that begins with the error's name, or the link itself."""

RACE_SECONDS: Final = 5.0
"""After a stream was closed, frames to streams that are not there may have crossed with that: no fault."""
_V2: Final = struct.Struct(">IB")
_MESSAGE, _LAST = HubState.MESSAGE, HubState.LAST
_FIRST, _COMMAND = HubState.FIRST, HubState.COMMAND
_LAWFUL: Final = frozenset((_MESSAGE, _LAST, _FIRST, _COMMAND))
_PONG, _PING, _CLOSE = HubCommand.PONG, HubCommand.PING, HubCommand.CLOSE


class FromClients:
    """Takes the frames of all clients."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._settings = board.settings
        self._to_services = board.to_services

    def says(self, client: Client, data: bytes | memoryview, now: float) -> About:
        """Take one message of a client's WebSocket."""
        client.heard = now
        if client.version == 2 and len(data) >= 6:
            number, state = _V2.unpack_from(data)
            stream = client.streams.get(number)
            if stream is not None and state == 0 and stream.to_service and not stream.is_done:
                stream.last = now
                if stream.unanswered is None:
                    stream.unanswered = now
                self._to_services.append((stream.instance, stream.to_service + data[4:], stream))  # type: ignore[arg-type]
                return stream
        return self._long_way(client, bytes(data), now)

    def _long_way(self, client: Client, data: bytes, now: float) -> About:
        if client.is_leaving:
            return "bad_frame: the connection is being closed"
        if len(data) < HEADER_BYTES[client.version]:
            text = f"a frame of {len(data)} bytes"
            self._board.send_away(client, CloseCode.PROTOCOL_ERROR, text, now)
            return f"bad_frame: {text}"
        number, state = stream_and_state(data, client.version)
        try:
            frame = decode(data, client.version, Way.CLIENT_TO_HUB)
        except MalformedFrame as exc:
            return self._refuse(client, number, HubError.BAD_FRAME, str(exc), now, strike=True)
        if state not in _LAWFUL:
            text = f"a client does not send {frame.state.name}"
            return self._refuse(client, number, HubError.BAD_FRAME, text, now, strike=True)
        if number == 0:
            return self._about_link(client, frame, now)
        if state == _FIRST:
            return self._open(client, frame, now)
        return self._on_stream(client, frame, now)

    # --- the link itself -------------------------------------------------------------------------------

    def _about_link(self, client: Client, frame: HubFrame, now: float) -> About:
        if frame.settings is not None:
            return self._configure(client, frame.settings, now)
        if frame.state is _COMMAND and frame.parameter == _PING:
            if not self._conduct(client, now).ping(now):
                return self._end(client, f"over {self._settings.max_pings} PINGs in a second", now)
            self._board.say(client, HubFrame(0, _COMMAND, _PONG, frame.body))
            return None
        if frame.state is _COMMAND and frame.parameter == _PONG:
            return None
        if frame.state is _COMMAND and frame.parameter == _CLOSE:
            self._board.send_away(client, CloseCode.OK, "goodbye", now)
            return None
        text = f"no {_said(frame)} on stream 0"
        return self._refuse(client, 0, HubError.BAD_FRAME, text, now, strike=True)

    def _configure(self, client: Client, asked: Settings, now: float) -> About:
        if asked.version != client.version:
            return self._other_version(client, 0, asked, now)
        settings = self._settings
        client.timeout = settings.bounded(asked.timeout_ms) if asked.timeout_ms else 0.0
        force = Settings(client.version, round(1000 * (client.timeout or settings.timeout)))
        self._board.say(client, HubFrame(0, _COMMAND, HubCommand.READY, force.encode()))
        return None

    # --- streams ---------------------------------------------------------------------------------------

    def _open(self, client: Client, frame: HubFrame, now: float) -> About:
        board, settings, number = self._board, self._settings, frame.stream
        if frame.settings is not None and frame.settings.version != client.version:
            return self._other_version(client, number, frame.settings, now)
        if number in client.used:
            text = f"stream {number} was used before"
            return self._refuse(client, number, HubError.WS_STREAM_COLLISION, text, now, strike=True)
        if text := self._over(client, number, now):
            return self._limit(client, number, text, now)
        if board.held_bytes >= settings.held_bytes_in_all:
            return self._turn_down(client, number, HubError.LIMIT, "too much waits at the hub", now)
        if board.is_draining:
            return self._turn_down(client, number, HubError.BUSY, "the hub is stopping", now)
        service = frame.service
        assert service is not None
        here = [instance for instance in board.offered.get(service, ()) if not instance.is_leaving]
        if not here:
            text = f"nobody offers service {service}"
            return self._turn_down(client, number, HubError.ENDPOINT_NOT_FOUND, text, now)
        if frame.parameter == 0 and (told := next((one for one in here[::-1] if one.interface), None)):
            return self._interface(client, frame, told, now)
        free = [one for one in here if not one.is_stuck and len(one.streams) < settings.max_service_streams]
        instance = min(free, key=_load, default=None)
        hub_id = board.numbers.take(instance.version, now) if instance else None
        if instance is None or hub_id is None:
            text = f"service {service} is full or takes nothing"
            board.note(here[-1], frame.parameter, HubError.BUSY, 0.0)
            return self._turn_down(client, number, HubError.BUSY, text, now)
        asked = frame.settings.timeout_ms if frame.settings else 0
        timeout = settings.bounded(asked) if asked else client.timeout or instance.timeout or settings.timeout
        stream = Stream(client, instance, number, hub_id, service, frame.parameter, timeout, now)
        board.open(stream, instance)
        first = HubFrame(hub_id, _FIRST, frame.parameter, frame.body, client.user)
        board.tell(instance, first, stream)
        return stream

    def _over(self, client: Client, number: int, now: float) -> str:
        """Which of its limits a client passes with one more stream."""
        settings = self._settings
        if not client.used.add(number, settings.max_used):
            return f"over {settings.max_used} ranges of numbers: count instead"
        if not self._conduct(client, now).open(now):
            return f"over {settings.max_opens} streams in a second"
        if len(client.streams) >= settings.max_streams:
            return f"over {settings.max_streams} streams at a time"
        if client.refusal is not None and (text := client.refusal(now)):
            return text
        return "too much waits for this client" if client.held_bytes >= settings.held_bytes_client else ""

    def _interface(self, client: Client, frame: HubFrame, told: Instance, now: float) -> Stream:
        """Function 0: the hub knows the answer."""
        stream = Stream(client, None, frame.stream, 0, told.number, 0, 0.0, now)
        stream.name = told.name
        stream.is_over = stream.answered = True
        client.closed_at = now
        self._board.say(client, HubFrame(frame.stream, _LAST, 0, told.interface), stream)
        return stream

    def _on_stream(self, client: Client, frame: HubFrame, now: float) -> About:
        number, state = frame.stream, frame.state
        stream = client.streams.get(number)
        if state is _COMMAND and frame.parameter != _CLOSE:
            text = f"no {_said(frame)} on stream {number}"
            return self._refuse(client, number, HubError.BAD_FRAME, text, now, strike=True)
        if stream is None:
            late = now - client.closed_at < RACE_SECONDS
            text = f"no stream {number} is open here"
            return self._refuse(client, number, HubError.STREAM_NOT_FOUND, text, now, strike=not late)
        if state is _COMMAND:
            self._board.close(stream, now)
            if not stream.answered and not self._conduct(client, now).cancel(now):
                self._end(client, f"over {self._settings.max_cancels} streams closed unanswered", now)
            return stream
        if stream.is_done:
            text = f"stream {number} had its last frame"
            return self._refuse(client, number, HubError.BAD_FRAME, text, now, strike=True)
        stream.is_done = state is _LAST
        stream.last = now
        if stream.unanswered is None:
            stream.unanswered = now
        assert stream.instance is not None
        onward = HubFrame(stream.hub_id, state, frame.parameter, frame.body)
        data = encode(onward, stream.instance.version, Way.HUB_TO_SERVICE)
        self._to_services.append((stream.instance, data, stream))
        return stream

    # --- refusing --------------------------------------------------------------------------------------

    def _refuse(
        self, client: Client, number: int, code: HubError, text: str, now: float, *, strike: bool = False
    ) -> str:
        """Answer a frame with an error, behind what waits for the client on that stream."""
        self._board.counts[f"{code.name.lower()} to clients"] += 1
        waiting = client.held.get(number)
        stream = waiting[0][1] if waiting else client.streams.get(number)
        self._board.say(client, HubFrame(number, HubState.STREAM_ERROR, code, text.encode()), stream)
        if strike and not self._conduct(client, now).strike(now):
            self._end(
                client, f"over {self._settings.max_strikes} faults in ten seconds, the last: {text}", now
            )
        return f"{code.name.lower()}: {text}"

    def _turn_down(self, client: Client, number: int, code: HubError, text: str, now: float) -> str:
        """Refuse a stream; frames that follow its first one at once are no fault."""
        client.closed_at = now
        return self._refuse(client, number, code, text, now)

    def _other_version(self, client: Client, number: int, asked: Settings, now: float) -> str:
        text = f"this link speaks version {client.version}, not {asked.version}"
        return self._refuse(client, number, HubError.BAD_FRAME, text, now, strike=True)

    def _limit(self, client: Client, number: int, text: str, now: float) -> str:
        refusal = self._turn_down(client, number, HubError.LIMIT, text, now)
        if not self._conduct(client, now).cancel(now):
            self._end(client, f"{text}, again and again", now)
        return refusal

    def _end(self, client: Client, why: str, now: float) -> str:
        self._board.counts["clients that were sent away"] += 1
        self._board.send_away(client, CloseCode.POLICY, why, now)
        return f"limit: {why}"

    def _conduct(self, client: Client, now: float) -> Conduct:
        if client.conduct is None:
            client.conduct = Conduct(self._settings, now)
        return client.conduct


def _said(frame: HubFrame) -> str:
    return HubCommand(frame.parameter).name if frame.state is _COMMAND else frame.state.name


def _load(instance: Instance) -> int:
    return len(instance.streams)
