"""MFP frames as bytes (spec/mfp.md, sections 2 to 6), read slowly and plainly."""

import struct
import zlib
from functools import reduce
from operator import xor
from typing import Any

KINDS = {1: "service", 2: "message", 3: "request", 4: "binary", 5: "response"}
SUM = 0b1_0000
ACK_WANTED = 0b1000
TABLE = 0b0110
ATTACHED, STREAM, ANNOUNCED = 0b0110, 0b0100, 0b0010
PAYLOAD = MORE = 0b0001


class Unlawful(ValueError):
    """The bytes are no frame."""


class WrongSum(ValueError):
    """The bytes would be a frame if its checksum were right."""


def crc32(body: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(body))


def xor8(body: bytes) -> bytes:
    return bytes([reduce(xor, body, 0)])


def decode(raw: bytes) -> dict[str, Any]:
    """What a frame says: columns of the journal; ``data`` of binary frames; keys (``table``) and ``blobs``.

    Which checksum the connection had is not known here: either will do.

    Raises:
        Unlawful: it is none.
        WrongSum: only its sum is wrong.
    """
    if not raw:
        raise Unlawful("no bytes")
    if not raw[0] & SUM:
        return _frame(raw)
    readable = 0
    for made in (crc32, xor8):
        size = len(made(b""))
        body, told = raw[:-size], raw[-size:]
        try:
            frame = _frame(body)
        except Unlawful:
            continue
        readable += 1
        if made(body) == told:
            return frame
    if readable:
        raise WrongSum("the checksum is wrong")
    raise Unlawful("no frame with either checksum")


def _frame(body: bytes) -> dict[str, Any]:
    if len(body) < 5:
        raise Unlawful("fewer than 5 bytes")
    head = body[0]
    kind = KINDS.get(head >> 5)
    if kind is None:
        raise Unlawful("no such sub-protocol")
    said: dict[str, Any] = dict.fromkeys(("ref", "key", "code", "payload_at", "payload_bytes", "files"))
    said |= {"kind": kind, "head": head, "id": _u32(body, 1), "table": [], "blobs": [], "data": None}
    if said["id"] == 0:
        raise Unlawful("id 0")
    at = 5
    if kind in ("service", "binary", "response"):
        said["ref"] = _u32(body, 5)
        at = 9
        if said["ref"] == 0:
            raise Unlawful("ref 0")
    if kind == "service":
        _service(said, body)
    elif kind == "binary":
        _binary(said, body)
    else:
        _message(said, body, at)
    return said


def _service(said: dict[str, Any], body: bytes) -> None:
    if len(body) != 9:
        raise Unlawful("a service frame has 9 bytes")
    said["code"] = said["head"] & 0b111
    if said["code"] not in (1, 2, 3, 4, 7):
        raise Unlawful("no such code")
    if said["code"] == 7 and (said["ref"] != said["id"] or not said["head"] & 0b1000):
        raise Unlawful("a ping names itself")


def _binary(said: dict[str, Any], body: bytes) -> None:
    what, at = said["head"] & TABLE, 9
    if what in (ANNOUNCED, STREAM):
        said["key"] = _u32(body, 9)
        at = 13
    said["data"] = body[at:]
    if what == 0 and said["data"]:
        raise Unlawful("nothing, and bytes of it")


def _message(said: dict[str, Any], body: bytes, at: int) -> None:
    head, what = said["head"], said["head"] & TABLE
    if said["kind"] != "message" and what in (ANNOUNCED, STREAM):
        raise Unlawful("only messages announce and stream")
    payload_bytes = table_bytes = 0
    if head & PAYLOAD:
        payload_bytes = _u32(body, at)
        at += 4
    if what in (ATTACHED, ANNOUNCED):
        table_bytes = _u32(body, at)
        at += 4
        each = 8 if what == ATTACHED else 4
        if not table_bytes or table_bytes % each:
            raise Unlawful("a table of that size is none")
    if len(body) < at + payload_bytes + table_bytes:
        raise Unlawful("cut short")
    if payload_bytes:
        said |= {"payload_at": at, "payload_bytes": payload_bytes}
    table_at = at + payload_bytes
    at = table_at + table_bytes
    if what == ATTACHED:
        for place in range(table_at, at, 8):
            size = _u32(body, place + 4)
            said["table"].append(_u32(body, place))
            said["blobs"].append(body[at : at + size])
            at += size
    elif what == ANNOUNCED:
        said["table"] = [_u32(body, place) for place in range(table_at, at, 4)]
    if at != len(body):
        raise Unlawful("the sizes do not add up")
    if len(set(said["table"])) != len(said["table"]):
        raise Unlawful("a key stands twice")
    said["files"] = len(said["table"])


def _u32(body: bytes, at: int) -> int:
    if len(body) < at + 4:
        raise Unlawful("cut short")
    (number,) = struct.unpack_from(">I", body, at)
    assert isinstance(number, int)
    return number
