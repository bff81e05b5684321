"""Rows in brief: what the hot path writes down of a frame whose other columns its own bytes tell. Pure.

    row     now:8 exchange:16 size:4 label:4
    label   link:8 protocol:1 version:1 direction:1 kind:1 user:4 service:4 function:4 ref:8 payload at:2
            query at:2 endpoint:2 error:2 coder:2

The first is packed for each frame. A label is what many rows have in common, all of an endpoint on a link in
one direction say: it is made once, and rows have its number (``labels``). The clock is read once: the wall's
time is the monotonic one and the difference of the two when the block is made. Everything else is decoded
from the frames of a whole block at once (``columns``).

Only lawful frames can be brief, and only those that need no walk through a map: ``MFP_BRIEF`` tells by the
first byte of an MFP frame.
"""

import struct
from time import monotonic_ns, time_ns
from typing import Any, Final, TypeAlias

import numpy as np

from framehub.codes import HubState, Protocol
from framehub.journal.record import DTYPE, KIND_NUMBER, PROTOCOLS
from framehub.mfp.layout import MAP, PAYLOAD

Numbers: TypeAlias = np.ndarray[Any, Any]

CONSTANT: Final = struct.Struct("<8sBBBBiiiqHH")
"""``link, protocol, version, direction, kind, user, service, function, ref, payload at, query at``."""
TEXTS: Final = struct.Struct("<HHH")
"""Of a label, after the constant: numbers of its endpoint, error and coder."""
pack: Final = struct.Struct(">dQQiI").pack
"""A row: ``now``, its exchange in two halves, ``size`` and ``label``."""
READ_BEYOND: Final = 16
"""Zeros that follow the frames of a block: columns are read where a shorter frame has none."""
WHOLE: Final = 255
"""Stands for the protocol of a row that is not brief at all."""

BRIEF: Final = np.dtype([("now", ">f8"), ("exchange", "V16"), ("size", ">i4"), ("label", ">u4")])
BRIEF_BYTES: Final = BRIEF.itemsize
LABEL: Final = np.dtype(
    [
        ("link", "V8"),
        ("protocol", "u1"),
        ("version", "u1"),
        ("direction", "u1"),
        ("kind", "u1"),
        ("user", "<i4"),
        ("service", "<i4"),
        ("function", "<i4"),
        ("ref", "<i8"),
        ("payload_at", "<u2"),
        ("query_at", "<u2"),
        ("endpoint", "<u2"),
        ("error", "<u2"),
        ("coder", "<u2"),
    ]
)
assert len(pack(0.0, 0, 0, 0, 0)) == BRIEF_BYTES
assert CONSTANT.size + TEXTS.size == LABEL.itemsize

_MFP: Final = PROTOCOLS.index("mfp")
_HUB: Final = PROTOCOLS.index("hub")
_HUB_HEAD: Final = 6
_HAS_BODY: Final = (Protocol.MESSAGE, Protocol.REQUEST, Protocol.RESPONSE)
_HAS_REF: Final = (Protocol.SERVICE, Protocol.BINARY, Protocol.RESPONSE)


def _by_head(value: Any) -> Numbers:
    return np.array([value(head >> 5, head) for head in range(256)], dtype=np.int16)


# By the first byte of an MFP frame: its kind, where numbers stand in it (0 for nowhere), its code, its files.
MFP_KIND: Final = _by_head(
    lambda kind, _: KIND_NUMBER[Protocol(kind).name.lower()] if 1 <= kind <= 5 else KIND_NUMBER["refused"]
)
MFP_REF: Final = _by_head(lambda kind, _: 5 if kind in _HAS_REF else 0)
MFP_KEY: Final = _by_head(lambda kind, head: 9 if kind == Protocol.BINARY and head & MAP in (2, 4) else 0)
MFP_CODE: Final = _by_head(lambda kind, head: head & 7 if kind == Protocol.SERVICE else -1)
MFP_FILES: Final = _by_head(lambda kind, _: 0 if kind in _HAS_BODY else -1)
MFP_SIZE: Final = _by_head(
    lambda kind, head: (9 if kind == Protocol.RESPONSE else 5) if kind in _HAS_BODY and head & PAYLOAD else 0
)
MFP_BRIEF: Final = tuple(
    2 if kind in _HAS_BODY and not head & MAP else int(kind in (Protocol.SERVICE, Protocol.BINARY))
    for head in range(256)
    for kind in (head >> 5,)
)
"""By the first byte: whether a lawful MFP frame can be brief (not 0), and can have an endpoint (2)."""
HUB_KIND: Final = np.full(256, KIND_NUMBER["refused"], dtype=np.int16)
for _state in HubState:
    HUB_KIND[_state] = KIND_NUMBER[_state.name.lower()]


def wall_offset() -> int:
    """How far the wall clock is ahead of the monotonic one, in nanoseconds."""
    tries = []
    for _ in range(4):  # we may be made to wait between two readings
        before = monotonic_ns()
        wall = time_ns()
        taken = monotonic_ns() - before
        tries.append((taken, wall - before - taken // 2))
        if taken < 2_000:
            break
    return min(tries)[1]


def words_of(frames: Numbers) -> Numbers:
    """The 32-bit number at each byte."""
    return np.ndarray((len(frames) - 3,), dtype=">u4", buffer=frames, strides=(1,))


def unfold(
    packed: Numbers, labels: dict[str, Numbers], frames: Numbers, begins: Numbers
) -> dict[str, Numbers]:
    """The fixed-size columns of brief rows; ``labels`` are theirs, by name.

    ``frames`` are all bytes of their block's frames and ``READ_BEYOND`` zeros; ``begins`` says where those of
    each row begin.
    """
    count = len(packed)
    columns = {name: np.full(count, -1, dtype=DTYPE[name]) for name in _MOSTLY_NULL}
    for name in _AS_LABELLED:
        columns[name] = labels[name]
    columns["exchange"] = packed["exchange"]
    columns["mono_ns"] = np.rint(packed["now"] * 1e9).astype(np.int64)
    columns["time_ns"] = columns["mono_ns"] + wall_offset()
    columns["bytes"] = packed["size"]
    columns["kind"] = labels["kind"].copy()
    columns["recorded"] = np.zeros(count, dtype=np.uint8)
    columns["parent"] = np.zeros(count, dtype="V16")
    words, protocols = words_of(frames), labels["protocol"]
    for protocol in np.flatnonzero(np.bincount(protocols)).tolist() if count else ():
        rows: Any = slice(None)
        if not (protocols == protocol).all():
            rows = np.flatnonzero(protocols == protocol)
        at = begins[rows]
        if protocol == _MFP:
            payload_at, payload_bytes = _unfold_mfp(columns, rows, frames, words, at)
        elif protocol == _HUB:
            payload_bytes = packed["size"][rows] - _HUB_HEAD
            payload_at = np.full(len(at), _HUB_HEAD)
            columns["head"][rows] = head = frames[at + 4]
            columns["id"][rows] = words[at]
            columns["key"][rows] = frames[at + 5]
            columns["ref"][rows] = labels["ref"][rows]
            columns["kind"][rows] = HUB_KIND[head]
            payload_at, payload_bytes = _unless(payload_bytes == 0, payload_at, payload_bytes)
        else:
            payload_at = labels["payload_at"][rows].astype(np.int64)
            payload_bytes = words[at + payload_at - 4]
            payload_at, payload_bytes = _unless(payload_at == 0, payload_at, payload_bytes)
        columns["payload_at"][rows] = payload_at
        columns["payload_bytes"][rows] = payload_bytes
    return columns


_MOSTLY_NULL: Final = ("head", "id", "ref", "key", "code", "files", "payload_at", "payload_bytes")
_AS_LABELLED: Final = ("link", "protocol", "version", "direction", "user", "service", "function")


def _unfold_mfp(
    columns: dict[str, Numbers], rows: Any, frames: Numbers, words: Numbers, at: Numbers
) -> tuple[Numbers, Numbers]:
    head = frames[at]
    columns["head"][rows] = head
    columns["id"][rows] = words[at + 1]
    columns["ref"][rows] = _read(words, at, MFP_REF[head])
    columns["key"][rows] = _read(words, at, MFP_KEY[head])
    columns["code"][rows] = MFP_CODE[head]
    columns["files"][rows] = MFP_FILES[head]
    columns["kind"][rows] = MFP_KIND[head]
    payload_bytes = _read(words, at, MFP_SIZE[head])
    return _unless(payload_bytes <= 0, MFP_SIZE[head] + 4, payload_bytes)


def _read(words: Numbers, at: Numbers, place: Numbers) -> Numbers:
    """The numbers at a place in each frame; -1 where there is none."""
    return np.where(place > 0, words[at + place].astype(np.int64), -1)


def _unless(empty: Numbers, at: Numbers, size: Numbers) -> tuple[Numbers, Numbers]:
    return np.where(empty, -1, at), np.where(empty, -1, size.astype(np.int64))
