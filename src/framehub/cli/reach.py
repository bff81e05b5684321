"""What ``request``, ``call`` and their like have in common: where to connect, and what they are given."""

import json
import math
import os
import re
import select
import stat
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import click
import uvloop
from click.core import ParameterSource
from msgspec import UNSET

from framehub.cli.rows import printable
from framehub.errors import FramehubError
from framehub.mfp.checksum import ALGORITHMS
from framehub.mfp.settings import Settings

DEFAULT_URL = "ws://127.0.0.1:7400/mfp"
STDIN = "-"
_LOOK_MS = 200
"""How often a read that waits for input looks whether it is still wanted."""


_NEGATIVE = re.compile(r"-\d[\d.eE+-]*")


class JsonCommand(click.Command):
    """A command that is given JSON: ``-3`` is a number, and no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A space before a number changes nothing in JSON, but tells it from an option."""
        return super().parse_args(ctx, [f" {arg}" if _NEGATIVE.fullmatch(arg) else arg for arg in args])


class Seconds(click.FloatRange):
    """A number that is one: ``nan`` is in no range, but no comparison says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, if it is one."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


class BadInput(click.ClickException):
    """An argument that cannot be used: one line, and the exit code of wrong usage."""

    exit_code = 2


def remark(text: str) -> None:
    """Say something on stderr, unless the terminal is gone: what it is about goes on."""
    with suppress(OSError):
        click.echo(text, err=True)


def connection_options(command: Any) -> Any:
    """Add the options that say where and how to connect."""
    url = click.option(
        "--url",
        default=DEFAULT_URL,
        show_default=True,
        envvar="FRAMEHUB_URL",
        show_envvar=True,
        help="Where the gateway listens.",
    )
    return url(peer_options(command))


def peer_options(command: Any) -> Any:
    """Add the options that say how to connect, and as whom."""
    names = [name + suffix for suffix in ("", ".always") for name in ALGORITHMS]
    for option in (
        click.option(
            "--token-file",
            type=click.File("rb"),
            metavar="FILE",
            help="The same, from a file: nobody sees it in a list of processes.",
        ),
        click.option(
            "--token",
            metavar="TOKEN",
            envvar="FRAMEHUB_TOKEN",
            show_envvar=True,
            help="Who we are: a token that the gateway knows.",
        ),
        click.option(
            "--checksum",
            type=click.Choice(names),
            help="Put checksums on our frames; with .always the other side has to as well.",
        ),
    ):
        command = option(command)
    return command


def connection(
    url: str, checksum: str | None, token: str | None, token_file: BinaryIO | None
) -> dict[str, Any]:
    """The arguments of ``connect``."""
    is_said = click.get_current_context().get_parameter_source("token") is ParameterSource.COMMANDLINE
    if token_file is not None:
        if is_said:
            raise BadInput("--token and --token-file: give one of them")
        found = token_file.read(4096).strip()
        if not found or not found.isascii() or not all(33 <= byte <= 126 for byte in found):
            raise BadInput(f"{token_file.name}: want one token there, without spaces")
        token = found.decode()
    elif not is_said and not url.startswith(("ws:", "wss:")):
        token = None  # the variable is for wherever a token can go
    return {"url": url, "checksum": checksum, "token": token or None}


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a command's work. What a peer says in an error is data: nothing of it may steer a terminal."""
    try:
        uvloop.run(coroutine)
    except FramehubError as exc:
        raise click.ClickException(printable(str(exc))) from exc


def parse(text: str | None) -> Any:
    """The JSON of an argument: itself, that of ``@FILE``, that of stdin for ``-``; unset without one."""
    if text is None:
        return UNSET
    most = Settings().max_frame_bytes
    where = "JSON"
    raw: str | bytes = os.fsencode(text) if _has_stray_bytes(text) else text
    if text == STDIN:
        where, raw = "stdin", sys.stdin.buffer.read(most + 1)
    elif text.startswith("@"):
        where = text[1:]
        with Path(where).open("rb") as file:
            raw = file.read(most + 1)
    if len(raw) > most:
        raise BadInput(f"{where}: over {most} bytes; send it as a file or a stream")
    try:
        return json.loads(raw, parse_constant=_no_number)
    except json.JSONDecodeError as exc:
        raise BadInput(f"{where}: {exc}") from None  # with line, column and offset
    except (ValueError, RecursionError) as exc:
        raise BadInput(f"{where}: not JSON: {exc}") from None


def _has_stray_bytes(text: str) -> bool:
    """Whether an argument has bytes that the locale could not read: in the locale C, all but ASCII."""
    return any("\udc80" <= char <= "\udcff" for char in text)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


class Input:
    """Stdin, a pipe or a file, read by a thread; ``stop`` ends a read that waits for what may never come."""

    def __init__(self, file: BinaryIO, told: Callable[[int], object] = lambda _: None) -> None:
        self._file = file
        self._told = told
        self._stopped = False
        self._ready = select.poll()
        self._ready.register(file, select.POLLIN)

    def read(self, size: int) -> bytes:
        """What is there now, at most ``size`` bytes; none at the end."""
        while not self._stopped:
            if self._ready.poll(_LOOK_MS):
                data = os.read(self._file.fileno(), size)
                self._told(len(data))
                return data
        return b""

    def stop(self) -> None:
        """Nobody wants more."""
        self._stopped = True


def open_input(name: str) -> BinaryIO:
    """A file, a pipe, or stdin for ``-``, without a buffer of its own.

    Raises:
        OSError: it cannot be read, or it is a directory.
    """
    if name == STDIN:
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    return Path(name).open("rb", buffering=0)


def is_regular(name: str) -> bool:
    """Whether its bytes are there at once; what is not there at all is found out when it is read."""
    if name == STDIN:
        return False
    try:
        mode = Path(name).stat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def as_text(value: Any, *, indent: int | None = None) -> str:
    """JSON that a terminal can show: what is not printable is escaped, and it stays JSON."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    text = "".join(char if char == "\n" or char.isprintable() else _escaped(char) for char in text)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")  # ASCII: it has no other letters
    return text


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if ord(char) != 0x7F else "\\u007f"
