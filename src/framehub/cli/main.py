"""``framehub``: one command, one file per group; each is imported only when it is used."""

import os
import sys
from importlib import import_module
from importlib.metadata import version
from io import TextIOWrapper
from typing import Any, TextIO

import click

from framehub.errors import FramehubError

COMMANDS = {
    "serve": "framehub.cli.serve:serve",
    "demo": "framehub.cli.demo:demo",
    "worker": "framehub.cli.worker:worker",
    "service": "framehub.cli.service:service",
    "ls": "framehub.cli.functions:ls",
    "describe": "framehub.cli.functions:describe",
    "call": "framehub.cli.call:call",
    "request": "framehub.cli.request:request",
    "stream": "framehub.cli.stream:stream",
    "ping": "framehub.cli.ping:ping",
    "config": "framehub.cli.config:config",
    "token": "framehub.cli.tokens:token",
    "keys": "framehub.cli.keys:keys",
    "decode": "framehub.cli.frames:decode",
    "encode": "framehub.cli.frames:encode",
    "journal": "framehub.cli.journal:journal",
    "pipeline": "framehub.cli.pipeline:pipeline",
    "story": "framehub.cli.story:story",
    "replay": "framehub.cli.replay:replay",
    "bench": "framehub.cli.bench:bench",
}


class LazyGroup(click.Group):
    """Find commands by name, so that ``framehub serve`` never pays for what it does not use."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Every command, in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """Import the command's module now."""
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Say which command was meant when the name is nearly right."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as exc:
            from difflib import get_close_matches

            if close := get_close_matches(args[0], COMMANDS, n=1):
                raise click.UsageError(f"{exc.message} Did you mean '{close[0]}'?", ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Our own errors are one line on stderr and the exit code that they carry, mostly 1."""
        try:
            return super().invoke(ctx)
        except FramehubError as exc:
            click.ClickException(str(exc)).show()
            ctx.exit(exc.exit_code)
        except BrokenPipeError:
            ctx.exit(0)  # `framehub ping | head`: the reader has seen enough

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """A terminal or file that takes no more output is no reason for a traceback."""
        _have_streams()
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                _let_go_of_stderr()
                sys.stdout.flush()
        except BrokenPipeError:
            status = 0  # what was left to write was not wanted
        except OSError as exc:
            click.echo(f"Error: {exc.filename or 'output'}: {exc.strerror or exc}", err=True)
            status = 1
        _to_nowhere(sys.stdout)
        sys.exit(status)


def _have_streams() -> None:
    """What was closed (`>&-`) is nowhere; what a terminal has no letters for is escaped."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            stream = os.fdopen(number, "w" if number else "r", closefd=False)
            setattr(sys, name, stream)
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, TextIOWrapper):
            output.reconfigure(errors="backslashreplace")


def _let_go_of_stderr() -> None:
    """What was logged after its terminal was closed is lost, and no reason to end with another code."""
    try:
        sys.stderr.flush()
    except OSError:
        _to_nowhere(sys.stderr)


def _to_nowhere(stream: TextIO) -> None:
    """Python must not try again at its end to write what is left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("framehub"), prog_name="framehub")
def run() -> None:
    """Browsers and programs reach Python functions over one socket; every frame is a row in a table."""
