"""A directory that files are written to: new ones only, under our names, each checked as it is finished."""

import hashlib
import json
import os
import re
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from framehub.errors import PipelineError
from framehub.private import FILE_MODE, make_directory

INDEX: Final = "files.jsonl"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MORE: Final = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_LAWFUL: Final = re.compile(r"[0-9a-z-]{1,100}")


class OutDirectory:
    """Files, and an index of them: one line of JSON for each that is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] = set()

    def __enter__(self) -> Self:
        try:
            make_directory(self._path)
            self._directory = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as exc:
            raise PipelineError(f"cannot write to {self._path}: {exc.strerror}") from exc
        try:
            self._index = os.fdopen(self._open(INDEX, _NEW), "w")
        except OSError as exc:
            os.close(self._directory)
            reason = "give another directory" if isinstance(exc, FileExistsError) else exc.strerror
            raise PipelineError(f"cannot make {self._path / INDEX}: {reason}") from exc
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._index.close()
        os.close(self._directory)

    def file(self, name: str, row: dict[str, Any]) -> "OutFile":
        """A file to come; of two with one name the second gets a number."""
        if not _LAWFUL.fullmatch(name):
            name = "file"
        number, free = 1, name
        while free in self._names:
            number += 1
            free = f"{name}-{number}"
        self._names.add(free)
        return OutFile(self, free, row)

    def append(self, name: str, data: bytes, *, new: bool) -> None:
        """Add to a file, or make it.

        Raises:
            FileExistsError: there is one that should be new.
            PipelineError: it cannot be written.
        """
        try:
            with os.fdopen(self._open(name, _NEW if new else _MORE), "wb", buffering=0) as file:
                left = memoryview(data)
                while left:
                    left = left[file.write(left) :]
        except FileExistsError:
            raise
        except OSError as exc:
            raise PipelineError(f"cannot write {self._path / name}: {exc.strerror}") from exc

    def remove(self, name: str) -> None:
        """Take a file away again."""
        os.unlink(name, dir_fd=self._directory)

    def tell(self, line: dict[str, Any]) -> None:
        """Add a line to the index."""
        self._index.write(json.dumps(line, default=_text) + "\n")

    def _open(self, name: str, flags: int) -> int:
        return os.open(name, flags, FILE_MODE, dir_fd=self._directory)


class OutFile:
    """One file on its way to disk."""

    def __init__(self, directory: OutDirectory, name: str, row: dict[str, Any]) -> None:
        self.name = name
        self._directory = directory
        self._row = row
        self._hash = hashlib.sha256()
        self._bytes = 0
        self._there = False
        self._error: str | None = None

    def write(self, data: bytes) -> None:
        """The next bytes."""
        if self._error is not None:
            return
        try:
            self._directory.append(self.name, data, new=not self._there)
        except FileExistsError:
            self._error = f"{self.name}: there is such a file already"
            return
        self._there = True
        self._hash.update(data)
        self._bytes += len(data)

    def finish(self) -> str | None:
        """Put it into the index; if it is not what the row says, it goes, and why comes back."""
        if self._error is None and not self._there:
            self._error = f"{self.name}: its rows are not in the journal"
        elif self._error is None and self._hash.hexdigest() != self._row["sha256"]:
            self._error = f"{self.name}: the journal has {self._bytes} other bytes than the tables say"
        if self._error is None:
            self._directory.tell({"file": self.name, **self._row})
            self._there = False
        self.abandon()
        return self._error

    def abandon(self) -> None:
        """Take away what was written, unless it is finished."""
        if self._there:
            self._there = False
            self._directory.remove(self.name)


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
