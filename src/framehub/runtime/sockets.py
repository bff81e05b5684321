"""Listening sockets: TCP on every address of a host, or a Unix socket in a file of its own."""

import asyncio
import contextlib
import errno
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framehub.errors import ConfigError
from framehub.runtime.address import Address

BACKLOG: Final = 1_024
UNIX_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Bound:
    """Sockets that listen at one address."""

    sockets: tuple[socket.socket, ...]
    file: Path | None = None
    """The file of a Unix socket."""
    inode: tuple[int, int] = (0, 0)

    @property
    def port(self) -> int:
        """The real one, also if 0 was asked for; 0 for a Unix socket."""
        return 0 if self.file else int(self.sockets[0].getsockname()[1])

    def release(self) -> None:
        """Listen no more; a Unix socket's file goes too, if it is still ours."""
        for listening in self.sockets:
            listening.close()
        if self.file is not None:
            with contextlib.suppress(OSError):
                if _inode(self.file) == self.inode:
                    self.file.unlink()


async def bind(address: Address) -> Bound:
    """Listen at ``address``; a port of 0 becomes the same free one on every address of the host.

    Raises:
        ConfigError: the address cannot be had.
    """
    try:
        if address.scheme == "unix":
            return _bind_unix(Path(address.path))
        return await _bind_tcp(address.host, address.port)
    except (OSError, UnicodeError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise ConfigError(f"cannot listen on {address.place}: {reason}") from exc


async def _bind_tcp(host: str, port: int) -> Bound:
    infos = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, where in dict.fromkeys((info[0], info[4]) for info in infos):
        if port == 0 and sockets:
            where = (where[0], sockets[0].getsockname()[1], *where[2:])  # noqa: PLW2901
        listening = socket.socket(family, socket.SOCK_STREAM)
        sockets.append(listening)
        try:
            listening.setblocking(False)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listening.bind(where)
            listening.listen(BACKLOG)
        except OSError as exc:
            if exc.errno != errno.EADDRNOTAVAIL:
                Bound(tuple(sockets)).release()
                raise
            missing = exc  # a family that this machine does without
            sockets.pop().close()
    if missing is not None and not sockets:
        raise missing
    return Bound(tuple(sockets))


def _bind_unix(path: Path) -> Bound:
    _clear(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.setblocking(False)
        os.fchmod(listening.fileno(), UNIX_MODE)  # before there is a file that others could open
        listening.bind(str(path))
        listening.listen(BACKLOG)
        return Bound((listening,), path, _inode(path))
    except OSError:
        listening.close()
        raise


def _inode(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _clear(path: Path) -> None:
    """Remove a socket file that nobody listens at any more."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "there is a file, and it is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except BlockingIOError:
            pass  # its queue is full: somebody is there
    raise OSError(errno.EADDRINUSE, "somebody listens there")
