"""A folder of small files as pages: a web page and what belongs to it, served beside WebSockets.

What is served is what stands in the folder by its own name: no link is followed, nothing that begins with a
dot is shown, no folder is listed. A file is read when it is asked for, on the event loop, and is small.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from framehub.errors import ConfigError
from framehub.runtime.entrance import Refused
from framehub.runtime.pages import TEXT, Page, asked_again

MOST_BYTES: Final = 4 << 20
"""Of one file."""
INDEX: Final = "index.html"
TYPES: Final = {
    **dict.fromkeys((".html", ".htm"), "text/html; charset=utf-8"),
    **dict.fromkeys((".js", ".mjs"), "text/javascript; charset=utf-8"),
    **dict.fromkeys((".txt", ".md"), TEXT),
    **dict.fromkeys((".json", ".map", ".webmanifest"), "application/json"),
    **dict.fromkeys((".jpg", ".jpeg"), "image/jpeg"),
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".ico": "image/x-icon",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}
OTHER: Final = "application/octet-stream"
POLICY: Final = {"Content-Security-Policy": "frame-ancestors 'self'"}
"""What a page of ours may load is for its author to say; what may show it inside itself is not."""
_OPENING: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Folder:
    """Finds files by the paths of requests."""

    def __init__(self, root: Path) -> None:
        """Look at it.

        Raises:
            ConfigError: it is no folder, or cannot be read.
        """
        self._root = root.absolute()
        try:
            os.listdir(self._root)  # noqa: PTH208 - only whether it can be
        except OSError as exc:
            raise ConfigError(f"static = {root}: {exc.strerror}") from exc

    def find(self, path: str) -> Page | None:
        """The file at ``path``, or None.

        Raises:
            Refused: it is there, and too big.
        """
        names = _names(path)
        if names is None:
            return None
        try:
            with _opened(self._root, names) as file:
                found = os.fstat(file)
                if not stat.S_ISREG(found.st_mode):
                    return None
                if found.st_size > MOST_BYTES:
                    raise Refused(
                        HTTPStatus.FORBIDDEN,
                        f"{names[-1]} has {found.st_size} bytes: files over {MOST_BYTES} are not served here",
                    )
                body = _read(file, found.st_size)
        except (OSError, ValueError):  # not there, not readable, a link, or no name at all
            return None
        kind = TYPES.get(Path(names[-1]).suffix.lower(), OTHER)
        return Page(body=body, type=kind, headers={**asked_again(body), **POLICY})


def _names(path: str) -> list[str] | None:
    """The names on the way to a file, if all of them may be asked for."""
    try:
        text = unquote(path, errors="strict")
    except UnicodeDecodeError:
        return None
    if text.endswith("/"):
        text += INDEX
    first, *names = text.split("/")
    if first or any(not name or name.startswith(".") or "\\" in name or "\0" in name for name in names):
        return None
    return names


@contextmanager
def _opened(root: Path, names: Sequence[str]) -> Iterator[int]:
    """The file, reached name by name, none of which is a link."""
    held = os.open(root, _OPENING & ~os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        for name in names:
            inner = os.open(name, _OPENING, dir_fd=held)
            os.close(held)
            held = inner
        yield held
    finally:
        os.close(held)


def _read(file: int, size: int) -> bytes:
    """As much as the file had a moment ago: one that grows meanwhile is cut, not waited for."""
    parts: list[bytes] = []
    while size > 0 and (part := os.read(file, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
