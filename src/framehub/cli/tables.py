"""Tables for people: as wide as the terminal, and where there is none as wide as they are."""

import os
import sys
from typing import Final

from rich.console import Console
from rich.table import Table

_WIDE: Final = 1_000


def show(table: Table) -> None:
    """Print it; nothing of it is folded for a file or another program."""
    is_fixed = sys.stdout.isatty() or "COLUMNS" in os.environ
    Console(highlight=False, width=None if is_fixed else _WIDE).print(table)
