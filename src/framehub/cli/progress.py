"""How much is sent and how fast: a bar for people, a line at the end for everybody."""

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import BinaryIO

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Columns

from framehub.cli.rows import printable


class Progress:
    """Counts, and says what it came to."""

    def __init__(self) -> None:
        self._bytes = 0
        self._began = monotonic()

    def sent(self, size: int) -> None:
        """So many more bytes; any thread may say so."""
        self._bytes += size

    def done(self) -> None:
        """All of it."""
        seconds = monotonic() - self._began
        rate = sized(self._bytes / max(seconds, 1e-9))
        click.echo(f"sent {sized(self._bytes)} in {seconds:.1f} s, {rate}/s", err=True)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class Bar(Progress):
    """The same, shown on a terminal while it lasts."""

    def __init__(self, label: str, total: int | None) -> None:
        super().__init__()
        self._columns = Columns(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._columns.add_task(label, total=total)

    def sent(self, size: int) -> None:
        """So many more bytes; any thread may say so."""
        super().sent(size)
        self._columns.advance(self._task, size)

    def done(self) -> None:
        """All of it."""
        self._columns.stop()
        super().done()

    def __enter__(self) -> "Bar":
        self._columns.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._columns.stop()


def progress_of(files: Sequence[BinaryIO]) -> Progress:
    """A bar where somebody looks, else only the line; without an end where a file does not say its size."""
    if not sys.stderr.isatty():
        return Progress()
    found = [os.fstat(file.fileno()) for file in files]
    whole = all(stat.S_ISREG(entry.st_mode) for entry in found)
    names = ["stdin" if isinstance(file.name, int) else Path(file.name).name for file in files]
    return Bar(printable(", ".join(names)), sum(entry.st_size for entry in found) if whole else None)


def sized(size: float) -> str:
    """Bytes for people."""
    if size < 1024:
        return f"{size:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"
