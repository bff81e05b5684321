"""Frames of the hub as bytes, in both versions of their header.

V2   stream:4 state:1 function:1             body      on a first frame before the body: service:2 from
V1   stream:20 bits state:4 bits function:1  body      a client (V1: a record of 7 bytes), user:2 to a service

On stream 0 the record stands before the body of a first frame, in both versions and directions.
"""

import struct
from typing import Any

from tests.spark.oracle.mfp_bytes import Unlawful

KINDS = {15: "first", 0: "message", 12: "last", 14: "command", 13: "stream_error", 11: "service_error"}
ERRORS = {
    1: "timeout",
    2: "client_disconnect",
    3: "service_disconnect",
    4: "stream_not_found",
    5: "ws_stream_collision",
    6: "zmq_stream_collision",
    7: "endpoint_not_found",
    8: "bad_frame",
    9: "limit",
    10: "forbidden",
    11: "busy",
    12: "internal",
}
PING, PONG, READY, CLOSE = 1, 2, 3, 15
RECORD = 7
"""version:1 timeout:4 service:2"""


def decode(raw: bytes, *, version: int, direction: str, at_client: bool) -> dict[str, Any]:
    """What a frame says: columns of the journal.

    Raises:
        Unlawful: it is none.
    """
    if version == 2:
        if len(raw) < 6:
            raise Unlawful("shorter than a header")
        stream, state, function = struct.unpack_from(">IBB", raw)
        at = 6
    else:
        if len(raw) < 4:
            raise Unlawful("shorter than a header")
        (word,) = struct.unpack_from(">I", raw)
        stream, state, function = word >> 12, word >> 8 & 0xF, word & 0xFF
        at = 4
    if state not in KINDS:
        raise Unlawful("no such state")
    if state == 15 and not stream:
        at += RECORD
    elif state == 15 and direction == "in" and at_client:
        at += 2 if version == 2 else RECORD
    elif state == 15 and direction == "out" and not at_client:
        at += 2
    if len(raw) < at:
        raise Unlawful("cut short")
    said: dict[str, Any] = {"kind": KINDS[state], "head": state, "id": stream, "key": function, "code": None}
    if state == 14:
        said["code"] = function
        if function not in (PING, PONG, READY, CLOSE):
            raise Unlawful("no such command")
    elif state == 13:
        said["code"] = function
        if function not in ERRORS:
            raise Unlawful("no such error")
    size = len(raw) - at
    said |= {"payload_at": at if size else None, "payload_bytes": size or None}
    return said
