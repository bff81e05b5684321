"""``framehub config``: look at a gateway's settings before they are used."""

import json
import os
from math import isfinite
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from framehub.gateway.config import ConfigProblems, load
from framehub.gateway.config_files import shut_out
from framehub.gateway.config_page import example, shown
from framehub.gateway.config_values import as_toml
from framehub.gateway.exposure import exposed, warnings

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def config() -> None:
    """Check and show the settings of a gateway."""


@config.command()
@click.argument("file", type=_FILE, envvar="FRAMEHUB_CONFIG")
@click.pass_context
def check(ctx: click.Context, file: Path) -> None:
    """Say what is wrong with FILE and with settings in the environment, a line each (exit code 1).

    If nothing is, say what is open to whom, a line for each listener.

    FILE is that of FRAMEHUB_CONFIG if none is given. The files that settings name are looked into; the
    app is not imported.
    """
    try:
        found = load(file, os.environ, files=True)
    except ConfigProblems as exc:
        for problem in exc.problems:
            click.echo(problem)
        ctx.exit(1)
    for line in exposed(found.settings):
        click.echo(line)
    for warning in (*shut_out(found.settings), *warnings(found.settings)):
        click.echo(f"warning: {warning}", err=True)
    app = found.settings.app
    click.echo(f"{file}: right" + (f"; app {app!r} was not imported" if app else ""), err=True)


@config.command()
@click.argument("named", type=_FILE, required=False, metavar="[FILE]")
@click.option(
    "--config", "file", type=_FILE, envvar="FRAMEHUB_CONFIG", show_envvar=True, metavar="FILE",
    help="The same, as other commands have it.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="A list of objects, for programs.")
@click.pass_context
def show(ctx: click.Context, named: Path | None, file: Path | None, as_json: bool) -> None:
    """Show every setting that would be in force, and where it comes from if it is not the default.

    FILE is that of FRAMEHUB_CONFIG if none is given.

    What is printed is a TOML file again. It has no secrets in it: tokens and keys are in files of their own.
    """
    if named is not None and ctx.get_parameter_source("file") is ParameterSource.COMMANDLINE:
        raise click.UsageError("FILE and --config: give one of them")
    found = load(named or file, os.environ)
    if not as_json:
        click.echo("\n".join(shown(found.values)))
        return
    told = [
        {"table": one.key.table, "key": one.key.name, "value": _plain(one.value), "source": one.source}
        for one in found.values
    ]
    click.echo(json.dumps(told, indent=2))


@config.command(name="example")
def example_() -> None:
    """Print a file with every setting, its default and what it is for."""
    click.echo(example(), nl=False)


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, dict) else as_toml(value).strip('"')
