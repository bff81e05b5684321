"""MFP frames to bytes (spec/mfp.md, sections 2 to 6). Pure."""

import struct
from typing import Final

from framehub.codes import BinaryKind, Protocol, Service
from framehub.errors import LocalProtocolError
from framehub.mfp.checksum import BY_FLAG, Checksums
from framehub.mfp.frames import (
    BinaryFrame,
    Files,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)
from framehub.mfp.layout import (
    CHECKSUM,
    HEAD,
    HEAD_REF,
    HEAD_REF_KEY,
    HEAD_REF_SIZE,
    HEAD_SIZE,
    MAP,
    MAX_U32,
    MESSAGE,
    MORE,
    NEED_ACK,
    OWN,
    PAYLOAD,
    REQUEST,
    RESPONSE,
    SET,
    SMALL_BYTES,
    STREAM,
    U32,
)

_PROTOCOL_BITS: Final = {
    MessageFrame: Protocol.MESSAGE << 5,
    RequestFrame: Protocol.REQUEST << 5,
    ResponseFrame: Protocol.RESPONSE << 5,
}


def encode(frame: Frame, checksums: Checksums = BY_FLAG) -> bytes:
    """The frame's bytes.

    Raises:
        LocalProtocolError: a value that no frame can carry.
    """
    if not frame.checksum and checksums.mode != "always" and 0 < frame.id <= MAX_U32:
        # Most frames by far have a payload and nothing else; what does not fit here goes on below.
        if type(frame) is RequestFrame:
            if frame.payload and not frame.files:
                head = REQUEST | NEED_ACK if frame.need_ack else REQUEST
                return HEAD_SIZE.pack(head, frame.id, len(frame.payload)) + frame.payload
        elif type(frame) is ResponseFrame:
            if frame.payload and not frame.files and 0 < frame.ref <= MAX_U32:
                head = RESPONSE | NEED_ACK if frame.need_ack else RESPONSE
                return HEAD_REF_SIZE.pack(head, frame.id, frame.ref, len(frame.payload)) + frame.payload
        elif (
            type(frame) is MessageFrame
            and frame.payload
            and not (frame.files or frame.expected or frame.streaming)
        ):
            head = MESSAGE | NEED_ACK if frame.need_ack else MESSAGE
            return HEAD_SIZE.pack(head, frame.id, len(frame.payload)) + frame.payload
    return b"".join(_pieces(frame, checksums))


def encode_apart(frame: Frame, checksums: Checksums = BY_FLAG) -> tuple[bytes, ...]:
    """The frame's bytes in pieces, to be sent one behind the other: nothing large is copied.

    Raises:
        LocalProtocolError: a value that no frame can carry.
    """
    apart: list[bytes] = []
    small: list[bytes] = []
    for piece in _pieces(frame, checksums):
        if len(piece) <= SMALL_BYTES:
            small.append(piece)
            continue
        if small:
            apart.append(b"".join(small))
            small = []
        apart.append(piece)
    if small:
        apart.append(b"".join(small))
    return tuple(apart)


def _pieces(frame: Frame, checksums: Checksums) -> list[bytes]:
    try:
        if type(frame) is ServiceFrame:
            pieces = [_encode_service(frame)]
        elif type(frame) is BinaryFrame:
            pieces = [_encode_binary_head(frame), frame.data]
        else:
            pieces = _encode_body(frame)  # type: ignore[arg-type]
    except struct.error as exc:
        raise LocalProtocolError(f"a number does not fit in 32 bits: {exc}") from exc
    if frame.id == 0:
        raise LocalProtocolError("id 0 is not used")
    if checksums.mode == "always" or (frame.checksum and checksums.mode == "flag"):
        head = pieces[0]
        pieces[0] = bytes((head[0] | CHECKSUM,)) + head[1:]
        pieces.append(checksums.of_all(pieces))
    return pieces


def _encode_service(frame: ServiceFrame) -> bytes:
    if frame.ref == 0:
        raise LocalProtocolError("ref 0 is not used")
    if frame.code is Service.PING and not (frame.own and frame.ref == frame.id):
        raise LocalProtocolError("a ping names itself: own bit set and ref equal to id")
    return HEAD_REF.pack(Protocol.SERVICE << 5 | (OWN if frame.own else 0) | frame.code, frame.id, frame.ref)


def _encode_binary_head(frame: BinaryFrame) -> bytes:
    if frame.ref == 0:
        raise LocalProtocolError("ref 0 is not used")
    kind = frame.kind
    flags = (0 if frame.final else MORE) | kind << 1 | (NEED_ACK if frame.need_ack else 0)
    head = Protocol.BINARY << 5 | flags
    keyed = kind is BinaryKind.EXPECTED or kind is BinaryKind.STREAMING
    if keyed != (frame.key is not None):
        raise LocalProtocolError(
            f"a binary frame of kind {kind.name.lower()} has {'a' if keyed else 'no'} key"
        )
    if keyed:
        return HEAD_REF_KEY.pack(head, frame.id, frame.ref, frame.key)
    if kind is BinaryKind.NONE and frame.data:
        raise LocalProtocolError("a binary frame of kind none has no data")
    return HEAD_REF.pack(head, frame.id, frame.ref)


def _encode_body(frame: MessageFrame | RequestFrame | ResponseFrame) -> list[bytes]:
    head = _PROTOCOL_BITS[type(frame)]
    if frame.need_ack:
        head |= NEED_ACK
    payload = frame.payload
    if payload:
        head |= PAYLOAD
    table = b""
    blobs: list[bytes] = []
    if frame.files:
        head |= MAP
        table, blobs = _encode_map(frame.files)
    if type(frame) is MessageFrame:
        if bool(frame.files) + bool(frame.expected) + frame.streaming > 1:
            raise LocalProtocolError(
                "a message attaches files, announces files or opens a stream: one of them"
            )
        if frame.expected:
            head |= SET
            table = _encode_set(frame.expected)
        elif frame.streaming:
            head |= STREAM
    if type(frame) is ResponseFrame:
        if frame.ref == 0:
            raise LocalProtocolError("ref 0 is not used")
        parts = [HEAD_REF.pack(head, frame.id, frame.ref)]
    else:
        parts = [HEAD.pack(head, frame.id)]
    if payload:
        parts.append(U32.pack(len(payload)))
    if table:
        parts.append(U32.pack(len(table)))
    return [b"".join(parts), payload, table, *blobs]


def _encode_map(files: Files) -> tuple[bytes, list[bytes]]:
    numbers: list[int] = []
    for key, blob in files:
        numbers += (key, len(blob))
    _refuse_duplicates(numbers[::2])
    return struct.pack(f">{len(numbers)}I", *numbers), [blob for _, blob in files]


def _encode_set(keys: tuple[int, ...]) -> bytes:
    _refuse_duplicates(keys)
    return struct.pack(f">{len(keys)}I", *keys)


def _refuse_duplicates(keys: list[int] | tuple[int, ...]) -> None:
    if len(set(keys)) != len(keys):
        raise LocalProtocolError("two files have the same key")
