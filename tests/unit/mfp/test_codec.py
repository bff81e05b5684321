"""Frames to bytes and back. What the vectors show is shown there; here are both ways through the codec."""

import tracemalloc

import pytest

from framehub.codes import BinaryKind, Service
from framehub.errors import ChecksumFailed, LocalProtocolError, MalformedFrame
from framehub.mfp import codec, layout
from framehub.mfp.checksum import BY_FLAG, OFF, Checksums
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame

ALWAYS = Checksums("always", "crc32")
BIG = 2**32

FRAMES: list[Frame] = [
    ServiceFrame(id=1, code=Service.ABORT, ref=2, own=True),
    MessageFrame(id=1, payload=b"long enough", need_ack=True),
    MessageFrame(id=1, payload=b"x", expected=(1, 2)),
    MessageFrame(id=1, streaming=True),
    RequestFrame(id=1),
    RequestFrame(id=1, payload=b"long enough"),
    RequestFrame(id=1, payload=b"long enough", need_ack=True),
    RequestFrame(id=1, payload=b"x", files=((3, b"abc"), (1, b""))),
    ResponseFrame(id=1, ref=2),
    ResponseFrame(id=1, ref=2, payload=b"long enough"),
    ResponseFrame(id=1, ref=2, payload=b"long enough", need_ack=True),
    ResponseFrame(id=1, ref=2, payload=b"x", files=((0, b"abc"),)),
    BinaryFrame(id=1, ref=2),
    BinaryFrame(id=1, ref=2, kind=BinaryKind.EXPECTED, key=0, data=b"abc", final=False),
    BinaryFrame(id=1, ref=2, kind=BinaryKind.DATA, data=b"abc", need_ack=True),
]


@pytest.mark.parametrize("frame", FRAMES, ids=repr)
@pytest.mark.parametrize("checksums", [OFF, BY_FLAG], ids=["off", "by flag"])
def test_what_was_sent_is_what_arrives(frame: Frame, checksums: Checksums) -> None:
    assert codec.decode(codec.encode(frame, checksums), checksums) == frame


@pytest.mark.parametrize("frame", FRAMES, ids=repr)
def test_in_mode_always_the_sum_is_there_unasked(frame: Frame) -> None:
    data = codec.encode(frame, ALWAYS)
    assert data[0] & layout.CHECKSUM
    assert codec.decode(data, ALWAYS).checksum
    with pytest.raises(ChecksumFailed):
        codec.decode(data[:-1] + bytes((data[-1] ^ 1,)), ALWAYS)


@pytest.mark.parametrize("frame", FRAMES, ids=repr)
def test_one_byte_more_or_less_is_another_frame_or_none(frame: Frame) -> None:
    data = codec.encode(frame)
    for other in (data[:-1], data + b"\0"):
        try:
            read = codec.decode(other)
        except MalformedFrame:
            continue
        assert isinstance(read, BinaryFrame)  # its bytes run to the end, wherever that is
        assert read != frame


@pytest.mark.parametrize(
    "frame",
    [
        RequestFrame(id=BIG),
        RequestFrame(id=BIG, payload=b"x"),
        RequestFrame(id=-1, payload=b"x"),
        ResponseFrame(id=BIG, ref=1, payload=b"x"),
        ResponseFrame(id=1, ref=BIG, payload=b"x"),
        ServiceFrame(id=1, code=Service.ACK, ref=BIG),
        MessageFrame(id=1, expected=(BIG,)),
        MessageFrame(id=1, files=((-1, b""),)),
        BinaryFrame(id=1, ref=1, kind=BinaryKind.STREAMING, key=BIG),
    ],
    ids=repr,
)
def test_numbers_over_32_bits_are_not_sent(frame: Frame) -> None:
    with pytest.raises(LocalProtocolError, match="does not fit in 32 bits"):
        codec.encode(frame)


@pytest.mark.parametrize(
    ("hexed", "reason"),
    [
        ("61 00000000 00000005 6162636465", "id 0"),
        ("61 00000001 00000004 6162636465", "1 trailing"),
        ("61 00000001 00000006 6162636465", "6 bytes declared"),
        ("49 00000000 00000005 6162636465", "id 0"),
        ("a1 00000000 00000001 00000001 61", "id 0"),
        ("a1 00000001 00000000 00000001 61", "ref 0"),
        ("a9 00000001 00000001 00000002 61", "2 bytes declared"),
    ],
)
def test_the_short_way_through_the_decoder_skips_no_check(hexed: str, reason: str) -> None:
    with pytest.raises(MalformedFrame, match=reason):
        codec.decode(bytes.fromhex(hexed))


@pytest.mark.parametrize("checksums", [ALWAYS, Checksums("always", "xor8")])
def test_the_short_way_is_closed_in_mode_always(checksums: Checksums) -> None:
    """[MFP-3.5]"""
    with pytest.raises(ChecksumFailed):
        codec.decode(codec.encode(RequestFrame(id=1, payload=b"long enough")), checksums)


@pytest.mark.parametrize("files", [2, 3])
def test_as_many_files_as_allowed_and_one_more(files: int) -> None:
    """[MFP-5.7]"""
    attached = codec.encode(MessageFrame(id=1, files=tuple((key, b"") for key in range(files))))
    announced = codec.encode(MessageFrame(id=1, expected=tuple(range(files))))
    for data in (attached, announced):
        if files == 2:
            assert codec.decode(data, max_files=2)
        else:
            with pytest.raises(MalformedFrame, match="at most 2"):
                codec.decode(data, max_files=2)


@pytest.mark.parametrize(
    "hexed", ["41 00000001 ffffffff 41", "42 00000001 fffffffc", "46 00000001 00000008 00000001 ffffffff"]
)
def test_a_promise_of_four_gigabytes_takes_no_memory(hexed: str) -> None:
    """[MFP-2.7]"""
    data = bytes.fromhex(hexed)
    with pytest.raises(MalformedFrame):
        codec.decode(data)
    tracemalloc.start()
    try:
        for _ in range(100):
            with pytest.raises(MalformedFrame):
                codec.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_four_gigabytes_of_files_are_added_up_without_overflow() -> None:
    """[MFP-5.5] Sizes whose 32-bit sum would be right are wrong."""
    table = bytes.fromhex("00000001 ffffffff 00000002 00000002")
    with pytest.raises(MalformedFrame, match="files of 4294967297 bytes declared, 1 present"):
        codec.decode(bytes.fromhex("46 00000001 00000010") + table + b"x")
