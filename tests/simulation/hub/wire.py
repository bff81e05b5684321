"""The bytes of frames, written here once more: what the hub's own code believes must not matter."""

import struct
from typing import Final

MESSAGE: Final = 0
SERVICE_ERROR: Final = 11
LAST: Final = 12
ERROR: Final = 13
COMMAND: Final = 14
FIRST: Final = 15
STATES: Final = frozenset((MESSAGE, SERVICE_ERROR, LAST, ERROR, COMMAND, FIRST))

PING: Final = 1
PONG: Final = 2
READY: Final = 3
CLOSE: Final = 15
COMMANDS: Final = frozenset((PING, PONG, READY, CLOSE))

TIMEOUT: Final = 1
CLIENT_DISCONNECT: Final = 2
SERVICE_DISCONNECT: Final = 3
STREAM_NOT_FOUND: Final = 4
WS_STREAM_COLLISION: Final = 5
ZMQ_STREAM_COLLISION: Final = 6
ENDPOINT_NOT_FOUND: Final = 7
BAD_FRAME: Final = 8
LIMIT: Final = 9
BUSY: Final = 11
INTERNAL: Final = 12
CODES: Final = {
    TIMEOUT: "timeout",
    CLIENT_DISCONNECT: "client_disconnect",
    SERVICE_DISCONNECT: "service_disconnect",
    STREAM_NOT_FOUND: "stream_not_found",
    WS_STREAM_COLLISION: "ws_stream_collision",
    ZMQ_STREAM_COLLISION: "zmq_stream_collision",
    ENDPOINT_NOT_FOUND: "endpoint_not_found",
    BAD_FRAME: "bad_frame",
    LIMIT: "limit",
    10: "forbidden",
    BUSY: "busy",
    INTERNAL: "internal",
}
ENDINGS: Final = frozenset((TIMEOUT, CLIENT_DISCONNECT, SERVICE_DISCONNECT, LIMIT, BUSY, INTERNAL))
"""Errors that end a stream that is open."""

HEADER: Final = {1: 4, 2: 6}
LAST_V1: Final = 2**20 - 1
LAST_V2: Final = 2**32 - 1
_V2: Final = struct.Struct(">IBB")
_V1: Final = struct.Struct(">I")
_RECORD: Final = struct.Struct(">BIH")
RECORD_BYTES: Final = 7


def frame(version: int, stream: int, state: int, parameter: int = 0, rest: bytes = b"") -> bytes:
    """A header and what follows it."""
    if version == 2:
        return _V2.pack(stream, state, parameter) + rest
    return _V1.pack(stream << 12 | state << 8 | parameter) + rest


def read(data: bytes, version: int) -> tuple[int, int, int, bytes]:
    """Stream, state, parameter, and what follows the header."""
    if version == 2:
        stream, state, parameter = _V2.unpack_from(data)
        return stream, state, parameter, data[6:]
    (word,) = _V1.unpack_from(data)
    return word >> 12, word >> 8 & 15, word & 255, data[4:]


def record(version: int, timeout_ms: int, service: int) -> bytes:
    """A configuration."""
    return _RECORD.pack(version, timeout_ms, service)


def read_record(data: bytes) -> tuple[int, int, int]:
    """Version, timeout in milliseconds, service."""
    version, timeout_ms, service = _RECORD.unpack_from(data)
    return version, timeout_ms, service


def first(version: int, stream: int, function: int, service: int, body: bytes, timeout_ms: int = 0) -> bytes:
    """A client's first frame on a stream."""
    between = service.to_bytes(2, "big") if version == 2 else record(version, timeout_ms, service)
    return frame(version, stream, FIRST, function, between + body)
