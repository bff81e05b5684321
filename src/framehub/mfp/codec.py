"""MFP frames to bytes and back (spec/mfp.md, sections 2 to 6). Pure.

    service            head id ref                                              [sum]
    message, request   head id     [size payload] [size map] [payload] [map] [files] [sum]
    response           head id ref [size payload] [size map] [payload] [map] [files] [sum]
    binary             head id ref [key] [bytes]                                [sum]

    head = protocol:3 checksum:1 flags:4; every number is unsigned and big-endian

Decoding is strict and total: every byte string is one frame, or ``MalformedFrame`` with its offset, and that
is decided before anything is allocated by a size the sender declared.
"""

import struct
from typing import Final

from framehub.codes import BinaryKind, Protocol, Service
from framehub.errors import ChecksumFailed, LocalProtocolError, MalformedFrame
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

MAX_U32: Final = 2**32 - 1
CHECKSUM: Final = 0b1_0000
PAYLOAD: Final = 0b0001
MAP: Final = 0b0110  # both bits: a map of files, then the files
SET: Final = 0b0010  # alone: a set of announced keys
STREAM: Final = 0b0100  # alone: a stream begins
NEED_ACK: Final = 0b1000
OWN: Final = 0b1000  # service frames only
MORE: Final = 0b0001  # binary frames only

_HEAD: Final = struct.Struct(">BI")
_HEAD_REF: Final = struct.Struct(">BII")
_HEAD_SIZE: Final = struct.Struct(">BII")
_HEAD_REF_KEY: Final = struct.Struct(">BIII")
_HEAD_REF_SIZE: Final = struct.Struct(">BIII")
_U32: Final = struct.Struct(">I")

_PROTOCOL_BITS: Final = {
    MessageFrame: Protocol.MESSAGE << 5,
    RequestFrame: Protocol.REQUEST << 5,
    ResponseFrame: Protocol.RESPONSE << 5,
}
_REQUEST: Final = Protocol.REQUEST << 5 | PAYLOAD
_RESPONSE: Final = Protocol.RESPONSE << 5 | PAYLOAD
_MESSAGE: Final = Protocol.MESSAGE << 5 | PAYLOAD
_SERVICE: Final = tuple(Service(n) if n in Service.__members__.values() else None for n in range(8))
_KIND: Final = tuple(BinaryKind)


# --- encode ------------------------------------------------------------------------------------------------


def encode(frame: Frame, checksums: Checksums = BY_FLAG) -> bytes:
    """The frame's bytes.

    Raises:
        LocalProtocolError: a value that no frame can carry.
    """
    if not frame.checksum and checksums.mode != "always" and 0 < frame.id <= MAX_U32:
        # Most frames by far have a payload and nothing else; what does not fit here goes on below.
        if type(frame) is RequestFrame:
            if frame.payload and not frame.files:
                head = _REQUEST | NEED_ACK if frame.need_ack else _REQUEST
                return _HEAD_SIZE.pack(head, frame.id, len(frame.payload)) + frame.payload
        elif type(frame) is ResponseFrame and frame.payload and not frame.files and 0 < frame.ref <= MAX_U32:
            head = _RESPONSE | NEED_ACK if frame.need_ack else _RESPONSE
            return _HEAD_REF_SIZE.pack(head, frame.id, frame.ref, len(frame.payload)) + frame.payload
    try:
        if type(frame) is ServiceFrame:
            data = _encode_service(frame)
        elif type(frame) is BinaryFrame:
            data = _encode_binary(frame)
        else:
            data = _encode_body(frame)  # type: ignore[arg-type]
    except struct.error as exc:
        raise LocalProtocolError(f"a number does not fit in 32 bits: {exc}") from exc
    if frame.id == 0:
        raise LocalProtocolError("id 0 is not used")
    if checksums.mode == "always" or (frame.checksum and checksums.mode == "flag"):
        data = bytes((data[0] | CHECKSUM,)) + data[1:]
        return data + checksums.of(data)
    return data


def _encode_service(frame: ServiceFrame) -> bytes:
    if frame.ref == 0:
        raise LocalProtocolError("ref 0 is not used")
    if frame.code is Service.PING and not (frame.own and frame.ref == frame.id):
        raise LocalProtocolError("a ping names itself: own bit set and ref equal to id")
    return _HEAD_REF.pack(Protocol.SERVICE << 5 | (OWN if frame.own else 0) | frame.code, frame.id, frame.ref)


def _encode_binary(frame: BinaryFrame) -> bytes:
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
        return _HEAD_REF_KEY.pack(head, frame.id, frame.ref, frame.key) + frame.data
    if kind is BinaryKind.NONE and frame.data:
        raise LocalProtocolError("a binary frame of kind none has no data")
    return _HEAD_REF.pack(head, frame.id, frame.ref) + frame.data


def _encode_body(frame: MessageFrame | RequestFrame | ResponseFrame) -> bytes:
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
        parts = [_HEAD_REF.pack(head, frame.id, frame.ref)]
    else:
        parts = [_HEAD.pack(head, frame.id)]
    if payload:
        parts.append(_U32.pack(len(payload)))
    if table:
        parts.append(_U32.pack(len(table)))
    return b"".join((*parts, payload, table, *blobs))


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


# --- decode ------------------------------------------------------------------------------------------------


def decode(
    data: bytes,
    checksums: Checksums = BY_FLAG,
    max_files: int = MAX_U32,
    max_payload: int = MAX_U32,
    verify_always: bool = False,
) -> Frame:
    """Parse exactly one frame; with ``verify_always`` it ends with a sum, whatever its checksum bit says.

    Raises:
        ChecksumFailed: the sum is wrong, or missing where every frame must have one.
        MalformedFrame: anything else that is not one whole frame.
    """
    end = len(data)
    if 13 < end <= max_payload and checksums.mode != "always" and not verify_always:
        # Most frames by far have a payload and nothing else; what does not fit here goes on below.
        head = data[0]
        plain = head & ~NEED_ACK
        if plain == _RESPONSE:
            _, id_, ref, size = _HEAD_REF_SIZE.unpack_from(data)
            if size == end - 13 and id_ and ref:
                return ResponseFrame(id=id_, ref=ref, payload=data[13:], need_ack=head != plain)
        elif plain == _REQUEST or plain == _MESSAGE:  # noqa: PLR1714, SIM109
            _, id_, size = _HEAD_SIZE.unpack_from(data)
            if size == end - 9 and id_:
                type_ = RequestFrame if plain == _REQUEST else MessageFrame
                return type_(id=id_, payload=data[9:], need_ack=head != plain)
    if end < 5:
        raise MalformedFrame(f"a frame has at least 5 bytes, this one {end}", offset=end)
    head = data[0]
    protocol = head >> 5
    if not 1 <= protocol <= 5:
        raise MalformedFrame(f"sub-protocol {protocol} is not in use", offset=0)
    if head & CHECKSUM or verify_always or checksums.mode == "always":
        end = _verify(data, end, checksums)
        head |= CHECKSUM
    id_ = int.from_bytes(data[1:5], "big")
    if id_ == 0:
        raise MalformedFrame("id 0 is not used", offset=1)
    if protocol == 1:
        return _decode_service(data, head, id_, end)
    if protocol == 4:
        return _decode_binary(data, head, id_, end)
    return _decode_body(data, head, id_, end, max_files, max_payload)


def _verify(data: bytes, end: int, checksums: Checksums) -> int:
    """Check the sum; return where it begins."""
    size = checksums.size
    if not data[0] & CHECKSUM:
        if checksums.mode == "always":
            raise ChecksumFailed("no checksum, but every frame must have one", offset=0)
        if end < 5 + size:
            raise ChecksumFailed("no room for the checksum that every frame must have", offset=end)
    if checksums.mode == "off":
        raise MalformedFrame("checksum bit set, but checksums are off", offset=0)
    if end < 5 + size:
        raise MalformedFrame(f"checksum bit set, but no room for {size} bytes of it", offset=end)
    end -= size
    if checksums.of(memoryview(data)[:end]) != data[end:]:
        raise ChecksumFailed(f"wrong {checksums.algorithm} checksum", offset=end)
    return end


def _ref(data: bytes, end: int) -> int:
    if end < 9:
        raise MalformedFrame("cut short inside ref", offset=end)
    ref = int.from_bytes(data[5:9], "big")
    if ref == 0:
        raise MalformedFrame("ref 0 is not used", offset=5)
    return ref


def _decode_service(data: bytes, head: int, id_: int, end: int) -> ServiceFrame:
    code = _SERVICE[head & 7]
    if code is None:
        raise MalformedFrame(f"service code {head & 7} is not in use", offset=0)
    ref = _ref(data, end)
    if end > 9:
        raise MalformedFrame("trailing bytes after a service frame", offset=9)
    own = head & OWN != 0
    if code is Service.PING:
        if not own:
            raise MalformedFrame("a ping must have its own bit set", offset=0)
        if ref != id_:
            raise MalformedFrame("a ping must name itself: ref differs from id", offset=5)
    return ServiceFrame(id=id_, code=code, ref=ref, own=own, checksum=head & CHECKSUM != 0)


def _decode_binary(data: bytes, head: int, id_: int, end: int) -> BinaryFrame:
    ref = _ref(data, end)
    kind = _KIND[head >> 1 & 3]
    key = None
    at = 9
    if kind is BinaryKind.EXPECTED or kind is BinaryKind.STREAMING:
        at = 13
        if end < at:
            raise MalformedFrame("cut short inside key", offset=end)
        key = int.from_bytes(data[9:13], "big")
    elif kind is BinaryKind.NONE and end > at:
        raise MalformedFrame("trailing bytes: this kind of binary frame carries none", offset=at)
    return BinaryFrame(
        id=id_,
        ref=ref,
        kind=kind,
        key=key,
        data=data[at:end],
        final=head & MORE == 0,
        need_ack=head & NEED_ACK != 0,
        checksum=head & CHECKSUM != 0,
    )


def _decode_body(
    data: bytes, head: int, id_: int, end: int, max_files: int, max_payload: int
) -> MessageFrame | RequestFrame | ResponseFrame:
    protocol = head >> 5
    at = 5
    ref = 0
    if protocol == Protocol.RESPONSE:
        ref = _ref(data, end)
        at = 9
    extra = head & MAP
    if protocol != Protocol.MESSAGE and extra not in (0, MAP):
        raise MalformedFrame("only a message may announce files or open a stream", offset=0)

    payload_size = table_size = 0
    sizes_at = at
    if head & PAYLOAD:
        payload_size, at = _size(data, at, end, "payload size")
        if payload_size > max_payload:
            raise MalformedFrame(
                f"payload of {payload_size} bytes, at most {max_payload} are allowed", offset=sizes_at
            )
    if extra & SET:
        table_at = at
        table_size, at = _size(data, at, end, "map size")
        _check_table(table_size, extra, table_at, max_files)
    if payload_size > end - at:
        raise MalformedFrame(f"payload of {payload_size} bytes declared, {end - at} present", offset=sizes_at)
    payload = data[at : at + payload_size]
    at += payload_size
    if table_size > end - at:
        raise MalformedFrame(f"map of {table_size} bytes declared, {end - at} present", offset=at)

    files: Files = ()
    expected: tuple[int, ...] = ()
    if extra == MAP:
        files, at = _decode_files(data, at, table_size, end)
    elif extra == SET:
        expected = struct.unpack_from(f">{table_size // 4}I", data, at)
        _refuse_repeated(expected, at, 4)
        at += table_size
    if at != end:
        raise MalformedFrame(f"{end - at} trailing bytes", offset=at)

    need_ack = head & NEED_ACK != 0
    checksum = head & CHECKSUM != 0
    if protocol == Protocol.REQUEST:
        return RequestFrame(id=id_, payload=payload, files=files, need_ack=need_ack, checksum=checksum)
    if protocol == Protocol.RESPONSE:
        return ResponseFrame(
            id=id_, ref=ref, payload=payload, files=files, need_ack=need_ack, checksum=checksum
        )
    return MessageFrame(
        id=id_,
        payload=payload,
        files=files,
        expected=expected,
        streaming=extra == STREAM,
        need_ack=need_ack,
        checksum=checksum,
    )


def _size(data: bytes, at: int, end: int, what: str) -> tuple[int, int]:
    if end < at + 4:
        raise MalformedFrame(f"cut short inside {what}", offset=end)
    return int.from_bytes(data[at : at + 4], "big"), at + 4


def _check_table(size: int, extra: int, at: int, max_files: int) -> None:
    """A map or set declares whole entries, at least one, at most ``max_files``."""
    entry, what = (8, "map") if extra == MAP else (4, "set")
    if size == 0 or size % entry:
        raise MalformedFrame(f"{what} size {size} is not a positive multiple of {entry}", offset=at)
    if size // entry > max_files:
        raise MalformedFrame(f"{size // entry} files, at most {max_files} are allowed", offset=at)


def _decode_files(data: bytes, at: int, table_size: int, end: int) -> tuple[Files, int]:
    numbers = struct.unpack_from(f">{table_size // 4}I", data, at)
    keys, sizes = numbers[::2], numbers[1::2]
    _refuse_repeated(keys, at, 8)
    body = at + table_size
    if sum(sizes) > end - body:
        raise MalformedFrame(f"files of {sum(sizes)} bytes declared, {end - body} present", offset=at)
    files = []
    for key, size in zip(keys, sizes, strict=True):
        files.append((key, data[body : body + size]))
        body += size
    return tuple(files), body


def _refuse_repeated(keys: tuple[int, ...], at: int, entry: int) -> None:
    if len(set(keys)) == len(keys):
        return
    first: dict[int, int] = {}
    again = next(n for n, key in enumerate(keys) if first.setdefault(key, n) != n)
    raise MalformedFrame(f"key {keys[again]} stands twice", offset=at + again * entry)
