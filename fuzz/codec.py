"""Any bytes, under every checksum mode: one frame or ``MalformedFrame``, and no more bytes than came."""

from typing import Final

from framehub.errors import MalformedFrame
from framehub.mfp import codec, plain
from framehub.mfp.checksum import OFF, Algorithm, Checksums, Mode
from framehub.mfp.encoder import encode, encode_apart
from framehub.mfp.frames import BinaryFrame, Frame, ServiceFrame
from framehub.mfp.layout import CHECKSUM, PAYLOAD

ALGORITHMS: Final[tuple[Algorithm, ...]] = ("crc32", "xor8")
MODES: Final[tuple[Mode, ...]] = ("flag", "always")
AGREED: Final = [
    OFF,
    *(Checksums(mode, algorithm) for mode in MODES for algorithm in ALGORITHMS),
]
MAX_FILES: Final = 64


def one_input(data: bytes) -> None:
    """The bytes as they are, and with the right checksum at their end to get past it."""
    for agreed in AGREED:
        frame = judge(data, agreed)
        if frame and agreed is OFF:
            assert plain.from_plain(plain.to_plain(frame)) == frame
            assert codec.decode(memoryview(data), agreed) == frame
            assert b"".join(encode_apart(frame, agreed)) == encode(frame, agreed)
        if data and agreed.mode != "off":
            summed = bytes((data[0] | CHECKSUM,)) + data[1:]
            framed = judge(summed + agreed.of(summed), agreed)
            if agreed.mode == "flag":
                verified(data, agreed)
                got = verified(data + agreed.of(data), agreed)
                assert got == framed, "a sum without its bit is read otherwise than with it"


def judge(data: bytes, agreed: Checksums) -> Frame | None:
    """Decode; whatever is accepted would be sent again as it came."""
    try:
        frame = codec.decode(data, agreed, max_files=MAX_FILES)
    except MalformedFrame as refusal:
        if 0 <= refusal.offset <= len(data):
            return None
        raise AssertionError(f"an offset outside of {len(data)} bytes") from refusal
    assert held(frame) <= len(data), "more bytes than came"
    again = encode(frame, agreed)
    if again != data:
        assert is_empty_payload(frame, data), f"{data.hex()} would be sent as {again.hex()}"
        assert len(again) == len(data) - 4
    return frame


def verified(data: bytes, agreed: Checksums) -> Frame | None:
    """Decode as a receiver that verifies always: it takes only what ends with its sum."""
    try:
        frame = codec.decode(data, agreed, max_files=MAX_FILES, verify_always=True)
    except MalformedFrame:
        assert not (data[0] & CHECKSUM and judge(data, agreed)), "refuses what another one takes"
        return None
    assert data.endswith(agreed.of(data[: -agreed.size]))
    assert not data[0] & CHECKSUM or frame == judge(data, agreed)
    return frame


def is_empty_payload(frame: Frame, data: bytes) -> bool:
    """The one accepted form that is not sent: a payload flag with size 0."""
    if isinstance(frame, ServiceFrame | BinaryFrame):
        return False
    return bool(data[0] & PAYLOAD) and frame.payload == b""


def held(frame: Frame) -> int:
    """Bytes that a frame keeps."""
    if isinstance(frame, ServiceFrame):
        return 0
    if isinstance(frame, BinaryFrame):
        return len(frame.data)
    assert len(frame.files) <= MAX_FILES
    return len(frame.payload) + sum(len(blob) + 8 for _, blob in frame.files)
