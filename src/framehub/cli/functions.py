"""``framehub ls`` and ``describe``: which remote functions there are, and how to call them."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from framehub.cli.proxy import REACHED_IN, full, functions, proxy_options, timeout_option
from framehub.cli.reach import as_text, run
from framehub.cli.rows import printable
from framehub.cli.signatures import LONGEST, parameters, signature
from framehub.errors import FramehubError, RemoteTimeout, UnsupportedFunctionName
from framehub.rpc.signature import FILE_SCHEMAS
from framehub.runtime.functions import DEFAULT_CLIENTS, Functions

LOOKED_UP_IN = 10.0


@click.command("ls")
@timeout_option(LOOKED_UP_IN, "How long to wait for the list.")
@click.option("--json", "as_json", is_flag=True, help="An array with all that is known of each.")
@proxy_options()
def ls(timeout: float, as_json: bool, address: str, curve_key: Path | None, server_key: Path | None) -> None:
    """List the remote functions that can be called now."""
    run(_list(functions(address, curve_key, server_key, timeout), as_json))


async def _list(client: Functions, as_json: bool) -> None:
    async with client:
        await client.reach(min(REACHED_IN, client.timeout))
        try:
            found = await client.list()
        except RemoteTimeout:
            raise FramehubError(
                f"no list of functions from {client.address} in {client.timeout:g} s: is that where clients"
                " connect? A proxy that is not framehub's has no list; `call` works there too"
            ) from None
    if as_json:
        click.echo(as_text(found))
        return
    if not found:
        click.echo(
            f"no functions are offered at {client.address}; `framehub worker MODULE:NAME` offers some",
            err=True,
        )
        return
    for line in _table(found):
        click.echo(line)


def _table(found: list[dict[str, Any]]) -> Iterator[str]:
    rows = [("function", "parameters", "workers", "about")]
    for entry in found:
        about = (str(entry.get("doc") or "").splitlines() or [""])[0]
        inside = parameters(entry)
        inside = inside if len(inside) <= LONGEST else inside[: LONGEST - 3] + "..."
        rows.append((printable(entry["name"]), inside, str(entry.get("workers", "")), printable(about)))
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for name, inside, workers, about in rows:
        line = f"{name:<{wide[0]}}  {inside:<{wide[1]}}  {workers:>{wide[2]}}  {about}"
        yield line.rstrip()[:most]


@click.command()
@click.argument("name")
@timeout_option(LOOKED_UP_IN, "How long to wait for the description.")
@click.option("--json", "as_json", is_flag=True, help="One object with all that is known.")
@proxy_options()
def describe(
    name: str, timeout: float, as_json: bool, address: str, curve_key: Path | None, server_key: Path | None
) -> None:
    """Say what the function NAME does, takes and gives."""
    run(_describe(functions(address, curve_key, server_key, timeout), name, as_json))


async def _describe(client: Functions, name: str, as_json: bool) -> None:
    async with client:
        entry = await find(client, name)
    if as_json:
        click.echo(as_text(entry))
        return
    for line in _description(entry, client.address):
        click.echo(line)


async def find(client: Functions, name: str) -> dict[str, Any]:
    """A function's description.

    Raises:
        ConnectFailed: there is no proxy.
        FramehubError: there is no such function, and which one may be meant.
    """
    await client.reach(min(REACHED_IN, client.timeout))
    try:
        return await client.describe(name)
    except RemoteTimeout:
        raise RemoteTimeout(name, client.silence(client.timeout)) from None
    except UnsupportedFunctionName as exc:
        try:
            names = [entry["name"] for entry in await client.list(timeout=1)]
        except RemoteTimeout:
            names = []
        close = get_close_matches(name, names, n=1)
        raise FramehubError(f"{exc}" + (f". Did you mean {close[0]!r}?" if close else "")) from None


def _description(entry: dict[str, Any], address: str) -> Iterator[str]:
    yield signature(entry)
    for line in str(entry.get("doc") or "").splitlines():
        yield f"  {printable(line)}".rstrip()
    yield ""
    yield f"{'coders':<12}{printable(entry['argument'])} -> {printable(entry['result'])}"
    if "workers" in entry:
        yield f"{'workers':<12}{entry['workers']}"
    if entry.get("redispatch") == "unacknowledged":
        yield f"{'redispatch':<12}unacknowledged: never run twice; if its worker dies, the outcome is unknown"
    elif "redispatch" in entry:
        yield f"{'redispatch':<12}{printable(str(entry['redispatch']))}: if its worker dies, another runs it"
    if entry.get("max_runtime") is not None:
        yield f"{'ends after':<12}{entry['max_runtime']:g} s"
    for title, key in (("parameters", "parameters"), ("result", "result_schema")):
        if entry.get(key):
            yield f"{title:<12}{as_text(entry[key])}"
    yield f"{'call it':<12}{example(entry, address)}"


def example(entry: dict[str, Any], address: str) -> str:
    """A command that calls it, if the values fit."""
    schema = entry.get("parameters")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    words = [os.environ.get("FRAMEHUB_COMMAND", "framehub"), "call", shlex.quote(printable(entry["name"]))]
    if entry["argument"] in ("bytes", "arrow"):
        words += ["--file", "PATH"]
    elif isinstance(properties, dict):
        files = [name for name, one in properties.items() if _is_file(one)]
        values = {name: _value(one) for name, one in properties.items() if name not in files}
        if values:
            alone = len(values) == 1 and (entry["argument"] == "envelope" or not files)
            given = next(iter(values.values())) if alone else values
            words.append(shlex.quote(json.dumps(given)))
        words += [f"--file {shlex.quote(printable(name))}=PATH" for name in files]
    else:
        words.append("JSON")
    if address != full(os.environ.get("FRAMEHUB_CLIENTS") or DEFAULT_CLIENTS):
        words += ["--connect", address]
    return " ".join(words)


def _is_file(schema: Any) -> bool:
    """Whether it is best given by ``--file``."""
    if not isinstance(schema, dict):
        return False
    return schema in FILE_SCHEMAS.values() or schema.get("contentEncoding") == "base64"


def _value(schema: Any) -> Any:
    """A value of the kind that a schema asks for, or nearly."""
    if not isinstance(schema, dict):
        return None
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    kinds = {"integer": 1, "number": 1.5, "string": "text", "boolean": True, "array": [], "object": {}}
    return kinds.get(str(schema.get("type")))
