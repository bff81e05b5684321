"""``framehub worker``: offer the functions of a module."""

import logging
from pathlib import Path

import click
import uvloop

from framehub.cli.proxy import chosen, keys, proxy_options
from framehub.cli.reach import BadInput, remark
from framehub.errors import ConfigError
from framehub.gateway.app import load
from framehub.runtime import functionset
from framehub.runtime.signals import on_ending
from framehub.runtime.worker import DEFAULT_WORKERS, Worker
from framehub.runtime.worksource import ChildHasSeenEnough


@click.command()
@click.argument("source", metavar="MODULE:NAME")
@click.option(
    "--processes", type=click.IntRange(min=1), metavar="N", help="Processes that run functions; a core each."
)
@click.option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="Run them in threads of one process instead."
)
@click.option("--verbose", "-v", is_flag=True, help="Log more, on stderr.")
@proxy_options(DEFAULT_WORKERS, "FRAMEHUB_WORKERS", many=True)
def worker(
    source: str,
    processes: int | None,
    threads: int | None,
    verbose: bool,
    address: tuple[str, ...],
    curve_key: Path | None,
    server_key: Path | None,
) -> None:
    """Offer the functions of a framehub.Worker, like jobs:worker, until SIGTERM, SIGHUP or Ctrl-C.

    Prints one line beginning with "ready" on stdout once they can be called. When it is to end it takes
    nothing new and finishes what runs; Ctrl-C again does not wait. It may be started before the proxy, and
    goes on after the proxy was restarted. With --connect several times it serves several gateways at once,
    and prints a line for each.
    """
    if processes is not None and threads is not None:
        raise BadInput("--processes and --threads: give one of the two")
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    offered = _load(source)
    if processes is not None or threads is not None:
        offered.processes, offered.threads = processes, threads
    offered.curve = keys(curve_key, server_key) or offered.curve
    uvloop.run(_run(offered, source, chosen(address, offered.address)))


def _load(source: str) -> Worker:
    functionset.collected = []  # so that a worker which the module starts says so instead
    try:
        return load(source, Worker, what="worker", example="jobs:worker")
    except ChildHasSeenEnough:
        raise ConfigError(
            f"worker {source!r}: its module starts a worker when it is imported: put that under"
            ' if __name__ == "__main__"'
        ) from None
    finally:
        functionset.collected = None


async def _run(offered: Worker, source: str, addresses: list[str]) -> None:
    on_ending(offered.stop)

    def stopping(running: int) -> None:
        if running:
            remark(
                f"stopping: waiting up to {offered.drain:g} s for {running} running; Ctrl-C again does not"
            )

    await offered.serve(
        addresses,
        source=source,
        on_ready=lambda at: click.echo(offered.ready_line(at)),
        on_alone=remark,
        on_stopping=stopping,
    )
