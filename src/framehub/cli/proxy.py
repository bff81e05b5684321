"""What commands about remote functions have in common: which proxy, and with which keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from framehub.cli.reach import BadInput, Seconds
from framehub.errors import ConfigError
from framehub.runtime.addresses import Addresses, several
from framehub.runtime.curve import CurveClient, read_public, read_secret
from framehub.runtime.functions import DEFAULT_CLIENTS, Functions

REACHED_IN: Final = 5.0
"""Seconds after which a proxy that was never reached counts as not there."""
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def proxy_options(
    default: str = DEFAULT_CLIENTS,
    variable: str = "FRAMEHUB_CLIENTS",
    *,
    what: str = "proxy",
    many: bool = False,
) -> Callable[[Any], Any]:
    """Add the options that say where the proxy is, or another ``what``; ``many``: there may be several."""

    connect = click.option(
        "--connect",
        "address",
        default=[default] if many else default,
        multiple=many,
        show_default=True,
        envvar=variable,
        show_envvar=True,
        metavar="ADDR",
        help=f"Where the {what} listens{'; again for another one' if many else ''}.",
    )

    def add(command: Any) -> Any:
        return connect(key_options(command, what=what))

    return add


def key_options(command: Any, *, what: str = "proxy") -> Any:
    """Add the options that say with which keys."""
    server = click.option(
        "--server-key", type=_FILE, metavar="FILE", help=f"The {what}'s public CURVE key, FILE.pub there."
    )
    own = click.option("--curve-key", type=_FILE, metavar="FILE", help="Our secret CURVE key.")
    return own(server(command))


def timeout_option(seconds: float, help_: str) -> Callable[[Any], Any]:
    """Add ``--timeout``."""
    return click.option(
        "--timeout",
        type=Seconds(min=0, min_open=True),
        default=seconds,
        show_default=True,
        metavar="SECONDS",
        help=help_,
    )


def full(address: str) -> str:
    """An address as ZeroMQ wants it: ``HOST:PORT`` is TCP."""
    return address if "://" in address else f"tcp://{address}"


def chosen(addresses: tuple[str, ...], own: Addresses | None) -> list[str]:
    """The addresses to connect to: those of the command line or the environment, else the object's own."""
    source = click.get_current_context().get_parameter_source("address")
    told: Addresses = addresses
    if source is click.core.ParameterSource.DEFAULT and own:
        told = own
    elif source is click.core.ParameterSource.ENVIRONMENT:
        told = ",".join(addresses)  # there commas, or spaces, stand between them
    return [full(address) for address in several(told)]


def keys(curve_key: Path | None, server_key: Path | None) -> CurveClient | None:
    """Both keys, or none.

    Raises:
        BadInput: only one of them is given.
        ConfigError: a file has no key, or others can read the secret one.
    """
    if curve_key is None and server_key is None:
        return None
    if curve_key is None or server_key is None:
        raise BadInput("--curve-key and --server-key go together: give both, or none")
    servers = read_public(server_key)
    if len(servers) != 1:
        raise ConfigError(f"{server_key}: want one public key, that of the server, not {len(servers)}")
    return CurveClient(servers[0], read_secret(curve_key))


def functions(address: str, curve_key: Path | None, server_key: Path | None, timeout: float) -> Functions:
    """A client of that proxy."""
    return Functions(full(address), timeout=timeout, curve=keys(curve_key, server_key))
