"""Frames of the hub to bytes and back (spec/hub.md, sections 2 to 5). Pure.

V2   stream:u32 state:u8 parameter:u8                     [number:u16] [settings] body
V1   stream:20 state:4 parameter:8, in one u32            [number:u16] [settings] body

What stands between the header and the body depends on the way that a frame goes and is there in first frames
only. Reading is strict and total: any bytes are one frame or ``MalformedFrame``.
"""

import struct
from enum import StrEnum
from typing import Final

from msgspec import Struct

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import LocalProtocolError, MalformedFrame

VERSIONS: Final = (1, 2)
LAST_STREAM: Final = {1: 2**20 - 1, 2: 2**32 - 1}
"""The highest number of a stream, by version."""

_V2: Final = struct.Struct(">IBB")
_V1: Final = struct.Struct(">I")
_NUMBER: Final = struct.Struct(">H")
_SETTINGS: Final = struct.Struct(">BIH")
SETTINGS_BYTES: Final = _SETTINGS.size
HEADER_BYTES: Final = {1: _V1.size, 2: _V2.size}
"""What every frame has at least, by version."""

_FIRST: Final = HubState.FIRST
_STATES: Final = tuple(HubState(n) if n in HubState.__members__.values() else None for n in range(16))
_PARAMETERS: Final = {
    HubState.COMMAND: ("command", frozenset(HubCommand)),
    HubState.STREAM_ERROR: ("error code", frozenset(HubError)),
}


class Way(StrEnum):
    """Who speaks to whom."""

    CLIENT_TO_HUB = "client-hub"
    HUB_TO_CLIENT = "hub-client"
    SERVICE_TO_HUB = "service-hub"
    HUB_TO_SERVICE = "hub-service"


class Settings(Struct, frozen=True, gc=False):
    """The configuration record."""

    version: int
    timeout_ms: int = 0
    """0 is the hub's default."""
    service: int = 0

    def encode(self) -> bytes:
        """Its seven bytes.

        Raises:
            LocalProtocolError: a number that does not fit, or no version.
        """
        if self.version not in VERSIONS:
            raise LocalProtocolError(f"version {self.version} is none of 1, 2")
        try:
            return _SETTINGS.pack(self.version, self.timeout_ms, self.service)
        except struct.error as exc:
            raise LocalProtocolError(f"a number does not fit the settings: {exc}") from exc

    @classmethod
    def decode(cls, data: bytes) -> "Settings":
        """Read exactly one record, as it stands in a READY.

        Raises:
            MalformedFrame: that is none.
        """
        settings = _read_settings(data, 0)
        if len(data) > SETTINGS_BYTES:
            raise MalformedFrame("trailing bytes after the settings", offset=SETTINGS_BYTES)
        return settings


class HubFrame(Struct, frozen=True, gc=False):
    """One frame.

    ``parameter`` is the function's number, of a command the command, of a stream error its code.
    """

    stream: int
    state: HubState
    parameter: int = 0
    body: bytes = b""
    number: int | None = None
    """In a first frame from a V2 client its service; in one to a service the client's user."""
    settings: Settings | None = None
    """In a first frame on stream 0, and in every first frame of a V1 client."""

    @property
    def service(self) -> int | None:
        """The service that a first frame of a client asks for."""
        return self.number if self.settings is None else self.settings.service


def encode(frame: HubFrame, version: int, way: Way) -> bytes:
    """The frame's bytes.

    Raises:
        LocalProtocolError: a value that no frame can carry this way.
    """
    stream, state, parameter = frame.stream, frame.state, frame.parameter
    if not 0 <= stream <= LAST_STREAM[version]:
        raise LocalProtocolError(f"stream {stream} does not fit version {version}")
    if not 0 <= parameter <= 255:
        raise LocalProtocolError(f"parameter {parameter} does not fit a byte")
    if reason := _parameter_fault(state, parameter):
        raise LocalProtocolError(reason)
    has_number, has_settings = _between(version, way, stream, state)
    if has_number != (frame.number is not None) or has_settings != (frame.settings is not None):
        wants = "settings" if has_settings else "a number" if has_number else "neither number nor settings"
        raise LocalProtocolError(f"a {state.name} frame has {wants} this way")
    if has_settings and stream == 0 and frame.body and way is not Way.SERVICE_TO_HUB:
        raise LocalProtocolError("only a service has an interface behind its settings")
    head = (
        _V2.pack(stream, state, parameter)
        if version == 2
        else _V1.pack(stream << 12 | state << 8 | parameter)
    )
    if frame.settings is not None:
        return head + frame.settings.encode() + frame.body
    if frame.number is None:
        return head + frame.body
    try:
        return head + _NUMBER.pack(frame.number) + frame.body
    except struct.error as exc:
        raise LocalProtocolError(f"number {frame.number} does not fit 16 bits") from exc


def decode(data: bytes, version: int, way: Way) -> HubFrame:
    """Read one frame that went this way on a link of this version.

    Raises:
        MalformedFrame: anything that is not one whole frame.
    """
    end = len(data)
    if version == 2:
        if end < 6:
            raise MalformedFrame(f"a frame has at least 6 bytes, this one {end}", offset=end)
        stream, number, parameter = _V2.unpack_from(data)
        at, state_at = 6, 4
    else:
        if end < 4:
            raise MalformedFrame(f"a frame has at least 4 bytes, this one {end}", offset=end)
        (word,) = _V1.unpack_from(data)
        stream, number, parameter = word >> 12, word >> 8 & 15, word & 255
        at, state_at = 4, 2
    state = _STATES[number] if number < 16 else None
    if state is None:
        raise MalformedFrame(f"state {number} is not in use", offset=state_at)
    if state is not _FIRST:
        if reason := _parameter_fault(state, parameter):
            raise MalformedFrame(reason, offset=state_at + 1)
        return HubFrame(stream, state, parameter, data[at:])
    has_number, has_settings = _between(version, way, stream, state)
    if has_settings:
        settings = _read_settings(data, at)
        at += SETTINGS_BYTES
        if stream == 0 and at < end and way is not Way.SERVICE_TO_HUB:
            raise MalformedFrame("trailing bytes after the settings", offset=at)
        return HubFrame(stream, state, parameter, data[at:], None, settings)
    if not has_number:
        return HubFrame(stream, state, parameter, data[at:])
    if end < at + 2:
        raise MalformedFrame("cut short inside the number of service or user", offset=end)
    return HubFrame(stream, state, parameter, data[at + 2 :], *_NUMBER.unpack_from(data, at))


def version_shown(data: bytes) -> int | None:
    """The version that a service's first message shows: it is a first frame on stream 0."""
    if data.startswith(b"\0\0\0\0\x0f"):
        return 2
    return 1 if data.startswith(b"\0\0\x0f") else None


def stream_and_state(data: bytes | memoryview, version: int) -> tuple[int, int]:
    """What the header of a frame says, lawful or not: its stream and its state."""
    if version == 2:
        stream, state, _ = _V2.unpack_from(data)
        return stream, state
    (word,) = _V1.unpack_from(data)
    return word >> 12, word >> 8 & 15


def _between(version: int, way: Way, stream: int, state: HubState) -> tuple[bool, bool]:
    """Whether a number, and whether settings stand between header and body."""
    if state is not _FIRST:
        return False, False
    if stream == 0:
        return False, True
    if way is Way.CLIENT_TO_HUB:
        return version == 2, version == 1
    return way is Way.HUB_TO_SERVICE, False


def _parameter_fault(state: HubState, parameter: int) -> str | None:
    what = _PARAMETERS.get(state)
    if what is None or parameter in what[1]:
        return None
    return f"{what[0]} {parameter} is not in use"


def _read_settings(data: bytes, at: int) -> Settings:
    if len(data) < at + SETTINGS_BYTES:
        raise MalformedFrame("cut short inside the settings", offset=len(data))
    settings = Settings(*_SETTINGS.unpack_from(data, at))
    if settings.version not in VERSIONS:
        raise MalformedFrame(f"version {settings.version} is none of 1, 2", offset=at)
    return settings
