"""MFP frames of a whole batch at once (spec/mfp.md, sections 2 to 6), as ``mfp.codec`` reads one.

What a head alone decides is looked up in tables of 256 entries. The journal does not say which checksum a
connection agreed on: a frame with one is lawful if it ends with its CRC-32 or its XOR8.
"""

from typing import Any, Final

import numpy as np

from framehub.codes import BinaryKind, Protocol, Service
from framehub.errors import MalformedFrame
from framehub.journal.record import KIND_NUMBER
from framehub.mfp import codec
from framehub.mfp.checksum import OFF, crc32_number, xor8_number
from framehub.mfp.layout import CHECKSUM, MAP, OWN, PAYLOAD, SET
from framehub.pipeline.decoded import LAWFUL, NONE, UNLAWFUL, WRONG_SUM, Decoded, verdicts
from framehub.pipeline.spans import Flags, Numbers, Spans

_KINDS: Final = {
    Protocol.SERVICE: "service",
    Protocol.MESSAGE: "message",
    Protocol.REQUEST: "request",
    Protocol.BINARY: "binary",
    Protocol.RESPONSE: "response",
}
_KEYED: Final = (BinaryKind.EXPECTED, BinaryKind.STREAMING)


def _head(head: int) -> dict[str, int]:
    """What the first byte decides; sizes are in bytes."""
    protocol, code, extra = head >> 5, head & 7, head & MAP
    if protocol not in _KINDS:
        return {"bad": 1, "kind": NONE, "code": NONE, "header": 5}
    said = {"kind": KIND_NUMBER[_KINDS[Protocol(protocol)]], "code": NONE, "header": 5}
    if protocol in (Protocol.SERVICE, Protocol.BINARY, Protocol.RESPONSE):
        said |= {"has_ref": 1, "header": 9}
    if protocol == Protocol.SERVICE:
        is_known = code in Service.__members__.values()
        is_ping = code == Service.PING
        bad = not is_known or (is_ping and not head & OWN)
        return said | {"code": code if is_known else NONE, "is_ping": int(is_ping), "bad": int(bad)}
    if protocol == Protocol.BINARY:
        kind = BinaryKind(extra >> 1)
        said |= {"has_key": 1, "header": 13} if kind in _KEYED else {}
        return said | {"is_open": int(kind is not BinaryKind.NONE)}
    if protocol != Protocol.MESSAGE and extra not in (0, MAP):
        return said | {"bad": 1}
    has_payload, has_table = int(bool(head & PAYLOAD)), int(bool(extra & SET))
    return said | {
        "has_body": 1,
        "has_payload": has_payload,
        "header": said["header"] + 4 * has_payload + 4 * has_table,
        "entry": 0 if not has_table else 8 if extra == MAP else 4,
    }


_HEADS: Final = [_head(head) for head in range(256)]


def _table(name: str, dtype: Any = np.int64) -> Any:
    return np.array([said.get(name, 0) for said in _HEADS], dtype=dtype)


_KIND: Final = _table("kind")
_CODE: Final = _table("code")
_HEADER: Final = _table("header")
_ENTRY: Final = _table("entry")
_BAD: Final = _table("bad", np.bool_)
_HAS_REF: Final = _table("has_ref", np.bool_)
_HAS_KEY: Final = _table("has_key", np.bool_)
_HAS_BODY: Final = _table("has_body", np.bool_)
_HAS_PAYLOAD: Final = _table("has_payload", np.bool_)
_IS_OPEN: Final = _table("is_open", np.bool_)
_IS_PING: Final = _table("is_ping", np.bool_)


def decode(raw: Spans) -> Decoded:
    """What the frames say."""
    start, size = raw.start, raw.size
    head = raw.byte(start)
    header = _HEADER[head]
    id_ = raw.number(start + 1)
    ref = np.where(_HAS_REF[head], raw.number(start + 5), NONE)
    key = np.where(_HAS_KEY[head], raw.number(start + 9), NONE)
    entry = _ENTRY[head]
    # Its size is the first field behind the fixed ones: four bytes before the body, or eight.
    size_at = start + header - np.where(entry > 0, 8, 4)
    payload = np.where(_HAS_PAYLOAD[head], raw.number(size_at), 0)
    needed = header + payload
    bad = _BAD[head] | (id_ == 0) | (ref == 0)
    bad |= _IS_PING[head] & (ref != id_)
    files = np.where(_HAS_BODY[head], 0, NONE)
    rows = np.flatnonzero(entry)
    if len(rows):
        needed[rows], files[rows], bad[rows] = _tables(
            raw.take(rows), entry[rows], header[rows], payload[rows], bad[rows]
        )
    is_open = _IS_OPEN[head]
    fits = np.where(is_open, needed <= size, needed == size)
    has_sum = head & CHECKSUM != 0
    verdict = verdicts(~bad & fits & ~has_sum)
    rows = np.flatnonzero(has_sum & ~bad)
    if len(rows):
        verdict[rows] = _sums(raw.take(rows), needed[rows], is_open[rows])
    has_payload = payload > 0
    return Decoded(
        verdict,
        {
            "kind": _KIND[head],
            "head": head,
            "id": id_,
            "ref": ref,
            "key": key,
            "code": _CODE[head],
            "payload_at": np.where(has_payload, header, NONE),
            "payload_bytes": np.where(has_payload, payload, NONE),
            "files": files,
        },
    )


def _tables(
    raw: Spans, entry: Numbers, header: Numbers, payload: Numbers, bad: Flags
) -> tuple[Numbers, Numbers, Flags]:
    """Of frames with a map or set: bytes that are needed in all, files, and what cannot be."""
    table = raw.number(raw.start + header - 4)
    needed = header + payload + table
    bad = bad | (table == 0) | (table % entry != 0) | (needed > raw.size)
    files = np.where(bad, 0, table // entry)
    # One line for each entry of each frame from here on.
    owner = np.repeat(np.arange(len(files)), files)
    first = np.cumsum(files) - files
    step = entry[owner]
    at = (raw.start + header + payload)[owner] + (np.arange(len(owner)) - first[owner]) * step
    keys = raw.number(at)
    sizes = np.where(step == 8, raw.number(at + 4), 0)
    added = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    needed += added[first + files] - added[first]
    known = np.sort(owner << 32 | keys)
    bad[known[1:][known[1:] == known[:-1]] >> 32] = True
    return needed, files, bad


def _sums(raw: Spans, needed: Numbers, is_open: Flags) -> Any:
    """The verdicts on frames that end with a sum and are lawful otherwise."""
    verdict = np.full(len(needed), UNLAWFUL, np.uint8)
    for size, sums in ((4, _crc32), (1, _xor8)):
        end = raw.size - size
        rows = np.flatnonzero((verdict != LAWFUL) & np.where(is_open, needed <= end, needed == end))
        if len(rows):
            start = raw.start[rows]
            sum_at = start + end[rows]
            said = raw.number(sum_at) if size == 4 else raw.byte(sum_at)
            verdict[rows] = np.where(sums(raw, start, sum_at) == said, LAWFUL, WRONG_SUM)
    return verdict


def _crc32(raw: Spans, start: Numbers, end: Numbers) -> Numbers:
    data = memoryview(raw.data)  # type: ignore[arg-type]
    frames = map(data.__getitem__, map(slice, start.tolist(), end.tolist()))
    return np.fromiter(map(crc32_number, frames), np.int64, len(start))


def _xor8(raw: Spans, start: Numbers, end: Numbers) -> Numbers:
    # From each start to its end, and from there to the next start, which is of no interest.
    edges = np.column_stack((start, end)).ravel()
    return np.bitwise_xor.reduceat(raw.data, edges)[::2].astype(np.int64)


def reason(frame: bytes) -> str:
    """Why bytes that ``decode`` calls unlawful are no frame; a sum is taken for a CRC-32."""
    if frame and frame[0] & CHECKSUM:
        frame = bytes((frame[0] & ~CHECKSUM,)) + frame[1:-4]
    try:
        codec.decode(frame, OFF)
    except MalformedFrame as exc:
        return str(exc)
    return "no frame"


def wrong_sum(frame: bytes) -> str:
    """What a frame with a wrong sum should have ended with."""
    body = memoryview(frame)
    crc32, xor8 = crc32_number(body[:-4]), xor8_number(body[:-1])
    return f"ends with {frame[-4:].hex()}: its CRC-32 is {crc32:08x}, its XOR8 {xor8:02x}"
