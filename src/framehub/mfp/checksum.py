"""Checksums at the end of a frame (spec/mfp.md, section 3). Pure.

The sum covers every byte before it, the first byte with its checksum bit set. Mode and algorithm are agreed
when a connection opens: ``off``, by ``flag`` (a frame says whether it has one) or ``always``.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from framehub.errors import ConfigError

try:
    from isal.isal_zlib import crc32 as _crc32
except ImportError:  # the same polynomial, slower
    from zlib import crc32 as _crc32

Buffer: TypeAlias = Any
"""Anything with bytes in it: Arrow's buffers too, which have no type that says so."""
Mode: TypeAlias = Literal["off", "flag", "always"]
Algorithm: TypeAlias = Literal["crc32", "xor8"]
MODES: Final = ("off", "flag", "always")


def crc32_number(data: Buffer, start: int = 0) -> int:
    """CRC-32 as in zlib, by the fastest library here; ``start`` is the sum of what came before."""
    sum_: int = _crc32(data, start)
    return sum_


def xor8_number(data: Buffer, start: int = 0) -> int:
    """All bytes XORed; ``start`` is that of what came before."""
    return int(np.bitwise_xor.reduce(np.frombuffer(data, np.uint8), initial=start))


ALGORITHMS: Final[dict[str, tuple[int, Callable[[Buffer, int], int]]]] = {
    "crc32": (4, crc32_number),
    "xor8": (1, xor8_number),
}


class Checksums(Struct, frozen=True):
    """What two peers agreed on."""

    mode: Mode = "flag"
    algorithm: Algorithm = "crc32"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"checksum mode {self.mode!r} is none of {', '.join(MODES)}")
        if self.algorithm not in ALGORITHMS:
            raise ConfigError(f"checksum algorithm {self.algorithm!r} is none of {', '.join(ALGORITHMS)}")

    @property
    def size(self) -> int:
        """Bytes of one sum."""
        return ALGORITHMS[self.algorithm][0]

    def of(self, data: bytes | memoryview) -> bytes:
        """The sum of ``data`` as it stands on the wire."""
        size, sum_ = ALGORITHMS[self.algorithm]
        return sum_(data, 0).to_bytes(size, "big")

    def of_all(self, pieces: Iterable[bytes]) -> bytes:
        """The same of bytes that stand one behind the other."""
        size, sum_ = ALGORITHMS[self.algorithm]
        so_far = 0
        for piece in pieces:
            so_far = sum_(piece, so_far)
        return so_far.to_bytes(size, "big")


BY_FLAG: Final = Checksums()
OFF: Final = Checksums(mode="off")
