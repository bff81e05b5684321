"""``framehub request``: ask an endpoint something and print its answer."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import click

from framehub.cli.attached import keyed, listed, show
from framehub.cli.reach import (
    STDIN,
    BadInput,
    Input,
    JsonCommand,
    Seconds,
    as_text,
    connection,
    connection_options,
    is_regular,
    open_input,
    parse,
    run,
)
from framehub.cli.rows import printable
from framehub.errors import EndpointError, RequestTimeout
from framehub.runtime.calls import Reply
from framehub.runtime.connect import connect
from framehub.runtime.files import File


@click.command(cls=JsonCommand)
@click.argument("endpoint")
@click.argument("data", metavar="[JSON|@FILE|-]", required=False)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="[KEY=]PATH",
    help="Attach a file, under the next free number without KEY; - is stdin.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Save the answer's files there, as file-KEY.",
)
@click.option(
    "--timeout",
    type=Seconds(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the answer.",
)
@click.option("--json", "as_json", is_flag=True, help="One object: data or error, and what files came.")
@connection_options
def request(
    endpoint: str,
    data: str | None,
    files: tuple[str, ...],
    out: Path | None,
    timeout: float,
    as_json: bool,
    url: str,
    checksum: str | None,
    token: str | None,
    token_file: BinaryIO | None,
) -> None:
    """Ask ENDPOINT and print its answer.

    What is sent is JSON: given as it is, read from @FILE, or from stdin for -. The answer's data go to stdout
    as JSON. Its files are listed on stderr and saved only with --out, never under a name that the other side
    chose. Exits with 1 if the answer is an error.
    """
    paths = list(keyed(files))
    if [data, *(path for _, path in paths)].count(STDIN) > 1:
        raise BadInput("stdin can be used only once: for the data, or for one file")
    value = parse(data)
    where = connection(url, checksum, token, token_file)
    with ExitStack() as stack:
        attached = {
            key: File(Path(path) if is_regular(path) else Input(stack.enter_context(open_input(path))))
            for key, path in paths
        }
        run(_request(where, endpoint, value, attached, timeout=timeout, out=out, as_json=as_json))


async def _request(
    where: Mapping[str, Any],
    endpoint: str,
    data: Any,
    files: Mapping[int, File],
    *,
    timeout: float,
    out: Path | None,
    as_json: bool,
) -> None:
    limit = asyncio.timeout(timeout)  # for connecting too
    try:
        async with limit, connect(**where) as peer:
            limit.reschedule(None)
            reply = await peer.request(endpoint, data, files=files, timeout=timeout, raise_on_error=False)
    except TimeoutError:
        raise RequestTimeout(f"{where['url']}: no answer in time ({timeout:g} s)") from None
    finally:
        for file in files.values():
            if isinstance(file.source, Input):
                file.source.stop()
    if as_json:
        _print_object(reply, out)
    else:
        _print_data(reply, out)
    if reply.is_error:
        raise click.ClickException(f"{endpoint} answered with an error: {_error(reply.error)}")


def _print_data(reply: Reply, out: Path | None) -> None:
    if not reply.is_error:
        click.echo(as_text(reply.data, indent=2))
    show(reply.files, out)


def _print_object(reply: Reply, out: Path | None) -> None:
    said = {"error": reply.error} if reply.is_error else {"data": reply.data}
    click.echo(as_text({**said, "files": listed(reply.files, out)}))


def _error(value: Any) -> str:
    """The library's errors as text, an application's own as JSON."""
    if isinstance(value, dict) and value.keys() == {"code", "message"}:
        return printable(str(EndpointError(value)))
    return json.dumps(value) if not isinstance(value, str) else printable(value)
