"""Any frame survives the wire; any bytes are a frame or refused; no flipped bit goes unseen."""

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.codes import BinaryKind, Service
from framehub.errors import MalformedFrame
from framehub.mfp import codec, layout, plain
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame

u32 = st.integers(0, 2**32 - 1)
ids = st.integers(1, 2**32 - 1) | st.integers(1, 5)
blobs = st.binary(max_size=40)
keys = st.integers(0, 2**32 - 1) | st.integers(0, 9)
files = st.dictionaries(keys, blobs, max_size=4).map(lambda table: tuple(table.items()))
sets = st.lists(keys, unique=True, min_size=1, max_size=5).map(tuple)
checksums = st.builds(
    Checksums, mode=st.sampled_from(["off", "flag", "always"]), algorithm=st.sampled_from(["crc32", "xor8"])
)
flags: dict[str, Any] = {"need_ack": st.booleans(), "checksum": st.booleans()}
body: dict[str, Any] = {"id": ids, "payload": blobs, **flags}

services = st.builds(
    ServiceFrame,
    id=ids,
    code=st.sampled_from([code for code in Service if code is not Service.PING]),
    ref=ids,
    own=st.booleans(),
    checksum=st.booleans(),
) | st.builds(
    lambda id_, checksum: ServiceFrame(id=id_, code=Service.PING, ref=id_, own=True, checksum=checksum),
    ids,
    st.booleans(),
)
messages = (
    st.builds(MessageFrame, **body, files=files)
    | st.builds(MessageFrame, **body, expected=sets)
    | st.builds(MessageFrame, **body, streaming=st.booleans())
)
binaries = (
    st.builds(BinaryFrame, id=ids, ref=ids, final=st.booleans(), **flags)
    | st.builds(
        BinaryFrame, id=ids, ref=ids, kind=st.just(BinaryKind.DATA), data=blobs, final=st.booleans(), **flags
    )
    | st.builds(
        BinaryFrame,
        id=ids,
        ref=ids,
        kind=st.sampled_from([BinaryKind.EXPECTED, BinaryKind.STREAMING]),
        key=keys,
        data=blobs,
        final=st.booleans(),
        **flags,
    )
)
frames: st.SearchStrategy[Frame] = (
    services
    | messages
    | binaries
    | st.builds(RequestFrame, **body, files=files)
    | st.builds(ResponseFrame, **body, ref=ids, files=files)
)


@given(frames, checksums)
def test_decode_undoes_encode(frame: Frame, agreed: Checksums) -> None:
    has_sum = agreed.mode == "always" or (frame.checksum and agreed.mode == "flag")
    arrived = codec.decode(codec.encode(frame, agreed), agreed)
    assert arrived == msgspec.structs.replace(frame, checksum=has_sum)


@given(frames)
def test_a_frame_survives_being_printed_and_read(frame: Frame) -> None:
    assert plain.from_plain(plain.to_plain(frame)) == frame


def judge(data: bytes, agreed: Checksums) -> Frame | MalformedFrame:
    try:
        return codec.decode(data, agreed)
    except MalformedFrame as refusal:
        return refusal


def read(data: bytes, agreed: Checksums) -> None:
    """Accepted bytes are those that would be sent, but for an empty payload with a flag."""
    verdict = judge(data, agreed)
    if isinstance(verdict, MalformedFrame):
        assert 0 <= verdict.offset <= len(data)
        return
    sent = codec.encode(verdict, agreed)
    if sent != data:
        assert data[0] & layout.PAYLOAD
        assert not isinstance(verdict, ServiceFrame | BinaryFrame)
        assert verdict.payload == b""
        assert len(data) == len(sent) + 4


@given(st.binary(max_size=60), checksums)
def test_any_bytes_parse_or_raise_the_documented_error(data: bytes, agreed: Checksums) -> None:
    """[MFP-2.8]"""
    read(data, agreed)


@given(st.integers(0, 255), st.lists(st.integers(0, 9) | u32, max_size=8), blobs, checksums)
def test_bytes_that_look_like_frames_do_so_too(
    head: int, numbers: list[int], rest: bytes, agreed: Checksums
) -> None:
    """[MFP-2.8] [MFP-5.2]"""
    data = bytes((head,)) + b"".join(number.to_bytes(4, "big") for number in numbers) + rest
    read(data, agreed)
    read(data + agreed.of(data), agreed)


@given(frames, checksums, st.data())
def test_damaged_frames_do_so_too(frame: Frame, agreed: Checksums, data: st.DataObject) -> None:
    """[MFP-2.8] A byte changed, cut off or put in."""
    sent = codec.encode(frame, agreed)
    at = data.draw(st.integers(0, len(sent)))
    read(sent[:at] + data.draw(st.binary(max_size=4)) + sent[at + data.draw(st.integers(0, 4)) :], agreed)


@given(frames, st.sampled_from(["crc32", "xor8"]))
def test_in_mode_always_no_flipped_bit_goes_unseen(frame: Frame, algorithm: Any) -> None:
    """[MFP-3.5] [MFP-3.7]"""
    agreed = Checksums("always", algorithm)
    sent = codec.encode(frame, agreed)
    number = int.from_bytes(sent, "big")
    for bit in range(len(sent) * 8):
        with pytest.raises(MalformedFrame):
            codec.decode((number ^ 1 << bit).to_bytes(len(sent), "big"), agreed)


@given(frames, st.sampled_from(["crc32", "xor8"]), st.booleans())
def test_a_receiver_that_verifies_always_sees_every_flipped_bit(
    frame: Frame, algorithm: Any, with_bit: bool
) -> None:
    """[MFP-3.8] Whether the sender set the checksum bit or not."""
    agreed = Checksums("flag", algorithm)
    bare = codec.encode(msgspec.structs.replace(frame, checksum=False), agreed)
    sent = codec.encode(frame, Checksums("always", algorithm)) if with_bit else bare + agreed.of(bare)
    assert codec.decode(sent, agreed, verify_always=True).checksum
    number = int.from_bytes(sent, "big")
    for bit in range(len(sent) * 8):
        with pytest.raises(MalformedFrame):
            codec.decode((number ^ 1 << bit).to_bytes(len(sent), "big"), agreed, verify_always=True)


@pytest.mark.parametrize("head", range(256))
def test_sixty_four_kilobytes_are_judged_quickly(head: int) -> None:
    """[MFP-2.8] Whatever they are; the best of some tries, for the machine has other work."""
    repeated = (7).to_bytes(4, "big") * 16_384
    took = []
    for _ in range(5):
        began = time.perf_counter()
        read(bytes((head,)) + repeated, Checksums("flag", "xor8"))
        took.append(time.perf_counter() - began)
    assert min(took) < 0.01
