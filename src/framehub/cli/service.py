"""``framehub service``: offer the service of a module to the clients of a hub."""

import logging
from pathlib import Path

import click
import uvloop

from framehub.cli.proxy import chosen, keys, proxy_options
from framehub.cli.reach import remark
from framehub.errors import ConfigError
from framehub.gateway.app import load
from framehub.runtime import functionset
from framehub.runtime.service import DEFAULT_SERVICES, Service
from framehub.runtime.signals import on_ending
from framehub.runtime.worksource import ChildHasSeenEnough


@click.command()
@click.argument("source", metavar="MODULE:NAME")
@click.option("--verbose", "-v", is_flag=True, help="Log more, on stderr.")
@proxy_options(DEFAULT_SERVICES, "FRAMEHUB_SERVICES", what="hub", many=True)
def service(
    source: str, verbose: bool, address: tuple[str, ...], curve_key: Path | None, server_key: Path | None
) -> None:
    """Offer a framehub.Service, like quotes:service, until SIGTERM, SIGHUP or Ctrl-C.

    Prints one line beginning with "ready" on stdout once streams can be opened. When it is to end it gets no
    new streams and finishes the open ones; Ctrl-C again does not wait. It may be started before the hub, and
    goes on after the hub was restarted. With --connect several times it serves several gateways at once, and
    prints a line for each.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    offered = _load(source)
    offered.curve = keys(curve_key, server_key) or offered.curve
    uvloop.run(_run(offered, chosen(address, offered.address)))


def _load(source: str) -> Service:
    functionset.collected = []  # so that a service which the module starts says so instead
    try:
        return load(source, Service, what="service", example="quotes:service")
    except ChildHasSeenEnough:
        raise ConfigError(
            f"service {source!r}: its module starts a service when it is imported: put that under"
            ' if __name__ == "__main__"'
        ) from None
    finally:
        functionset.collected = None


async def _run(offered: Service, addresses: list[str]) -> None:
    on_ending(offered.stop)

    def stopping(running: int) -> None:
        if running:
            remark(
                f"stopping: waiting up to {offered.drain:g} s for {running} streams; Ctrl-C again does not"
            )

    await offered.serve(
        addresses,
        on_ready=lambda at: click.echo(offered.ready_line(at)),
        on_alone=remark,
        on_stopping=stopping,
    )
