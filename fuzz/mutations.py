"""Inputs without a guide: seeds changed at random. The same seed gives the same inputs, on any Python."""

from collections.abc import Iterator
from random import Random
from typing import Final

NUMBERS: Final = (0, 1, 2, 3, 4, 8, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFC, 0x80000000)
LONGEST: Final = 1_024


def mutations(corpus: list[bytes], seed: int, count: int) -> Iterator[bytes]:
    """``count`` inputs, each one of the corpus with one to four changes."""
    rng = Random(seed)
    for _ in range(count):
        data = rng.choice(corpus)
        for _ in range(rng.randint(1, 4)):
            data = _change(rng, data, corpus)
        yield data[:LONGEST]


def _change(rng: Random, data: bytes, corpus: list[bytes]) -> bytes:
    at = rng.randint(0, len(data))
    pick = rng.randrange(7)
    if pick == 0:
        return data[:at] + bytes((rng.randrange(256),)) + data[at + 1 :]
    if pick == 1:
        return data[:at] + rng.randbytes(rng.randint(1, 4)) + data[at:]
    if pick == 2:
        return data[:at] + data[at + rng.randint(1, 4) :]
    if pick == 3:
        return data[:at] + rng.choice(NUMBERS).to_bytes(4, "big") + data[at + 4 :]
    if pick == 4:
        other = rng.choice(corpus)
        return data[:at] + other[rng.randint(0, len(other)) :]
    if pick == 5 and at < len(data):
        return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]
    end = rng.randint(at, len(data))
    return data[:end] + data[at:end] + data[end:]
