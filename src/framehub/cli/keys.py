"""``framehub keys``: CURVE keys for remote functions between machines."""

from pathlib import Path

import click

from framehub.runtime.curve import write_keys


@click.group()
def keys() -> None:
    """Make keys with which proxies, clients and workers know each other (CURVE)."""


@keys.command()
@click.argument("file", type=click.Path(path_type=Path))
def new(file: Path) -> None:
    """Make a new pair: the secret key in FILE, the public one in FILE.pub and on stdout.

    The proxy is told the public keys of its clients and workers (`serve --client-keys --worker-keys`), and
    they are told the proxy's (`--server-key`). A secret key stays where it is.
    """
    click.echo(write_keys(file))
