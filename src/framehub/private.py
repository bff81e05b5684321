"""Files and directories for their owner only: they hold what others sent (docs/guides/operate.md).

Nothing is opened but a regular file, by its own name: nothing that a link leads to, and no pipe, whose
opening would wait for somebody else.
"""

import errno
import os
import pwd
import stat
from io import BufferedWriter
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700
_NO_FILE: Final = (errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR)


class NotAFile(OSError):
    """A link, a pipe, a socket, a device or a directory is where a file should be."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "it is no regular file; remove it", str(path))


def open_file(path: Path, flags: int) -> int:
    """Open a regular file; a new one is its owner's only.

    Raises:
        NotAFile: something else is there.
        OSError: as ``os.open`` does.
    """
    try:
        number = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, FILE_MODE)
    except OSError as exc:
        if exc.errno in _NO_FILE:
            raise NotAFile(path) from None
        raise
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise NotAFile(path)
    return number


def read_file(path: Path) -> bytes:
    """All of a regular file.

    Raises:
        OSError: as ``open_file`` does.
    """
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        return file.read()


def new_file(path: Path) -> BufferedWriter:
    """A new file, in place of whatever had that name before.

    Raises:
        OSError: it cannot be made.
    """
    path.unlink(missing_ok=True)
    return os.fdopen(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb")


def make_directory(path: Path) -> None:
    """Make a directory, and those above it, unless they are there.

    Raises:
        OSError: it cannot be made, or is none.
    """
    try:
        path.mkdir(DIRECTORY_MODE)
    except FileExistsError:
        if not path.is_dir():
            raise
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_directory(path.parent)
        path.mkdir(DIRECTORY_MODE, exist_ok=True)


def shared(*directories: Path) -> str | None:
    """Why directories are not to be used, if others can put files into some, or take ours away.

    Raises:
        OSError: one cannot be looked at.
    """
    found = [str(one) for one in directories if one.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)]
    return f"{', '.join(found)}: others can write there: chmod go-w {' '.join(found)}" if found else None


def anothers(directory: Path) -> str | None:
    """Why a directory is not to be used, if it is another user's, who could not read what we make there.

    Raises:
        OSError: it cannot be looked at.
    """
    owner = directory.stat().st_uid
    if owner == os.geteuid():
        return None
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = f"user {owner}"
    return f"{directory}: it is the directory of {name}: run this as that user"
