"""``framehub serve``: the gateway."""

import asyncio
import logging
import os
import resource
from pathlib import Path
from typing import Any

import click
import uvloop
from click.core import ParameterSource

from framehub.cli.reach import BadInput, Seconds, remark
from framehub.errors import FramehubError
from framehub.gateway.config import ConfigProblems, load
from framehub.gateway.config_files import shut_out
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import (
    DEFAULT_ADMIN,
    DEFAULT_CLIENTS,
    DEFAULT_LISTEN,
    DEFAULT_SERVICES,
    DEFAULT_WORKERS,
    GatewaySettings,
)
from framehub.runtime.signals import INSISTING, on_ending

log = logging.getLogger("framehub.gateway")

OFF = "off"
PLACES = {
    **{
        name: ("gateway", name)
        for name in (
            *(
                "app",
                "listen",
                "services",
                "clients",
                "workers",
                "origins",
                "static",
                "tokens",
                "allow_anonymous",
            ),
            *("curve_key", "service_keys", "client_keys", "worker_keys", "allow_plain_zeromq"),
        )
    },
    "journal": ("journal", "directory"),
    "node": ("journal", "node"),
    "admin": ("admin", "listen"),
    "admin_tokens": ("admin", "tokens"),
    "request_timeout": ("mfp", "request_timeout"),
}
"""Where the setting of each option stands in a file."""
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--config", type=_FILE, envvar="FRAMEHUB_CONFIG", show_envvar=True, metavar="FILE",
    help="Settings in TOML; what is said here comes before it (framehub config example).",
)  # fmt: skip
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
@click.option(
    "--admin", default=DEFAULT_ADMIN, show_default=True, metavar="HOST:PORT",
    help="The console, health, metrics and state over HTTP; off: none.",
)  # fmt: skip
@click.option("--admin-tokens", type=_FILE, metavar="FILE", help="Show them only to who has a token of FILE.")
@click.option("--journal", type=click.Path(file_okay=False, path_type=Path), default=Path("journal"),
              show_default=True, metavar="DIR", help="Where every frame is recorded.")  # fmt: skip
@click.option("--no-journal", is_flag=True, help="Record nothing.")
@click.option("--node", metavar="NAME", help="This gateway's name in its journal.")
@click.option(
    "--origin", "origins", multiple=True, metavar="URL", help="A web page's origin that may connect."
)
@click.option(
    "--static", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Serve the files of DIR to browsers, at the same port.",
)  # fmt: skip
@click.option(
    "--request-timeout",
    type=Seconds(min=0, min_open=True),
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
    "--tokens", type=_FILE, metavar="FILE",
    help="Let in only who has a token of FILE (framehub token); else of FRAMEHUB_TOKENS.",
)  # fmt: skip
@click.option(
    "--allow-anonymous", is_flag=True,
    help="WebSocket: let anybody connect, from elsewhere and without a token.",
)  # fmt: skip
@click.option(
    "--allow-plain-zeromq", is_flag=True,
    help="Services, clients, workers: let anybody connect, from elsewhere and without a key.",
)  # fmt: skip
@click.option("--verbose", "-v", is_flag=True, help="Log more, on stderr.")
@click.pass_context
def serve(ctx: click.Context, /, config: Path | None, verbose: bool, **_options: Any) -> None:
    """Run the gateway until SIGTERM, SIGHUP or Ctrl-C.

    Prints one line beginning with "ready" on stdout once it can be used.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    try:
        settings = load(config, os.environ, _given(ctx), files=True).settings
    except ConfigProblems as exc:
        for problem in exc.problems:
            click.echo(f"Error: {problem}", err=True)
        ctx.exit(1)
    for warning in shut_out(settings):
        log.warning("%s", warning)
    # What is in memory are keys, tokens and other people's data: no core dump leaves it on a disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each connection is a file
    uvloop.run(_run(settings))


def _given(ctx: click.Context) -> dict[tuple[str, str], tuple[Any, str]]:
    """What stands on the command line, by table and name of the setting."""
    given: dict[tuple[str, str], tuple[Any, str]] = {}
    for option in ctx.command.params:
        name = option.name or ""
        if name in PLACES and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = ctx.params[name]
            given[PLACES[name]] = (None if value == OFF else value, option.opts[0])
    if ctx.params["no_journal"]:
        if ("journal", "directory") in given:
            raise BadInput("--journal and --no-journal: give one of them")
        given["journal", "directory"] = (None, "--no-journal")
    return given


async def _run(settings: GatewaySettings) -> None:
    gateway = Gateway(settings)
    on_ending(gateway.stop)
    async with gateway:
        click.echo(gateway.ready_line)
        await gateway.wait()
        if busy := gateway.pending:
            remark(f"stopping: {busy} under way; Ctrl-C again does not wait for them")
        for number in INSISTING:
            asyncio.get_running_loop().remove_signal_handler(number)  # a second one ends it at once
    if gateway.failure:
        raise FramehubError(str(gateway.failure))
