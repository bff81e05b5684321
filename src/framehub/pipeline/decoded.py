"""What recorded bytes say, named as the journal's columns are."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from framehub.pipeline.spans import Flags, Numbers, Spans

NONE: Final = -1
"""Stands for null among numbers: none of them is below zero."""

LAWFUL, UNLAWFUL, WRONG_SUM = range(3)
VERDICTS: Final = ("lawful", "unlawful", "wrong checksum")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The fields of many frames of one protocol; those of an unlawful one mean nothing."""

    verdict: Any
    """``LAWFUL``, ``UNLAWFUL`` or ``WRONG_SUM``."""
    numbers: dict[str, Numbers]
    """By column; ``kind`` is a position in ``record.KINDS``."""
    texts: dict[str, Spans] = field(default_factory=dict)
    """By column."""


def verdicts(lawful: Flags) -> Any:
    """The verdicts where no checksum has a say."""
    return np.where(lawful, LAWFUL, UNLAWFUL).astype(np.uint8)
