"""What services say (spec/hub.md, sections 7 to 11 and 14). Pure.

As with clients, messages on open streams take the short way.
"""

import struct
from typing import Final, TypeVar

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import MalformedFrame
from framehub.hub.board import Board
from framehub.hub.from_clients import About
from framehub.hub.headers import (
    HEADER_BYTES,
    HubFrame,
    Settings,
    Way,
    decode,
    encode,
    stream_and_state,
    version_shown,
)
from framehub.hub.holding import Holding
from framehub.hub.interface import read_interface
from framehub.hub.parties import NEVER, Instance, Stream

COMPLAIN_SECONDS: Final = 1.0
"""A service is told so often of frames that are about no stream."""
TOLD_SECONDS: Final = 5.0
"""So often that a stream is not there."""
MOST_TOLD: Final = 1_024
MOST_STRANGERS: Final = 1_024
_K = TypeVar("_K", int, str)
_V2: Final = struct.Struct(">IB")
_FIRST, _COMMAND, _MESSAGE = HubState.FIRST, HubState.COMMAND, HubState.MESSAGE
_SPOKEN: Final = frozenset((_MESSAGE, HubState.LAST, HubState.SERVICE_ERROR, _COMMAND))


class FromServices:
    """Takes the frames of all services, and knows who they are."""

    def __init__(self, board: Board, holding: Holding) -> None:
        self._board = board
        self._settings = board.settings
        self._holding = holding
        self._to_clients = board.to_clients
        self._strangers: dict[bytes, float] = {}

    def says(self, identity: bytes, parts: list[bytes], now: float) -> About:
        """Take one ZeroMQ message of a service, without its identity."""
        instance = self._board.instances.get(identity)
        if instance is None:
            return self._stranger(identity, parts, now)
        instance.heard = now
        if len(parts) == 1:
            data = parts[0]
            if instance.version == 2 and len(data) >= 6:
                number, state = _V2.unpack_from(data)
                stream = instance.streams.get(number)
                if stream is not None and state == 0 and stream.to_client:
                    stream.last = now
                    stream.unanswered = None
                    stream.answered = True
                    self._to_clients.append((stream.client, stream.to_client + data[4:], stream))
                    return stream
            return self._long_way(instance, data, now)
        return self._complain(instance, f"a message of {len(parts)} parts", now)

    def gone(self, instance: Instance, now: float, why: str = "the service has gone") -> None:
        """It cannot be reached, or says nothing: its streams die."""
        if self._board.instances.get(instance.identity) is not instance:
            return
        instance.is_gone = True
        del self._board.instances[instance.identity]
        self._withdraw(instance)
        self._holding.drop(instance)
        self._lose_streams(instance, now, why)
        self._board.changes.append((False, instance))

    def tick(self, now: float, *, lenient: bool) -> None:
        """Ask those that are silent for a sign of life; let the dead go."""
        settings = self._settings
        for instance in list(self._board.instances.values()):
            silent = now - instance.heard
            if silent < settings.heartbeat:
                continue
            if silent >= settings.dead_after and not lenient:
                self.gone(instance, now, f"no word from the service for {settings.dead_after:g} s")
            elif now - instance.pinged >= settings.heartbeat:
                self.ping(instance, now)
        recent = now - COMPLAIN_SECONDS
        self._strangers = {who: at for who, at in self._strangers.items() if at > recent}

    def ping(self, instance: Instance, now: float) -> None:
        """Ask it for a sign of life."""
        instance.pinged = now
        ping = self._board.ping()
        instance.asked, instance.asked_epoch = ping.body, self._board.epoch
        self._board.tell(instance, ping)

    # --- who they are ----------------------------------------------------------------------------------

    def _stranger(self, identity: bytes, parts: list[bytes], now: float) -> About:
        """Somebody who is not registered: only a configuration will do."""
        data = parts[0] if len(parts) == 1 else b""
        version = version_shown(data)
        instance = Instance(identity, version or 2, now)
        if version is None:
            return self._not_configured(instance, now)
        try:
            frame = decode(data, version, Way.SERVICE_TO_HUB)
        except MalformedFrame as exc:
            return self._board.refuse_service(instance, 0, HubError.BAD_FRAME, str(exc))
        if len(self._board.instances) >= self._settings.max_services:
            text = f"over {self._settings.max_services} services"
            return self._board.refuse_service(instance, 0, HubError.LIMIT, text)
        return self._configure(instance, frame, now)

    def _not_configured(self, instance: Instance, now: float) -> str:
        strangers, identity = self._strangers, instance.identity
        self._board.counts["not configured"] += 1
        instance.complained = strangers.get(identity, NEVER)
        refusal = self._complain(instance, "a service sends its configuration first", now)
        if identity in strangers or len(strangers) < MOST_STRANGERS:
            strangers[identity] = instance.complained
        return refusal

    def _configure(self, instance: Instance, frame: HubFrame, now: float) -> About:
        """Register it, or register it anew."""
        asked, board, settings = frame.settings, self._board, self._settings
        assert asked is not None
        if asked.version != instance.version:
            text = f"a header of version {instance.version}, settings of version {asked.version}"
            return board.refuse_service(instance, 0, HubError.BAD_FRAME, text)
        if len(frame.body) > settings.max_interface_bytes:
            text = f"an interface over {settings.max_interface_bytes} bytes"
            return board.refuse_service(instance, 0, HubError.LIMIT, text)
        try:
            interface = read_interface(frame.body)
        except MalformedFrame as exc:
            return board.refuse_service(instance, 0, HubError.BAD_FRAME, exc.reason)
        if instance.number >= 0:
            self._withdraw(instance)
            if instance.epoch != board.epoch:  # it may have come back, and have missed something
                self._holding.drop(instance)
                self._lose_streams(instance, now, "the service came back")
        else:
            board.changes.append((True, instance))
            board.instances[instance.identity] = instance
        instance.epoch = board.epoch
        instance.number = asked.service
        instance.name = interface.name
        instance.functions = interface.functions
        instance.interface = frame.body
        instance.timeout = settings.bounded(asked.timeout_ms) if asked.timeout_ms else 0.0
        instance.is_leaving = False
        self._strangers.pop(instance.identity, None)
        board.offered.setdefault(instance.number, []).append(instance)
        if instance.name:
            board.named.setdefault(instance.name, []).append(instance)
        timeout_ms = round(1000 * (instance.timeout or settings.timeout))
        force = Settings(instance.version, timeout_ms, instance.number)
        board.tell(instance, HubFrame(0, _COMMAND, HubCommand.READY, force.encode()))
        return None

    def _withdraw(self, instance: Instance) -> None:
        _remove(self._board.offered, instance.number, instance)
        if instance.name:
            _remove(self._board.named, instance.name, instance)

    def _lose_streams(self, instance: Instance, now: float, why: str) -> None:
        for stream in list(instance.streams.values()):
            self._board.kill(stream, HubError.SERVICE_DISCONNECT, why, now, service=False)

    # --- what they say ---------------------------------------------------------------------------------

    def _long_way(self, instance: Instance, data: bytes, now: float) -> About:
        board = self._board
        if _is_other_version(data, instance.version):
            self.gone(instance, now, "the service came back")
            return self._stranger(instance.identity, [data], now)
        if len(data) < HEADER_BYTES[instance.version]:
            return self._complain(instance, f"a frame of {len(data)} bytes", now)
        number, state = stream_and_state(data, instance.version)
        try:
            frame = decode(data, instance.version, Way.SERVICE_TO_HUB)
        except MalformedFrame as exc:
            return board.refuse_service(instance, number, HubError.BAD_FRAME, str(exc))
        if number == 0:
            return self._about_link(instance, frame, now)
        wrong = state not in _SPOKEN or (state == _COMMAND and frame.parameter != HubCommand.CLOSE)
        if wrong:
            text = f"a service does not send {_said(frame)} on a stream"
            return board.refuse_service(instance, number, HubError.BAD_FRAME, text)
        stream = instance.streams.get(number)
        if stream is not None:
            return self._on_stream(stream, frame, now)
        if number in board.streams:
            text = f"stream {number} is another service's"
            return board.refuse_service(instance, number, HubError.ZMQ_STREAM_COLLISION, text)
        return self._not_found(instance, number, now)

    def _about_link(self, instance: Instance, frame: HubFrame, now: float) -> About:
        if frame.state is _FIRST:
            return self._configure(instance, frame, now)
        if frame.state is _COMMAND and frame.parameter == HubCommand.PING:
            self._board.tell(instance, HubFrame(0, _COMMAND, HubCommand.PONG, frame.body))
            return None
        if frame.state is _COMMAND and frame.parameter == HubCommand.PONG:
            if frame.body == instance.asked:  # it had not begun anew: it would have configured itself first
                instance.epoch = max(instance.epoch, instance.asked_epoch)
            return None
        if frame.state is _COMMAND and frame.parameter == HubCommand.CLOSE:
            instance.is_leaving = True
            return None
        return self._complain(instance, f"no {_said(frame)} on stream 0", now)

    def _on_stream(self, stream: Stream, frame: HubFrame, now: float) -> Stream:
        if frame.state is _COMMAND:
            self._board.close(stream, now)
            return stream
        stream.last = now
        stream.unanswered = None
        stream.answered = True
        onward = HubFrame(stream.id, frame.state, frame.parameter, frame.body)
        data = encode(onward, stream.client.version, Way.HUB_TO_CLIENT)
        if frame.state is not _MESSAGE:
            self._board.end(stream, frame.state, now)
        self._to_clients.append((stream.client, data, stream))
        return stream

    # --- refusing --------------------------------------------------------------------------------------

    def _complain(self, instance: Instance, text: str, now: float) -> str:
        """Answer on stream 0, but not too often."""
        if now - instance.complained < COMPLAIN_SECONDS:
            self._board.counts["bad_frame to services"] += 1
            return f"bad_frame: {text}"
        instance.complained = now
        return self._board.refuse_service(instance, 0, HubError.BAD_FRAME, text)

    def _not_found(self, instance: Instance, number: int, now: float) -> str:
        """It is told once in a while: frames may have been under way when the stream ended."""
        text, told = f"no stream {number} is open here", instance.told
        if now - told.get(number, NEVER) < TOLD_SECONDS:
            self._board.counts["stream_not_found to services"] += 1
            return f"stream_not_found: {text}"
        told.pop(number, None)
        told[number] = now
        if len(told) > MOST_TOLD:
            del told[next(iter(told))]
        return self._board.refuse_service(instance, number, HubError.STREAM_NOT_FOUND, text)


def _is_other_version(data: bytes, version: int) -> bool:
    """Whether a service begins anew in the other version; in its own, these bytes are never lawful."""
    shown = version_shown(data)
    if shown is None or shown == version:
        return False
    try:
        decode(data, shown, Way.SERVICE_TO_HUB)
    except MalformedFrame:
        return False
    return True


def _remove(lists: dict[_K, list[Instance]], key: _K, instance: Instance) -> None:
    there = lists[key]
    there.remove(instance)
    if not there:
        del lists[key]


def _said(frame: HubFrame) -> str:
    return HubCommand(frame.parameter).name if frame.state is _COMMAND else frame.state.name
