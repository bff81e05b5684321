"""Files on the command line: those that are attached, and those that came back."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from framehub.cli.progress import sized
from framehub.cli.reach import BadInput
from framehub.cli.rows import printable
from framehub.private import DIRECTORY_MODE
from framehub.runtime.files import File, write_new

LAST_KEY = 2**32 - 1


def keyed(files: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Each file's key and path; those without a key get the smallest numbers that are free."""
    taken: set[int] = set()
    split = []
    for text in files:
        key, equals, path = text.partition("=")
        if equals and key.isascii() and key.isdigit():
            if int(key) in taken or int(key) > LAST_KEY:
                raise BadInput(f"--file {text}: key {key} is {'taken' if int(key) in taken else 'too big'}")
            if not path:
                raise BadInput(f"--file {text}: want a path after the key")
            taken.add(int(key))
            split.append((int(key), path))
        else:
            split.append((-1, text))
    free = (number for number in range(len(files) + len(taken)) if number not in taken)
    for number, path in split:
        yield next(free) if number < 0 else number, path


def show(files: Mapping[int, File], out: Path | None) -> None:
    """Say on stderr what files came, and save them if there is a place for them."""
    for key, file in files.items():
        about = f"file {key}: {printable(file.name) or '(no name)'}"
        about += f" ({printable(file.type)})" if file.type else ""
        about += f", {sized(len(file.data))}"
        if out is not None:
            about += f", saved as {_save(file, key, out)}"
        click.echo(about, err=True)


def listed(files: Mapping[int, File], out: Path | None) -> list[dict[str, Any]]:
    """The same for programs."""
    found: list[dict[str, Any]] = []
    for key, file in files.items():
        found.append({"key": key, "name": file.name, "type": file.type, "bytes": len(file.data)})
        if out is not None:
            found[-1]["path"] = str(_save(file, key, out))
    return found


def _save(file: File, key: int, out: Path) -> Path:
    """Save under a name of our own that is free."""
    out.mkdir(DIRECTORY_MODE, exist_ok=True)
    number = 0
    while True:
        path = out / (f"file-{key}-{number}" if number else f"file-{key}")
        try:
            write_new(path, file.data)
        except FileExistsError:
            number += 1
        else:
            return path
