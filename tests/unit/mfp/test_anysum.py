"""Frames whose checksums are not known."""

import pytest

from framehub.codes import BinaryKind, Service
from framehub.errors import ChecksumFailed, MalformedFrame
from framehub.mfp import anysum, codec
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import BinaryFrame, Frame, RequestFrame, ServiceFrame


@pytest.mark.parametrize("algorithm", ["crc32", "xor8"])
@pytest.mark.parametrize("mode", ["flag", "always"])
@pytest.mark.parametrize(
    "frame",
    [
        ServiceFrame(id=4, code=Service.ACK, ref=3, checksum=True),
        RequestFrame(id=5, payload=b"long enough", files=((0, b"abc"),), checksum=True),
        BinaryFrame(id=6, ref=5, kind=BinaryKind.STREAMING, key=1, data=b"chunk", checksum=True),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_the_sum_is_found_whichever_it_is(frame: Frame, mode: str, algorithm: str) -> None:
    sums = Checksums(mode, algorithm)  # type: ignore[arg-type]
    assert anysum.decode(codec.encode(frame, sums)) == (frame, sums.size)


def test_a_frame_may_have_none() -> None:
    frame = RequestFrame(id=5, payload=b"long enough")
    assert anysum.decode(codec.encode(frame)) == (frame, 0)


def test_what_fits_no_sum_says_what_is_wrong_with_it() -> None:
    raw = codec.encode(RequestFrame(id=5, payload=b"long enough", checksum=True))
    with pytest.raises(ChecksumFailed):
        anysum.decode(raw[:-1] + bytes([raw[-1] ^ 1]))
    with pytest.raises(MalformedFrame, match="byte"):
        anysum.decode(b"\x61\0")
