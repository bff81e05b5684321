"""Reading a recorded frame whose link's checksums are not known (spec/mfp.md, section 3). Pure.

Whether a frame carries a sum, its head says, unless its link had agreed on sums everywhere; which kind of sum
a link agreed on stands nowhere in a frame. Whatever fits is taken: a wrong guess is a wrong sum.
"""

from typing import Final

from framehub.errors import ChecksumFailed, MalformedFrame
from framehub.mfp import codec
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import Frame
from framehub.mfp.layout import CHECKSUM

_SUMS: Final = [Checksums("flag", "crc32"), Checksums("flag", "xor8"), Checksums("always", "crc32"),
                Checksums("always", "xor8")]  # fmt: skip


def decode(raw: bytes) -> tuple[Frame, int]:
    """The frame, and the bytes of its sum: 0 if it has none.

    Raises:
        MalformedFrame: it is no frame, with no kind of sum.
    """
    wrong: MalformedFrame | None = None
    for sums in _SUMS:
        try:
            frame = codec.decode(raw, sums)
        except MalformedFrame as exc:
            wrong = exc if wrong is None or isinstance(wrong, ChecksumFailed) else wrong
            continue
        has_sum = sums.mode == "always" or bool(raw[0] & CHECKSUM)
        return frame, sums.size if has_sum else 0
    assert wrong is not None
    raise wrong
