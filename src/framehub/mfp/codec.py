"""Bytes to MFP frames (spec/mfp.md, sections 2 to 6), and back by ``encode``. Pure.

Decoding is strict and total: every byte string is one frame, or ``MalformedFrame`` with its offset, and that
is decided before anything is allocated by a size the sender declared. ``layout`` shows where things stand.
"""

import struct
from typing import Final

from framehub.codes import BinaryKind, Protocol, Service
from framehub.errors import ChecksumFailed, MalformedFrame
from framehub.mfp.checksum import BY_FLAG, Checksums
from framehub.mfp.encoder import encode
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
    TWO_U32,
)

__all__ = ["decode", "encode"]

_SERVICE: Final = tuple(Service(n) if n in Service.__members__.values() else None for n in range(8))
_KIND: Final = tuple(BinaryKind)


def decode(
    data: bytes | memoryview,
    checksums: Checksums = BY_FLAG,
    max_files: int = MAX_U32,
    max_payload: int = MAX_U32,
    verify_always: bool = False,
) -> Frame:
    """Parse exactly one frame. Of a view, payload, files and bytes are copied out, each once.

    With ``verify_always`` it ends with a sum, whatever its checksum bit says.

    Raises:
        ChecksumFailed: the sum is wrong, or missing where every frame must have one.
        MalformedFrame: anything else that is not one whole frame.
    """
    end = len(data)
    if 13 < end <= SMALL_BYTES and end <= max_payload and checksums.mode != "always" and not verify_always:
        # Most frames by far have a payload and nothing else; what does not fit here goes on below.
        head = data[0]
        plain = head & ~NEED_ACK
        if plain == RESPONSE:
            _, id_, ref, size = HEAD_REF_SIZE.unpack_from(data)
            if size == end - 13 and id_ and ref:
                return ResponseFrame(id_, ref, bytes(data[13:]), (), head != plain)
        elif plain == REQUEST or plain == MESSAGE:  # noqa: PLR1714, SIM109
            _, id_, size = HEAD_SIZE.unpack_from(data)
            if size == end - 9 and id_:
                type_ = RequestFrame if plain == REQUEST else MessageFrame
                return type_(id=id_, payload=bytes(data[9:]), need_ack=head != plain)
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


def _verify(data: bytes | memoryview, end: int, checksums: Checksums) -> int:
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
        raise MalformedFrame("checksum bit set, but no room for the checksum", offset=end)
    end -= size
    if checksums.of(memoryview(data)[:end]) != data[end:]:
        raise ChecksumFailed(f"wrong {checksums.algorithm} checksum", offset=end)
    return end


def _ref(data: bytes | memoryview, end: int) -> int:
    if end < 9:
        raise MalformedFrame("cut short inside ref", offset=end)
    ref = int.from_bytes(data[5:9], "big")
    if ref == 0:
        raise MalformedFrame("ref 0 is not used", offset=5)
    return ref


def _decode_service(data: bytes | memoryview, head: int, id_: int, end: int) -> ServiceFrame:
    code = _SERVICE[head & 7]
    if code is None:
        raise MalformedFrame(f"service code {head & 7} is not in use", offset=0)
    ref = _ref(data, end)
    if end > 9:
        raise MalformedFrame(f"{end - 9} trailing bytes", offset=9)
    own = head & OWN != 0
    if code is Service.PING:
        if not own:
            raise MalformedFrame("a ping must have its own bit set", offset=0)
        if ref != id_:
            raise MalformedFrame("a ping must name itself: ref differs from id", offset=5)
    return ServiceFrame(id=id_, code=code, ref=ref, own=own, checksum=head & CHECKSUM != 0)


def _decode_binary(data: bytes | memoryview, head: int, id_: int, end: int) -> BinaryFrame:
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
        data=bytes(data[at:end]),
        final=head & MORE == 0,
        need_ack=head & NEED_ACK != 0,
        checksum=head & CHECKSUM != 0,
    )


def _decode_body(
    data: bytes | memoryview, head: int, id_: int, end: int, max_files: int, max_payload: int
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
    payload = bytes(data[at : at + payload_size])
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
        return RequestFrame(id_, payload, files, need_ack, checksum)
    if protocol == Protocol.RESPONSE:
        return ResponseFrame(id_, ref, payload, files, need_ack, checksum)
    return MessageFrame(
        id=id_,
        payload=payload,
        files=files,
        expected=expected,
        streaming=extra == STREAM,
        need_ack=need_ack,
        checksum=checksum,
    )


def _size(data: bytes | memoryview, at: int, end: int, what: str) -> tuple[int, int]:
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


def _decode_files(data: bytes | memoryview, at: int, table_size: int, end: int) -> tuple[Files, int]:
    if table_size == 8:  # one file is the most common
        key, size = TWO_U32.unpack_from(data, at)
        body = at + 8
        if size > end - body:
            raise MalformedFrame(f"files of {size} bytes declared, {end - body} present", offset=at)
        return ((key, bytes(data[body : body + size])),), body + size
    numbers = struct.unpack_from(f">{table_size // 4}I", data, at)
    keys, sizes = numbers[::2], numbers[1::2]
    _refuse_repeated(keys, at, 8)
    body = at + table_size
    if sum(sizes) > end - body:
        raise MalformedFrame(f"files of {sum(sizes)} bytes declared, {end - body} present", offset=at)
    files = []
    for key, size in zip(keys, sizes, strict=True):
        files.append((key, bytes(data[body : body + size])))
        body += size
    return tuple(files), body


def _refuse_repeated(keys: tuple[int, ...], at: int, entry: int) -> None:
    if len(set(keys)) == len(keys):
        return
    first: dict[int, int] = {}
    again = next(n for n, key in enumerate(keys) if first.setdefault(key, n) != n)
    raise MalformedFrame(f"key {keys[again]} stands twice", offset=at + again * entry)
