"""Files and directories that settings name: whether a gateway could read them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from framehub.errors import ConfigError
from framehub.gateway.settings import GatewaySettings
from framehub.private import shared
from framehub.runtime import tokens
from framehub.runtime.curve import read_public, read_secret
from framehub.runtime.folder import Folder


def _journal(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise ConfigError("it is no directory")
    if directory.exists() and (why := shared(directory)) is not None:
        raise ConfigError(why)


def _secret(file: Path) -> None:
    if not file.is_fifo():
        read_secret(file)


def _public(file: Path) -> list[str] | None:
    """Its keys; None: it is a pipe, like ``<(...)`` of a shell, and can be read only once."""
    return None if file.is_fifo() else read_public(file)


_READ: Final[dict[tuple[str, str], Callable[[Path], Any]]] = {
    ("gateway", "static"): Folder,
    ("gateway", "tokens"): tokens.read,
    ("gateway", "curve_key"): _secret,
    ("gateway", "service_keys"): _public,
    ("gateway", "client_keys"): _public,
    ("gateway", "worker_keys"): _public,
    ("journal", "directory"): _journal,
    ("admin", "tokens"): tokens.read,
}
"""How a gateway reads each of them."""


def unreadable(place: tuple[str, str], value: Any) -> str:
    """Why a gateway cannot have this value, by table and name of its setting; nothing if it can."""
    read = _READ.get(place)
    if read is None or value is None:
        return ""
    try:
        read(value)
    except ConfigError as exc:
        return str(exc).removeprefix(f"{place[1]} = {value}: ")
    except OSError as exc:
        return exc.strerror or str(exc)
    except ValueError as exc:  # a byte that no path can have
        return str(exc)
    return ""


def shut_out(settings: GatewaySettings) -> Iterator[str]:
    """Files of public keys in which there is none: nobody gets in, and nobody says why."""
    for who in ("service", "client", "worker"):
        name = f"{who}_keys"
        file: Path | None = getattr(settings, name)
        if file is not None and _public(file) == []:
            yield f"[gateway] {name}: there is no key in {file}, so no {who} can connect"
