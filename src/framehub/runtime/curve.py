"""CURVE: who may connect, and proof of who it is, by keys of 40 characters (Z85).

A server knows the public keys it lets in; a client knows the server's. A secret key lives in a file that only
its owner can read, its public half beside it with ``.pub`` at the end.
"""

import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from zmq.utils import z85

from framehub.errors import ConfigError

KEY_LETTERS = 40


def new_keys() -> tuple[str, str]:
    """A new pair: public, secret."""
    public, secret = zmq.curve_keypair()
    return public.decode(), secret.decode()


def public_of(secret: str) -> str:
    """The public half.

    Raises:
        ConfigError: that is no key.
    """
    return zmq.curve_public(_checked(secret, "secret").encode()).decode()


@dataclass(frozen=True, slots=True)
class CurveServer:
    """Lets in who proves to have one of the ``allowed`` public keys, and nobody else."""

    secret: str = field(repr=False)
    allowed: frozenset[str]

    def __init__(self, secret: str, allowed: Iterable[str]) -> None:
        object.__setattr__(self, "secret", _checked(secret, "secret"))
        object.__setattr__(self, "allowed", frozenset(_checked(key, "public") for key in allowed))

    def secure(self, socket: zmq.Socket[bytes]) -> None:
        """Set up a socket that is to listen."""
        socket.set(zmq.CURVE_SERVER, 1)
        socket.set(zmq.CURVE_SECRETKEY, self.secret.encode())


@dataclass(frozen=True, slots=True)
class CurveClient:
    """Talks only to who proves to have the secret half of ``server``; says who it is by ``secret``."""

    server: str
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        _checked(self.server, "public")
        _checked(self.secret, "secret")

    def secure(self, socket: zmq.Socket[bytes]) -> None:
        """Set up a socket that is to connect."""
        socket.set(zmq.CURVE_SERVERKEY, self.server.encode())
        socket.set(zmq.CURVE_PUBLICKEY, public_of(self.secret).encode())
        socket.set(zmq.CURVE_SECRETKEY, self.secret.encode())


# --- files -------------------------------------------------------------------------------------------------


def write_keys(path: Path) -> str:
    """Make a pair: the secret key in ``path``, the public one in ``path.pub``; gives the public one.

    Raises:
        ConfigError: there is something already, or it cannot be written.
    """
    public, secret = new_keys()
    try:
        _write_new(path, secret, 0o600)
        try:
            _write_new(_beside(path), public, 0o644)
        except OSError:
            path.unlink()
            raise
    except OSError as exc:
        raise ConfigError(f"cannot write keys to {exc.filename}: {exc.strerror}") from exc
    return public


def read_secret(path: Path) -> str:
    """The secret key in a file that only its owner can read.

    Raises:
        ConfigError: others can read it, it cannot be read, or there is no key in it.
    """
    try:
        with path.open() as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise ConfigError(f"others can read the secret key in {path}: chmod 600 {path}")
            text = file.read(KEY_LETTERS * 2)
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"cannot read the key in {path}: {_why(exc)}") from exc
    return _checked(text.strip(), "secret", path)


def read_public(path: Path) -> list[str]:
    """Public keys, one a line; what follows a key on its line is a remark, and so is all after ``#``.

    Raises:
        ConfigError: it cannot be read, or a line has no key.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"cannot read the keys in {path}: {_why(exc)}") from exc
    words = [line.split()[0] for line in lines if line.strip()]
    return [_checked(word, "public", path) for word in words if not word.startswith("#")]  # no key does


def _write_new(path: Path, key: str, mode: int) -> None:
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(number, "w") as file:
        file.write(f"{key}\n")


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.pub")


def _why(exc: OSError | UnicodeDecodeError) -> str:
    return (exc.strerror or str(exc)) if isinstance(exc, OSError) else "it is no text"


def _checked(key: str, kind: str, path: Path | None = None) -> str:
    if not _is_key(key):
        where = f" in {path}" if path else ""
        # The text itself is not repeated: it may be a secret with one letter too many.
        raise ConfigError(f"no {kind} key{where}: want {KEY_LETTERS} letters of Z85, not {len(key)}")
    return key


def _is_key(text: str) -> bool:
    if len(text) != KEY_LETTERS or not text.isascii():
        return False
    try:
        return len(z85.decode(text.encode())) == 32
    except (KeyError, ValueError, struct.error):
        return False
