"""Sizes at which a step takes another way to the same tables."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What is few and what is many, in rows and in files. The tables say the same whatever these are."""

    small_step: int = 100_000
    """A step of so many rows reads and remembers them once, and writes tables side by side, by plans that are
    not compiled; in a larger one each table reads them again, by compiled plans, one after the other."""
    small_file: int = 50_000
    """Files with fewer rows are put together when a day has ``many_files`` of them."""
    many_files: int = 12
    rows_per_file: int = 250_000
    """So many rows of a table, about, make another file."""


USUAL: Final = Sizes()
