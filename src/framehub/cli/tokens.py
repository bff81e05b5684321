"""``framehub token``: who may connect to a gateway."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from framehub.cli.reach import as_text
from framehub.runtime import tokens

_SHOWN: Final = ("id", "user", "created", "name")


def _file(command: Any) -> Any:
    return click.option(
        "--tokens",
        "file",
        required=True,
        envvar="FRAMEHUB_TOKENS",
        show_envvar=True,
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The file that `framehub serve --tokens` reads.",
    )(command)


@click.group()
def token() -> None:
    """Make, list and revoke tokens: with one a client shows who it is.

    A gateway that runs notices by itself when the file changes.
    """


@token.command()
@click.option(
    "--user",
    type=click.IntRange(1, tokens.LAST_USER),
    required=True,
    metavar="N",
    help=f"The user it stands for, 1 to {tokens.LAST_USER}.",
)
@click.option("--name", required=True, metavar="TEXT", help="What to call it in lists.")
@_file
def add(user: int, name: str, file: Path) -> None:
    """Make a token and print it, this once: the file keeps only its SHA-256.

    A file that is not there is made. The token alone is on stdout.
    """
    made, entry = tokens.add(file, user=user, name=name)
    click.echo(f"{file}: token {entry.id} for user {user}. It is shown only now:", err=True)
    click.echo(made)


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="An array, an object for each token.")
@_file
def list_(as_json: bool, file: Path) -> None:
    """List the tokens: id, user, when it was made, name. The tokens themselves are not kept."""
    found = tokens.read(file)
    if as_json:
        click.echo(
            as_text([{"id": e.id, "user": e.user, "created": e.created, "name": e.name} for e in found])
        )
    elif not found:
        click.echo(f"there is no token in {file}; `framehub token add` makes one", err=True)
    else:
        for line in _table(found):
            click.echo(line)


def _table(found: list[tokens.Entry]) -> Iterator[str]:
    yield f"{'id':<{tokens.SHORT_ID}}  {'user':>5}  {'created':<20}  name"
    for entry in found:
        yield f"{entry.id}  {entry.user:>5}  {entry.created:<20}  {entry.name}"


@token.command()
@click.argument("what", metavar="NAME|ID")
@_file
def revoke(what: str, file: Path) -> None:
    """Revoke a token: who uses it is cut off within a second, and gets in no more.

    ID is what `token list` shows, or 6 or more letters of its beginning.
    """
    gone = tokens.revoke(file, what)
    click.echo(f"{file}: token {gone.id} ({gone.name}) of user {gone.user} is revoked", err=True)
