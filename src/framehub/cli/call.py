"""``framehub call``: have a remote function run, and print its result."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from msgspec import UNSET

from framehub.cli.attached import listed, show
from framehub.cli.functions import find
from framehub.cli.proxy import functions, proxy_options, timeout_option
from framehub.cli.reach import STDIN, BadInput, JsonCommand, as_text, parse, run
from framehub.cli.rows import printable
from framehub.errors import EncodingError, FramehubError, RemoteTimeout
from framehub.gateway.arguments import read_result
from framehub.rpc.calling import Calling
from framehub.rpc.coders import coder
from framehub.rpc.signature import FILE_SCHEMAS
from framehub.runtime.calls import Reply
from framehub.runtime.files import File
from framehub.runtime.function_files import read_whole
from framehub.runtime.functions import TIMEOUT, Functions

_KEYED = re.compile(r"([^\W\d]\w*|\d+)=(.*)", re.DOTALL)
_WHOLE = ("bytes", "arrow")
"""Coders that take one file as it is."""


class Given(NamedTuple):
    """A file of the command line: for which parameter or number, if it says so."""

    key: str
    file: File


@click.command(cls=JsonCommand)
@click.argument("name")
@click.argument("data", metavar="[JSON|@FILE|-]", required=False)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="[KEY=]PATH",
    help="A file for the parameter KEY, or for the next one that takes a file; - is stdin.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Save the result's files there, as file-KEY.",
)
@timeout_option(TIMEOUT, "How long to wait for the result.")
@click.option("--json", "as_json", is_flag=True, help="One object: data or error, and what files came.")
@proxy_options()
def call(
    name: str,
    data: str | None,
    files: tuple[str, ...],
    out: Path | None,
    timeout: float,
    as_json: bool,
    address: str,
    curve_key: Path | None,
    server_key: Path | None,
) -> None:
    """Call the remote function NAME and print its result as JSON.

    What it is given is JSON: as it stands, read from @FILE, or from stdin for -. A function of one parameter
    takes the value itself; one of several an array, by position, or an object, by name. Wrong arguments are
    refused here, before anything is sent. Files of the result are listed on stderr and saved only with --out.
    """
    given = [found.groups() if (found := _KEYED.fullmatch(text)) else ("", text) for text in files]
    if [data, *(path for _, path in given)].count(STDIN) > 1:
        raise BadInput("stdin can be used only once: for the data, or for one file")
    value = parse(data)
    client = functions(address, curve_key, server_key, timeout)
    run(
        _call(client, name, value, [Given(key, _read(path)) for key, path in given], out=out, as_json=as_json)
    )


async def _call(
    client: Functions, name: str, value: Any, files: list[Given], *, out: Path | None, as_json: bool
) -> None:
    try:
        entry, result = await _result(client, name, value, files)
        answer = read_result(name, entry["result"].encode(), result)
    except FramehubError as exc:
        if as_json:
            click.echo(as_text({"error": {"type": type(exc).__name__, "message": str(exc)}}))
        raise
    reply = answer if isinstance(answer, Reply) else Reply(answer)
    plain = msgspec.to_builtins(reply.data, str_keys=True)  # bytes inside MessagePack become base64
    if as_json:
        click.echo(as_text({"data": plain, "files": listed(reply.files, out)}))
        return
    if plain is not None or not reply.files:
        click.echo(as_text(plain, indent=2))
    if entry["result"] == "arrow":
        table = coder("arrow").decode(result)
        columns = ", ".join(f"{field.name} {field.type}" for field in table.schema)
        click.echo(printable(f"table: {table.num_rows} rows, columns {columns}"), err=True)
    show(reply.files, out)


async def _result(
    client: Functions, name: str, value: Any, files: list[Given]
) -> tuple[dict[str, Any], bytes]:
    """What is known of the function, and the bytes of its result."""
    loop = asyncio.get_running_loop()
    until = loop.time() + client.timeout
    async with client:
        entry = await find(client, name)
        argument = encoded(entry, value, files)
        try:
            result = await client.call_bytes(name, argument, timeout=max(0.001, until - loop.time()))
        except RemoteTimeout:
            raise RemoteTimeout(name, client.silence(client.timeout)) from None
    return entry, result


def encoded(entry: dict[str, Any], value: Any, files: list[Given]) -> bytes:
    """A function's argument, from a JSON value and files.

    Raises:
        EncodingError: they are not what it takes.
    """
    name, identity = entry["name"], entry["argument"]
    if identity in _WHOLE and len(files) == 1 and value is UNSET:
        return read_whole(files[0].file)
    if identity == "bytes":
        raise EncodingError(name, "it takes bytes: give them with --file PATH, and nothing else")
    schema = entry.get("parameters")
    calling = Calling(name, identity, entry["result"], schema, read_file=read_whole)
    described = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(described, dict):
        if files:
            raise EncodingError(name, "it does not say which files it takes")
        return calling.encode(() if value is UNSET else (value,), {})
    kinds = {key: _file_kind(one) if identity == "envelope" else "" for key, one in described.items()}
    kwargs = _by_name(name, value, [key for key, kind in kinds.items() if not kind])
    for given in files:
        _attach(name, given, kwargs, kinds, described)
    return calling.encode((), kwargs)


def _by_name(name: str, value: Any, plain: list[str]) -> dict[str, Any]:
    """The value of the command line as arguments."""
    if value is UNSET:
        return {}
    if len(plain) == 1:
        return {plain[0]: value}
    if not plain:
        if value is not None:
            raise EncodingError(name, "it takes no arguments")
        return {}
    if isinstance(value, dict):
        return dict(value)
    if not isinstance(value, list):
        takes = ", ".join(plain)
        raise EncodingError(name, f"it takes several arguments ({takes}): give an array or an object")
    if len(value) > len(plain):
        raise EncodingError(name, f"it takes {len(plain)} arguments, got {len(value)}")
    return dict(zip(plain, value, strict=False))


def _attach(
    name: str, given: Given, kwargs: dict[str, Any], kinds: dict[str, str], described: dict[str, Any]
) -> None:
    """Give a file to the parameter that it is for."""
    takers = [key for key, kind in kinds.items() if kind]
    key = given.key
    if key.isdigit() and takers:
        key = takers[int(key)] if int(key) < len(takers) else takers[-1]
    if not key:
        free = [one for one in takers if one not in kwargs or kinds[one] == "files"]
        free += [
            one for one in kinds if one not in takers and one not in kwargs and _takes_bytes(described[one])
        ]
        if not free:
            takes = f"takes only {len(takers)}" if takers else "takes no files"
            raise EncodingError(name, f"{given.file.name or 'stdin'} has no place: it {takes}")
        key = free[0]
    if key in kinds and not kinds[key] and _takes_bytes(described[key]):
        kwargs[key] = read_whole(given.file)
    elif key not in takers:
        takes = f"it takes {', '.join(takers)}" if takers else "it takes no files"
        raise EncodingError(name, f"no file goes to {given.key!r}: {takes}")
    elif kinds[key] == "files":
        kwargs.setdefault(key, []).append(given.file)
    elif key in kwargs:
        raise EncodingError(name, f"{key} is given twice")
    else:
        kwargs[key] = given.file


def _file_kind(schema: Any) -> str:
    return next((kind for kind, own in FILE_SCHEMAS.items() if own == schema), "")


def _takes_bytes(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("contentEncoding") == "base64"


def _read(path: str) -> File:
    """A file with its bytes: what cannot be read is said before anything is asked."""
    file = File(sys.stdin.buffer) if path == STDIN else File(Path(path))
    return File(read_whole(file), file.name, file.type)
