"""Frames in one piece and in several are the same bytes."""

import pytest

from framehub.codes import BinaryKind
from framehub.errors import LocalProtocolError
from framehub.mfp.checksum import OFF, Checksums
from framehub.mfp.encoder import encode, encode_apart
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.layout import SMALL_BYTES

LARGE = b"x" * (SMALL_BYTES + 1)
FRAMES = [
    ServiceFrame(id=1, code=1, ref=2),  # type: ignore[arg-type]
    MessageFrame(id=1, payload=LARGE),
    MessageFrame(id=1, payload=b"{}", streaming=True),
    RequestFrame(1, b"{}", ((4, LARGE), (5, b""), (6, b"small"), (7, LARGE))),
    RequestFrame(1, b"{}", ((4, LARGE), (5, LARGE))),
    ResponseFrame(1, 2, LARGE, ((4, b"small"),)),
    BinaryFrame(id=1, ref=2, kind=BinaryKind.STREAMING, key=0, data=LARGE, final=False),
    BinaryFrame(id=1, ref=2),
]


@pytest.mark.parametrize("checksums", [OFF, Checksums("always", "crc32"), Checksums("always", "xor8")])
@pytest.mark.parametrize("frame", FRAMES)
def test_pieces_joined_are_the_whole(frame: Frame, checksums: Checksums) -> None:
    assert b"".join(encode_apart(frame, checksums)) == encode(frame, checksums)


def test_what_is_large_is_not_copied() -> None:
    head, data = encode_apart(BinaryFrame(id=1, ref=2, kind=BinaryKind.DATA, data=LARGE))
    assert data is LARGE
    assert len(head) == 9
    first, file, small, again = encode_apart(RequestFrame(1, b"{}", ((1, LARGE), (2, b"a"), (3, LARGE))))
    assert (file, again) == (LARGE, LARGE)
    assert file is LARGE
    assert small == b"a"
    assert len(first) == 5 + 4 + 4 + 2 + 24


def test_a_small_frame_is_one_piece() -> None:
    assert encode_apart(RequestFrame(1, b"{}")) == (encode(RequestFrame(1, b"{}")),)


@pytest.mark.parametrize("frame", [RequestFrame(0), BinaryFrame(id=1, ref=0), RequestFrame(2**32)])
def test_what_no_frame_can_carry_is_refused_either_way(frame: Frame) -> None:
    for how in (encode, encode_apart):
        with pytest.raises(LocalProtocolError):
            how(frame)
