"""``File``: something to attach to a message, made of bytes, of a path or of an open file.

Bytes are there. The others are read when they are sent: by a thread, so that the event loop goes on, and
never further than one byte over what a frame can carry.
"""

import asyncio
import errno
import io
import mimetypes
import os
import stat
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from msgspec import UNSET

from framehub.errors import RequestTimeout
from framehub.mfp import envelope
from framehub.mfp.connection import Connection
from framehub.private import open_file

PIECE_BYTES: Final = 1024 * 1024
"""Read from a file at once: much for a disk, little for memory."""


class Readable(Protocol):
    """A file opened in binary mode, or whatever reads like one."""

    def read(self, size: int, /) -> bytes | None:
        """At most ``size`` bytes; none at the end."""


Buffer: TypeAlias = bytes | bytearray | memoryview
_REAL: Final = (io.FileIO, io.BufferedReader, io.BufferedRandom)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class File:
    """Bytes with a name and a media type, attached to a message, request or response.

    ``File(b"...")`` is sent as it is, ``File(Path("me.png"))`` is read each time it is sent, and
    ``File(open("me.png", "rb"))`` is read from where it stands to its end; closing it stays with you. Name
    and type are the path's where they are not given.
    """

    source: bytes | Path | Readable
    """What it is made of; bytes, if it came from a peer."""
    name: str
    type: str

    def __init__(
        self,
        data: Buffer | os.PathLike[str] | Readable,
        name: str | None = None,
        type: str | None = None,  # noqa: A002
    ) -> None:
        source = bytes(data) if isinstance(data, bytes | bytearray | memoryview) else as_source(data)
        own = "" if isinstance(source, bytes) else _own_name(source)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "name", own if name is None else name)
        object.__setattr__(self, "type", _media_type(own) if type is None else type)

    @property
    def data(self) -> bytes:
        """The bytes: always there in a file that came.

        Raises:
            ValueError: this one is made of a path or an open file, and read only when it is sent.
        """
        if isinstance(self.source, bytes):
            return self.source
        raise ValueError(f"{self!r} is read when it is sent; its bytes are not here")

    async def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a new file at ``path``, off the event loop.

        The sender's name plays no part: it is data, never a path.

        Raises:
            FileExistsError: something is there already; nothing is overwritten and no link followed.
        """
        await asyncio.to_thread(write_new, Path(path), self.data)

    def __repr__(self) -> str:
        source = f"{len(self.source)} bytes" if isinstance(self.source, bytes) else repr(self.source)
        return f"File({source}, name={self.name!r}, type={self.type!r})"


def received(blob: bytes, name: str, type_: str) -> File:
    """A file that came: ``File(blob, name, type_)``, without questions."""
    file = _new(File)
    _set(file, "source", blob)
    _set(file, "name", name)
    _set(file, "type", type_)
    return file


_new = object.__new__
_set = object.__setattr__


def as_source(data: object) -> Path | Readable:
    """What a caller gave for a file, if not bytes.

    Raises:
        TypeError: it is neither a path nor a binary file.
    """
    if isinstance(data, os.PathLike):
        return Path(data)
    if isinstance(data, str):
        raise TypeError("a str is no file: give a Path for what is on disk, bytes for content")
    if isinstance(data, io.TextIOBase):
        raise TypeError("this file is open as text: open it with 'rb'")
    if not hasattr(data, "read"):
        raise TypeError(f"want bytes, a Path or a file opened with 'rb', not {type(data).__name__}")
    readable: Readable = data
    return readable


def all_read(files: Mapping[int, File]) -> bool:
    """Whether all of them are there as bytes, so that nothing needs ``load``."""
    return all(isinstance(file, File) and isinstance(file.source, bytes) for file in files.values())


async def load(
    connection: Connection, endpoint: str, data: Any, files: Mapping[int, File], *, error: Any = None
) -> dict[int, File]:
    """The same files as bytes, if one frame can carry them beside what else it says.

    Raises:
        LimitExceeded: it cannot; nothing was read.
        OSError: one that cannot be read.
        TypeError: one that is no ``File``.
    """
    _check(files)
    names = {key: (file.name, file.type) for key, file in files.items()}
    payload = envelope.encode(endpoint, data, error=UNSET if error is None else error, names=names)
    connection.check_sizes(len(payload), await sizes(files))
    return await read_all(files, most=connection.settings.max_frame_bytes)


async def load_within(
    seconds: float, connection: Connection, endpoint: str, data: Any, files: Mapping[int, File]
) -> dict[int, File]:
    """As ``load``.

    Raises, too:
        RequestTimeout: it takes longer.
    """
    try:
        async with asyncio.timeout(seconds) as limit:
            return await load(connection, endpoint, data, files)
    except TimeoutError:
        if not limit.expired():
            raise  # a file system's
        raise RequestTimeout(f"the files could not be read in {seconds:g} s") from None


async def sizes(files: Mapping[int, File]) -> list[int]:
    """How many bytes each has, as far as that is known without reading; the others count as none.

    Raises:
        OSError: a path that cannot be read, or that is no regular file.
        TypeError: one that is no ``File``.
    """
    _check(files)
    return await asyncio.to_thread(_sizes, [file.source for file in files.values()])


async def read_all(files: Mapping[int, File], *, most: int) -> dict[int, File]:
    """The same files as bytes; of those that grow meanwhile, no more than one byte over ``most`` in all.

    Raises:
        OSError: one that cannot be read.
    """
    return await asyncio.to_thread(_read_all, files, most)


async def pieces(source: Path | Readable) -> AsyncGenerator[bytes, None]:
    """What is in a file, piece by piece, each read when it is asked for."""
    reading = _Reading(source)
    try:
        while piece := await asyncio.to_thread(reading.next):
            yield piece
    finally:
        if isinstance(source, Path):  # another's file is not ours to close, and may be read for ever
            await asyncio.to_thread(reading.close)


def open_regular(path: Path) -> io.BufferedReader:
    """Open what has an end and gives its bytes at once: no directory, pipe or device.

    Raises:
        OSError: as ``open`` does, or it is none of those.
    """

    def opener(name: str, flags: int) -> int:
        # Opening a pipe that nobody writes to would wait for ever.
        number = os.open(name, flags | os.O_NONBLOCK)
        mode = os.fstat(number).st_mode
        if stat.S_ISREG(mode):
            return number
        os.close(number)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        raise OSError(errno.EINVAL, "Not a regular file: open it and give the file object", name)

    return open(path, "rb", opener=opener)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that was not there, for its owner only; when that fails it is not there either."""
    with os.fdopen(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        try:
            file.write(data)
            file.flush()
        except OSError:
            path.unlink()
            raise


def _check(files: Mapping[int, File]) -> None:
    for key, file in files.items():
        if not isinstance(file, File):
            raise TypeError(f"file {key}: want a framehub.File, not {type(file).__name__}")


# --- in a thread -----------------------------------------------------------------------------------------


class _Reading:
    """A file on its way. A reader that is cancelled leaves a thread at work: closing waits for that."""

    def __init__(self, source: Path | Readable) -> None:
        self._source = source
        self._opened: io.BufferedReader | None = None
        self._closed = False
        self._lock = threading.Lock()

    def next(self) -> bytes:
        with self._lock:
            if self._closed:
                return b""
            if not isinstance(self._source, Path):
                return _read_piece(self._source, PIECE_BYTES)
            if self._opened is None:
                self._opened = open_regular(self._source)
            return _read_piece(self._opened, PIECE_BYTES)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._opened is not None:
                self._opened.close()


def _sizes(sources: Sequence[bytes | Path | Readable]) -> list[int]:
    return [_size(source) for source in sources]


def _size(source: bytes | Path | Readable) -> int:
    if isinstance(source, bytes):
        return len(source)
    if isinstance(source, Path):
        with open_regular(source) as file:
            return _size(file)
    if isinstance(source, io.BytesIO):
        return max(0, source.getbuffer().nbytes - source.tell())
    if isinstance(source, _REAL):
        found = os.fstat(source.fileno())
        if stat.S_ISREG(found.st_mode):
            return max(0, found.st_size - source.tell())
    return 0


def _read_all(files: Mapping[int, File], most: int) -> dict[int, File]:
    done = {}
    for key, file in files.items():
        data = _read(file.source, most)
        most = max(0, most - len(data))
        done[key] = File(data, file.name, file.type)
    return done


def _read(source: bytes | Path | Readable, most: int) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, Path):
        with open_regular(source) as file:
            return _read(file, most)
    found, left = [], most + 1
    # One read takes all of a file that says its size; those that do not say it go on.
    step = max(_size(source), PIECE_BYTES) + 1
    while left > 0 and (piece := _read_piece(source, min(left, step))):
        found.append(piece)
        left -= len(piece)
    return b"".join(found)


def _read_piece(file: Readable, size: int) -> bytes:
    # What comes by a pipe is passed on as it comes.
    piece = getattr(file, "read1", file.read)(size)
    if not isinstance(piece, bytes):
        raise TypeError(f"read gave {type(piece).__name__}, not bytes: want a file opened with 'rb'")
    return piece


# --- names -------------------------------------------------------------------------------------------------


def _own_name(source: Path | Readable) -> str:
    name = source.name if isinstance(source, Path | io.FileIO | io.BufferedReader | io.BufferedRandom) else ""
    if not isinstance(name, str) or name.startswith("<"):
        return ""  # one without a name, like a pipe's end or <stdin>
    return os.fsencode(Path(name).name).decode(errors="replace")


def _media_type(name: str) -> str:
    guessed, packed = mimetypes.guess_type(name)
    if packed:
        return "application/gzip" if packed == "gzip" else f"application/x-{packed}"
    return guessed or ""
