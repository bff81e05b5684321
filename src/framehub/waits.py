"""Buckets that waits are counted in: fixed, so that counts can be added up in any order. Pure.

Bucket n holds waits above edge n - 1 and up to edge n, in microseconds; the last one all beyond them.
"""

from typing import Any, Final, TypeAlias

import numpy as np

_Array: TypeAlias = "np.ndarray[Any, Any]"

PER_DECADE: Final = 20
DECADES: Final = 9
EDGES: Final[_Array] = np.round(10 ** (np.arange(DECADES * PER_DECADE + 1) / PER_DECADE), 3)
"""From one microsecond to a quarter of an hour; each bucket is 12 % wide."""


def buckets_of(waits_us: _Array) -> _Array:
    """The bucket of each wait."""
    return np.searchsorted(EDGES, waits_us, side="left")
