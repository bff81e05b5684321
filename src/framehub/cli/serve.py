"""``framehub serve``: the gateway."""

import asyncio
import logging
import signal
from pathlib import Path

import click
import uvloop

from framehub.errors import FramehubError
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import (
    DEFAULT_CLIENTS,
    DEFAULT_LISTEN,
    DEFAULT_SERVICES,
    DEFAULT_WORKERS,
    GatewaySettings,
)
from framehub.mfp.settings import Settings

OFF = "off"
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--app", metavar="MODULE:NAME", help="Endpoints to serve, like myapp:endpoints.")
@click.option(
    "--listen", default=DEFAULT_LISTEN, show_default=True, metavar="HOST:PORT", help="0 = a free port."
)
@click.option(
    "--services", default=DEFAULT_SERVICES, show_default=True, metavar="HOST:PORT",
    help="Where services of the hub connect; off: no hub.",
)  # fmt: skip
@click.option(
    "--clients", default=DEFAULT_CLIENTS, show_default=True, metavar="HOST:PORT",
    help="Where programs call remote functions; off: no remote functions.",
)  # fmt: skip
@click.option(
    "--workers", default=DEFAULT_WORKERS, show_default=True, metavar="HOST:PORT",
    help="Where workers offer functions; off: no remote functions.",
)  # fmt: skip
@click.option("--journal", type=click.Path(file_okay=False, path_type=Path), default=Path("journal"),
              show_default=True, metavar="DIR", help="Where every frame is recorded.")  # fmt: skip
@click.option("--no-journal", is_flag=True, help="Record nothing.")
@click.option("--node", metavar="NAME", help="This gateway's name in its journal.")
@click.option(
    "--origin", "origins", multiple=True, metavar="URL", help="A web page's origin that may connect."
)
@click.option(
    "--request-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="When a request without an answer is given up.",
)
@click.option(
    "--curve-key", type=_FILE, metavar="FILE", help="Our secret CURVE key: services, clients, workers."
)
@click.option("--service-keys", type=_FILE, metavar="FILE", help="Public keys of services, one a line.")
@click.option("--client-keys", type=_FILE, metavar="FILE", help="Public keys of clients, one a line.")
@click.option("--worker-keys", type=_FILE, metavar="FILE", help="Public keys of workers, one a line.")
@click.option(
    "--tokens", type=_FILE, metavar="FILE", help="Let in only who has a token of FILE (framehub token)."
)
@click.option(
    "--allow-anonymous", is_flag=True, help="Let anybody connect: from elsewhere, and without a token."
)
@click.option("--verbose", "-v", is_flag=True, help="Log more, on stderr.")
def serve(
    app: str | None,
    listen: str,
    services: str,
    clients: str,
    workers: str,
    journal: Path,
    no_journal: bool,
    node: str | None,
    origins: tuple[str, ...],
    request_timeout: float,
    curve_key: Path | None,
    service_keys: Path | None,
    client_keys: Path | None,
    worker_keys: Path | None,
    tokens: Path | None,
    allow_anonymous: bool,
    verbose: bool,
) -> None:
    """Run the gateway until SIGTERM or Ctrl-C.

    Prints one line beginning with "ready" on stdout once it can be used.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    settings = GatewaySettings(
        app=app,
        listen=listen,
        services=None if services == OFF else services,
        clients=None if clients == OFF else clients,
        workers=None if workers == OFF else workers,
        curve_key=curve_key,
        service_keys=service_keys,
        client_keys=client_keys,
        worker_keys=worker_keys,
        tokens=tokens,
        journal=None if no_journal else journal,
        node=node,
        origins=origins,
        allow_anonymous=allow_anonymous,
        mfp=Settings(request_timeout=request_timeout),
    )
    uvloop.run(_run(settings))


async def _run(settings: GatewaySettings) -> None:
    gateway = Gateway(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, gateway.stop)
    async with gateway:
        click.echo(gateway.ready_line)
        await gateway.wait()
        if busy := gateway.pending:
            click.echo(f"stopping: {busy} under way; Ctrl-C again does not wait for them", err=True)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)  # a second one ends it at once
    if gateway.failure:
        raise FramehubError(str(gateway.failure))
